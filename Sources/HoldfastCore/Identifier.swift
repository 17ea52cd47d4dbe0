/// The `id` of a record. New ids are lower-case UUIDs of version 7 (RFC 9562, section 5.7). Adopted tables may have others: a UUID of
/// another version, or any text of 1 to 64 bytes.
///
/// Ids of version 7 sort by creation time in milliseconds, so that inserts go to the end of an index.
public enum Identifier {
  /// Makes an id.
  ///
  /// - Parameters:
  ///   - milliseconds: since 1970-01-01 UTC; the lower 48 bits are used.
  ///   - random: two words of random bits; 74 bits are used.
  public static func make(milliseconds: Int64, random: (UInt64, UInt64)) -> String {
    let high = UInt64(truncatingIfNeeded: milliseconds) << 16 | 0x7000 | random.0 & 0x0fff
    return text(high, 0x8000_0000_0000_0000 | random.1 & 0x3fff_ffff_ffff_ffff)
  }

  private static func text(_ high: UInt64, _ low: UInt64) -> String {
    String(unsafeUninitializedCapacity: 36) { buffer in
      var index = 0
      for nibble in 0..<32 {
        if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 {
          buffer[index] = UInt8(ascii: "-")
          index += 1
        }
        let word = nibble < 16 ? high : low
        buffer[index] = Hexadecimal.digit(
          UInt8(truncatingIfNeeded: word >> (60 - 4 * UInt64(nibble % 16))) & 15)
        index += 1
      }
      return 36
    }
  }

  /// An id derived from names, the same everywhere: a UUID of version 8 (RFC 9562, section 5.8), from their SHA-256.
  ///
  /// - Parameter names: the names in order. The hash includes their lengths, so different lists give different ids.
  public static func derived(from names: [String]) -> String {
    var hash = SHA256()
    for name in names {
      hash.add(Array("\(name.utf8.count):".utf8))
      hash.add(Array(name.utf8))
    }
    let words = hash.hash().prefix(16).reduce(into: (UInt64(0), UInt64(0))) { words, byte in
      words = (words.0 << 8 | words.1 >> 56, words.1 << 8 | UInt64(byte))
    }
    return text(
      words.0 & ~0xf000 | 0x8000, words.1 & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000)
  }

  /// Whether a text is a lower-case UUID of version 7.
  public static func isValid(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { isValid($0) }
  }

  /// Whether a text can be the id of a record: 1 to 64 bytes without U+0000.
  package static func isPossible(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count) && !text.hasNull
  }

  /// Whether a text is a lower-case UUID of any version.
  package static func isUUID(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { isUUID($0) }
  }

  private static func isUUID(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard bytes.count == 36 else { return false }
    for (index, byte) in bytes.enumerated() {
      switch index {
      case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return false }
      default: guard Hexadecimal.value(byte) != nil else { return false }
      }
    }
    return true
  }

  /// Whether bytes are a lower-case UUID of version 7.
  package static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    isUUID(bytes) && bytes[14] == UInt8(ascii: "7") && "89ab".utf8.contains(bytes[19])
  }
}

/// Lower-case hexadecimal digits.
package enum Hexadecimal {
  package static func digit(_ nibble: UInt8) -> UInt8 {
    nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
  }

  package static func value(_ byte: UInt8) -> UInt64? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a")) + 10
    default: nil
    }
  }

  /// A word as sixteen digits.
  static func text(_ word: UInt64) -> String {
    String(unsafeUninitializedCapacity: 16) { buffer in
      for index in 0..<16 {
        buffer[index] = digit(UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * index)) & 15)
      }
      return 16
    }
  }

  /// Parses exactly sixteen digits; nil for any other text.
  static func word(utf8 bytes: some Collection<UInt8>) -> UInt64? {
    guard bytes.count == 16 else { return nil }
    var word: UInt64 = 0
    for byte in bytes {
      guard let nibble = value(byte) else { return nil }
      word = word << 4 | nibble
    }
    return word
  }
}
