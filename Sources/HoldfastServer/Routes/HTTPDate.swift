import HoldfastCore
import HoldfastService

/// HTTP dates (RFC 9110, section 5.6.7) in the preferred form: `Sun, 06 Nov 1994 08:49:37 GMT`. Obsolete forms are not parsed, because
/// clients return the server's own dates.
enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
  /// The last second of the year 9999.
  private static let last: Int64 = 253_402_300_799

  /// The date of a number of seconds since 1970; nil if out of range.
  static func text(seconds: Int64) -> String? {
    guard (0...last).contains(seconds) else { return nil }
    let parts = Timestamp.text(milliseconds: seconds * 1000).split { "-T.".contains($0) }
    guard parts.count == 5, let month = Int(parts[1]), months.indices.contains(month - 1) else { return nil }
    let day = days[Int(seconds / 86400 % 7)]
    return "\(day), \(parts[2]) \(months[month - 1]) \(parts[0]) \(parts[3]) GMT"
  }

  /// Parses a date into seconds since 1970; nil for any other text.
  static func seconds(_ text: String) -> Int64? {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 6, let month = months.firstIndex(of: String(parts[2])) else { return nil }
    let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
    guard let time = Timestamp.milliseconds("\(parts[3])-\(number)-\(parts[1])T\(parts[4]).000Z") else {
      return nil
    }
    return self.text(seconds: time / 1000) == text ? time / 1000 : nil
  }
}
