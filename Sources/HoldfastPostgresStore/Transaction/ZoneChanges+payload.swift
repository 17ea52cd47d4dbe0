import HoldfastCore
package import HoldfastService

/// The notifications of a transaction, which the servers of one database send each other with NOTIFY.
///
/// A payload is a list of words, separated by spaces. The first word is the sending server (`0` for a trigger). Each zone is its name, with
/// `=` and a device if that device alone wrote the zone. `@` precedes a user, and `#` a device. `*` means that everything may have changed.
/// In names, the six special characters are encoded as `%` and two hex digits.
extension ZoneChanges {
  /// PostgreSQL limits a notification to less than 8,000 bytes.
  private static let payloadLimit = 7800
  private static let payloadCountLimit = 32

  /// The encoded payloads; none if nothing changed.
  package func payloads(from node: String) -> [String] {
    var words = zones.map { zone, device in Self.escaped(zone) + (device.map { "=\($0)" } ?? "") }
    words += users.map { "@" + Self.escaped($0) }
    words += devices.map { "#\($0)" }
    var payloads: [String] = []
    var payload = ""
    for word in words {
      if word.utf8.count + node.utf8.count >= Self.payloadLimit { return ["\(node) *"] }
      if payload.utf8.count + word.utf8.count > Self.payloadLimit {
        payloads.append(payload)
        payload = ""
      }
      payload += (payload.isEmpty ? node : "") + " " + word
    }
    if !payload.isEmpty { payloads.append(payload) }
    return payloads.count > Self.payloadCountLimit ? ["\(node) *"] : payloads
  }

  /// Parses a payload; nil for one with `*`, and for an unknown form.
  package init?(payload: String) {
    self.init()
    // Splits bytes, not characters: a combining character would join the space before it.
    let words = payload.utf8.split(separator: UInt8(ascii: " "))
    if words.isEmpty { return nil }
    for word in words.dropFirst() {
      switch word.first {
      case UInt8(ascii: "*"): return nil
      case UInt8(ascii: "@"): users.insert(Self.name(word.dropFirst()))
      case UInt8(ascii: "#"):
        guard let device = Int64(String(decoding: word.dropFirst(), as: UTF8.self)) else { return nil }
        devices.insert(device)
      default:
        let parts = word.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        guard let zone = parts.first else { return nil }
        add(
          zone: Self.name(zone), by: parts.count > 1 ? Int64(String(decoding: parts[1], as: UTF8.self)) : nil)
      }
    }
  }

  /// The encoding of the special characters other than `%`. The triggers use the same.
  static let escapes = [(" ", "%20"), ("=", "%3D"), ("@", "%40"), ("#", "%23"), ("*", "%2A")]

  /// Encodes a name.
  private static func escaped(_ name: String) -> String {
    var bytes: [UInt8] = []
    for byte in name.utf8 {
      let escape = "% =@#*".utf8.contains(byte)
      bytes += escape ? Array("%\(String(byte, radix: 16, uppercase: true))".utf8) : [byte]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Decodes a name.
  private static func name(_ word: some Sequence<UInt8>) -> String {
    var bytes: [UInt8] = []
    var rest = Array(word)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"),
        let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(code)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
