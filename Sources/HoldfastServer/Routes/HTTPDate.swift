import HoldfastCore
import HoldfastService

/// Dates of HTTP (RFC 9110, section 5.6.7), as the server writes them: `Sun, 06 Nov 1994 08:49:37 GMT`. The obsolete forms are not read: what
/// comes back is what was sent.
enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
  /// The last second of the year 9999.
  private static let last: Int64 = 253_402_300_799

  /// The date so many seconds after the beginning of 1970; nil when no date says it.
  static func text(seconds: Int64) -> String? {
    guard (0...last).contains(seconds) else { return nil }
    let parts = Timestamp.text(milliseconds: seconds * 1000).split { "-T.".contains($0) }
    guard parts.count == 5, let month = Int(parts[1]), months.indices.contains(month - 1) else { return nil }
    let day = days[Int(seconds / 86400 % 7)]
    return "\(day), \(parts[2]) \(months[month - 1]) \(parts[0]) \(parts[3]) GMT"
  }

  /// The seconds of a date, or nil when the text is not exactly one.
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
