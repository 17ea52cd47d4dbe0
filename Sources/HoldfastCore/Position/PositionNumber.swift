/// Integers as strings whose byte order is the numeric order, short near zero, none a prefix of another.
///
/// The first digit gives the number of digits that follow. The digits 8...53 alone encode -23...22. After 54, one digit encodes the next 62
/// numbers up, after 55 two digits, and so on to 61 with eight. The digits 7 down to 0 mirror that below -23.
enum PositionNumber {
  /// The maximum magnitude of a step: far above any real count, and far from overflow.
  static let limit: Int64 = 99_999_999_999_999

  private static let smallest: Int64 = -23
  private static let largest: Int64 = 22
  private static let tiers = 8

  static func append(_ number: Int64, to bytes: inout [UInt8]) {
    if (smallest...largest).contains(number) {
      bytes.append(PositionDigits.byte(number - smallest + Int64(tiers)))
      return
    }
    let isNegative = number < 0
    var rest = isNegative ? smallest - 1 - number : number - largest - 1
    var count = 1
    var size: Int64 = 62
    while rest >= size, count < tiers {
      rest -= size
      size *= 62
      count += 1
    }
    let lead = isNegative ? tiers - count : 61 - tiers + count
    bytes.append(PositionDigits.byte(Int64(lead)))
    let digits = isNegative ? size - 1 - rest : rest
    bytes += PositionDigits.bytes(UInt64(clamping: digits), count: count)
  }

  /// Reads the number at `place` and advances past it; nil if there is none.
  static func read(_ bytes: [UInt8], at place: inout Int) -> Int64? {
    guard place < bytes.count, let lead = PositionDigits.value(bytes[place]) else { return nil }
    place += 1
    let direct = Int64(tiers)...61 - Int64(tiers)
    if direct.contains(lead) { return lead - Int64(tiers) + smallest }
    let isNegative = lead < direct.lowerBound
    let count = Int(isNegative ? direct.lowerBound - lead : lead - direct.upperBound)
    guard place + count <= bytes.count else { return nil }
    var digits: Int64 = 0
    var size: Int64 = 1
    var offset: Int64 = 0
    for index in place..<place + count {
      guard let digit = PositionDigits.value(bytes[index]) else { return nil }
      digits = digits * 62 + digit
      if index > place { offset += size }
      size *= 62
    }
    place += count
    return isNegative ? smallest - 1 - offset - (size - 1 - digits) : largest + 1 + offset + digits
  }
}
