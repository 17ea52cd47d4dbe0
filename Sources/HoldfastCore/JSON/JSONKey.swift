/// The name of a member during parsing. It compares with known names without allocation.
///
/// Valid until the `JSONReader.read` that created it returns. Use `string` to keep it longer.
package struct JSONKey {
  let start: UnsafePointer<UInt8>
  let count: Int

  /// The name's UTF-8 bytes with escapes resolved, valid during the lifetime of the key.
  package var bytes: UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: start, count: count)
  }

  /// A copy of the name.
  package var string: String {
    String(decoding: bytes, as: UTF8.self)
  }

  /// Whether the name's bytes are those of `name` (no Unicode normalization, as RFC 8259 section 8.3 advises).
  package func matches(_ name: String) -> Bool {
    var name = name
    return name.withUTF8 { matches($0) }
  }

  /// Whether the name's bytes are exactly `name`.
  package func matches(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    guard count == name.count, let other = name.baseAddress else { return count == name.count }
    return equalBytes(start, other, count)
  }

  /// Whether the name is `name`. Does not allocate.
  package static func == (key: JSONKey, name: StaticString) -> Bool {
    name.hasPointerRepresentation && key.count == name.utf8CodeUnitCount
      && equalBytes(key.start, name.utf8Start, key.count)
  }

  /// Supports literal cases in a `switch` over a key. Does not allocate.
  package static func ~= (name: StaticString, key: JSONKey) -> Bool {
    key == name
  }

  /// A cheap hash of the length and the first and last bytes. Equal keys have equal signatures.
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
  package static func == (left: JSONKey, right: JSONKey) -> Bool {
    left.count == right.count && equalBytes(left.start, right.start, left.count)
  }

  /// Hashes the bytes with the hasher's random seed, so that an attacker can't construct collisions.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
  }
}
