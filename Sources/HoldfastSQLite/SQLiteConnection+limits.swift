internal import CSQLite

extension SQLiteConnection {
  /// A bound that SQLite keeps for one connection. Source: <https://www.sqlite.org/c3ref/limit.html>.
  public struct Limit: Sendable, Hashable {
    fileprivate let number: Int32

    /// The largest text, blob or row, in bytes.
    public static let valueLength = Limit(number: SQLITE_LIMIT_LENGTH)
    /// The longest statement, in bytes.
    public static let statementLength = Limit(number: SQLITE_LIMIT_SQL_LENGTH)
    /// The most columns of a table, index or result.
    public static let columns = Limit(number: SQLITE_LIMIT_COLUMN)
    /// The highest parameter number.
    public static let parameters = Limit(number: SQLITE_LIMIT_VARIABLE_NUMBER)
    /// The deepest expression.
    public static let expressionDepth = Limit(number: SQLITE_LIMIT_EXPR_DEPTH)
    /// The deepest recursion of triggers.
    public static let triggerDepth = Limit(number: SQLITE_LIMIT_TRIGGER_DEPTH)
    /// The most attached databases.
    public static let attached = Limit(number: SQLITE_LIMIT_ATTACHED)
  }

  /// The present bound.
  public func limit(_ limit: Limit) -> Int { Int(sqlite3_limit(database, limit.number, -1)) }

  /// Sets a bound; one above what SQLite was built for is brought down to that.
  ///
  /// - Parameter value: the new bound, 0 or more.
  public func setLimit(_ limit: Limit, to value: Int) {
    sqlite3_limit(database, limit.number, Int32(clamping: max(value, 0)))
  }
}
