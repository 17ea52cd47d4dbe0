internal import CSQLite

/// A clock for SQL, and SQLite's own function for what is no question for the time.
final class SQLClock {
  let now: @Sendable () -> Int64
  private lazy var other = try? SQLiteConnection(path: ":memory:")

  init(_ now: @escaping @Sendable () -> Int64) { self.now = now }

  func day(of value: OpaquePointer?) -> Double? {
    let isText = sqlite3_value_type(value) == SQLITE_TEXT
    if isText, let text = sqlite3_value_text(value), String(cString: text).lowercased() == "now" {
      return Double(now()) / 86_400_000 + 2_440_587.5
    }
    let argument: SQLiteValue =
      switch sqlite3_value_type(value) {
      case SQLITE_INTEGER: .integer(sqlite3_value_int64(value))
      case SQLITE_FLOAT: .real(sqlite3_value_double(value))
      case SQLITE_TEXT: .text(sqlite3_value_text(value).map { String(cString: $0) } ?? "")
      default: .null
      }
    return (try? other?.value("SELECT julianday(?)", [argument]))??.real
  }
}

func julianDay(
  _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
  guard count == 1, let data = sqlite3_user_data(context),
    let day = Unmanaged<SQLClock>.fromOpaque(data).takeUnretainedValue().day(of: values?[0])
  else { return sqlite3_result_null(context) }
  sqlite3_result_double(context, day)
}
