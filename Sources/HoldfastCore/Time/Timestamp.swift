/// RFC 3339 timestamps in UTC with milliseconds, as in a `timestamp` column: `2026-11-21T10:00:00.000Z`.
package enum Timestamp {
  /// Formats a time.
  ///
  /// - Parameter milliseconds: since 1970; limited to the years 0000-9999.
  package static func text(milliseconds: Int64) -> String {
    let bounded = min(max(milliseconds, -62_167_219_200_000), 253_402_300_799_999)
    let (days, rest) = bounded.quotientAndFloorRemainder(by: 86_400_000)
    let date = civil(days: days)
    return String(unsafeUninitializedCapacity: 24) { buffer in
      var end = 0
      func put(_ number: Int64, _ width: Int, _ mark: Unicode.Scalar) {
        var rest = number
        for index in stride(from: end + width - 1, through: end, by: -1) {
          buffer[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
          rest /= 10
        }
        buffer[end + width] = UInt8(ascii: mark)
        end += width + 1
      }
      put(date.year, 4, "-")
      put(date.month, 2, "-")
      put(date.day, 2, "T")
      put(rest / 3_600_000, 2, ":")
      put(rest / 60000 % 60, 2, ":")
      put(rest / 1000 % 60, 2, ".")
      put(rest % 1000, 3, "Z")
      return end
    }
  }

  /// Whether a text is a timestamp of exactly this form, and a valid date.
  package static func isValid(_ text: String) -> Bool { milliseconds(text) != nil }

  /// Parses a timestamp into milliseconds since 1970; nil if invalid.
  package static func milliseconds(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count == 24 else { return nil }
    for (index, mark) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"), (19, "."), (23, "Z")] {
      guard bytes[index] == mark.utf8.first else { return nil }
    }
    func number(_ range: Range<Int>) -> Int64? {
      var result: Int64 = 0
      for byte in bytes[range] {
        guard byte >= 48, byte <= 57 else { return nil }
        result = result * 10 + Int64(byte - 48)
      }
      return result
    }
    guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13),
      let minute = number(14..<16), let second = number(17..<19), let fraction = number(20..<23),
      (1...12).contains(month), day >= 1, hour < 24, minute < 60, second < 60
    else { return nil }
    let days = daysSinceEpoch(year: year, month: month, day: day)
    guard civil(days: days) == (year, month, day) else { return nil }
    return ((days * 24 + hour) * 60 + minute) * 60000 + second * 1000 + fraction
  }

  // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": days count from 1970, years begin in March.
  private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let (era, yearOfEra) = year.quotientAndFloorRemainder(by: 400)
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719468
  }

  private static func civil(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, dayOfEra) = (days + 719468).quotientAndFloorRemainder(by: 146097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }
}

extension Int64 {
  fileprivate func quotientAndFloorRemainder(by divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
