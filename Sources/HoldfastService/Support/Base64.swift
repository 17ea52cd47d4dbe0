/// Base64. Source: RFC 4648.
package enum Base64 {
  private static let plain = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let safe = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// Section 4, with padding.
  package static func text(_ bytes: [UInt8]) -> String {
    text(bytes, plain) + String(repeating: "=", count: (3 - bytes.count % 3) % 3)
  }

  /// Section 5, for addresses and tokens, without padding.
  static func urlText(_ bytes: [UInt8]) -> String { text(bytes, safe) }

  /// Reads what `urlText` wrote; nil when the text is something else, also when it is another spelling of the same bytes.
  package static func bytes(url text: some StringProtocol) -> [UInt8]? {
    var (bytes, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
    bytes.reserveCapacity(text.utf8.count / 4 * 3 + 2)
    for digit in text.utf8 {
      guard let value = value(of: digit) else { return nil }
      bits = bits << 6 | value
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    // A digit that ends no byte, or bits that no byte has: not what `urlText` writes.
    return count < 6 && bits & (1 << UInt32(count) - 1) == 0 ? bytes : nil
  }

  private static func value(of digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }

  private static func text(_ bytes: [UInt8], _ digits: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: (bytes.count * 4 + 2) / 3) { buffer in
      var (bits, count, size): (UInt32, UInt32, Int) = (0, 0, 0)
      for byte in bytes {
        bits = bits << 8 | UInt32(byte)
        count += 8
        while count >= 6 {
          count -= 6
          buffer[size] = digits[Int(bits >> count & 63)]
          size += 1
        }
      }
      if count > 0 {
        buffer[size] = digits[Int(bits << (6 - count) & 63)]
        size += 1
      }
      return size
    }
  }
}
