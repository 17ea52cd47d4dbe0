import HoldfastCore

/// The state of a collection: the seq of each of its zones at one moment. The ETag encodes it, and the client sends it back. The server
/// thus needs no memory to compute later changes.
package struct CollectionState {
  /// The maximum number of zones that the text lists. Beyond it, the text is only a hash.
  package static let zoneLimit = 64

  /// The epoch of the server's history.
  package let epoch: String
  /// Ordered by name.
  package private(set) var zones: [(zone: String, seq: Int64)]

  package init(epoch: String, zones: [(zone: String, seq: Int64)]) {
    self.epoch = epoch
    self.zones = zones
  }

  /// The content of the ETag, without quotes: base64url of a version, the epoch, and each zone with its seq.
  package var text: String {
    let bytes = bytes
    if zones.count <= Self.zoneLimit { return Base64.urlText([1] + bytes) }
    let hash = TokenHash(of: Base64.urlText(bytes)).withBytes { Array($0.prefix(16)) }
    return Base64.urlText([2] + hash)
  }

  private var bytes: [UInt8] {
    var bytes = Array(epoch.utf8)
    for (zone, seq) in zones {
      if let packed = Self.packed(zone) {
        bytes.append(0)
        bytes += packed
      } else {
        bytes.append(UInt8(clamping: zone.utf8.count))
        bytes += zone.utf8
      }
      var rest = UInt64(bitPattern: seq)
      while rest >= 0x80 {
        bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      bytes.append(UInt8(truncatingIfNeeded: rest))
    }
    return bytes
  }

  /// The 16 bytes of a UUID; nil for other names.
  private static func packed(_ zone: String) -> [UInt8]? {
    guard Identifier.isUUID(zone) else { return nil }
    let digits = zone.utf8.filter { $0 != UInt8(ascii: "-") }.compactMap {
      Hexadecimal.value($0).map(UInt8.init(truncatingIfNeeded:))
    }
    return stride(from: 0, to: 32, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }

  private static func unpacked(_ bytes: ArraySlice<UInt8>) -> String {
    let digits = Array(hexadecimal(bytes))
    let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }
    return parts.joined(separator: "-")
  }

  /// Parses the content of an ETag, which is untrusted input. Nil unless it is exactly the `text` of some state with distinct zones.
  package init?(_ text: some StringProtocol) {
    guard text.utf8.count <= Self.zoneLimit * 128, let bytes = Base64.bytes(url: text), bytes.count >= 9,
      bytes[0] == 1, let epoch = String(validating: bytes[1..<9], as: UTF8.self)
    else { return nil }
    var rest = bytes[9...]
    var zones: [(zone: String, seq: Int64)] = []
    while let kind = rest.popFirst() {
      let count = kind == 0 ? 16 : Int(kind)
      guard kind <= 64, rest.count > count, zones.count < Self.zoneLimit else { return nil }
      let name =
        kind == 0
        ? Self.unpacked(rest.prefix(16)) : String(validating: rest.prefix(count), as: UTF8.self)
      rest = rest.dropFirst(count)
      var (seq, shift) = (UInt64(0), UInt64(0))
      while let byte = rest.popFirst() {
        guard shift < 63 else { return nil }
        seq |= UInt64(byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 { break }
      }
      guard let name, let seq = Int64(exactly: seq) else { return nil }
      if let last = zones.last, !last.zone.utf8.lexicographicallyPrecedes(name.utf8) { return nil }
      zones.append((name, seq))
    }
    self.init(epoch: epoch, zones: zones)
    // Each state has exactly one text.
    guard self.text.utf8.elementsEqual(text.utf8) else { return nil }
  }
}
