internal import CSQLite

extension SQLiteConnection {
  /// From now on `julianday('now')` on this connection says what a clock does, in place of the system's; every other text means what it does
  /// elsewhere. Source: <https://www.sqlite.org/c3ref/create_function.html>.
  ///
  /// - Parameter now: milliseconds since 1970; called on the connection's thread.
  /// - Throws: `SQLiteError` when SQLite has no memory for it.
  public func setClock(_ now: @escaping @Sendable () -> Int64) throws(SQLiteError) {
    let clock = Unmanaged.passRetained(SQLClock(now))
    // SQLite lets go of the clock in any case.
    let result = sqlite3_create_function_v2(
      database, "julianday", 1, SQLITE_UTF8, clock.toOpaque(), { julianDay($0, $1, $2) }, nil, nil,
      { context in if let context { Unmanaged<SQLClock>.fromOpaque(context).release() } })
    guard result == SQLITE_OK else {
      throw SQLiteError(result, of: database, statement: nil, while: .opening)
    }
    // A statement that was prepared before has SQLite's own function: an authorizer that is set has all of them prepared again.
    observation.attach(to: database)
  }
}

/// A clock for SQL, and SQLite's own function for what is no question for the time.
private final class SQLClock {
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

private func julianDay(
  _ context: OpaquePointer?, _ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?
) {
  guard count == 1, let data = sqlite3_user_data(context),
    let day = Unmanaged<SQLClock>.fromOpaque(data).takeUnretainedValue().day(of: values?[0])
  else { return sqlite3_result_null(context) }
  sqlite3_result_double(context, day)
}
