/// A member's name as the reader meets it: compared with known names without allocating.
///
/// Valid until the `JSONReader.read` that made it returns; keep `string` instead for longer.
public struct JSONKey {
  let start: UnsafePointer<UInt8>
  let count: Int

  /// The name's UTF-8 bytes, escapes resolved; valid as long as the key is.
  public var bytes: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: start, count: count)
  }

  /// The name as a string of its own.
  public var string: String {
    String(decoding: bytes, as: UTF8.self)
  }

  /// Whether the name's bytes are those of `name` (no Unicode normalization, as RFC 8259 section 8.3 advises).
  public func matches(_ name: String) -> Bool {
    var name = name
    return name.withUTF8 { matches($0) }
  }

  /// Whether the name's bytes are exactly `name`.
  public func matches(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    guard count == name.count, let other = name.baseAddress else { return count == name.count }
    return equalBytes(start, other, count)
  }

  /// Whether the name is `name`; costs no allocation.
  public static func == (key: JSONKey, name: StaticString) -> Bool {
    name.hasPointerRepresentation && key.count == name.utf8CodeUnitCount
      && equalBytes(key.start, name.utf8Start, key.count)
  }

  /// Lets a `switch` over a key have literal cases; costs no allocation.
  public static func ~= (name: StaticString, key: JSONKey) -> Bool {
    key == name
  }

  /// Tells most keys apart: their length, first and last bytes. Equal keys have equal signatures.
  var signature: UInt64 {
    let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
    if count >= 8 {
      let head = loadWord(start)
      let tail = loadWord(start + (count &- 8))
      return ((head &* factor) ^ tail) &* factor &+ UInt64(truncatingIfNeeded: count)
    }
    var word: UInt64 = 0
    for index in 0..<count {
      word = word << 8 | UInt64(start[index])
    }
    return word &* factor &+ UInt64(truncatingIfNeeded: count)
  }
}

extension JSONKey: Hashable {
  /// Whether both keys have the same bytes.
  public static func == (left: JSONKey, right: JSONKey) -> Bool {
    left.count == right.count && equalBytes(left.start, right.start, left.count)
  }

  /// Feeds the bytes to `hasher`, whose seed an attacker doesn't know.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
  }
}
