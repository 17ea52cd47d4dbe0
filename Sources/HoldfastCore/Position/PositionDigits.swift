/// The 62 digits whose byte order is their order: 0-9, A-Z, a-z.
enum PositionDigits {
  static func byte(_ digit: Int64) -> UInt8 {
    switch digit {
    case ..<10: UInt8(ascii: "0") + UInt8(digit)
    case ..<36: UInt8(ascii: "A") + UInt8(digit - 10)
    default: UInt8(ascii: "a") + UInt8(digit - 36)
    }
  }

  static func value(_ byte: UInt8) -> Int64? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int64(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int64(byte - UInt8(ascii: "A")) + 10
    case UInt8(ascii: "a")...UInt8(ascii: "z"): Int64(byte - UInt8(ascii: "a")) + 36
    default: nil
    }
  }

  /// The last `count` digits of a number, most significant first.
  static func bytes(_ number: UInt64, count: Int) -> [UInt8] {
    var digits = [UInt8](repeating: 0, count: count)
    var rest = number
    for place in digits.indices.reversed() {
      digits[place] = byte(Int64(rest % 62))
      rest /= 62
    }
    return digits
  }
}
