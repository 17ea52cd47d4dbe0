// Convenience functions for cold paths. A hot path keeps its `Statement` and reads columns from it.
extension SQLiteConnection {
  /// Runs one statement, skipping any rows.
  ///
  /// - Parameters:
  ///   - sql: exactly one statement; it stays prepared.
  ///   - values: one for each parameter.
  /// - Throws: `.range` when the count of values is wrong; otherwise `SQLiteError` with any code.
  public func run(_ sql: String, _ values: [SQLiteValue] = []) throws(SQLiteError) {
    let statement = try bound(sql, values)
    defer { release(statement, values) }
    try statement.run()
  }

  /// Calls `body` on each row of one statement.
  ///
  /// - Parameters:
  ///   - sql: exactly one statement; it stays prepared.
  ///   - values: one for each parameter.
  /// - body: reads the columns of the current row. Its error ends the reading and is rethrown.
  package func forEachRow(
    _ sql: String, _ values: [SQLiteValue] = [], _ body: (Statement) throws -> Void
  ) throws {
    let statement = try bound(sql, values)
    defer { release(statement, values) }
    while try statement.step() { try body(statement) }
  }

  /// Reads every row of one statement.
  ///
  /// - Parameters:
  ///   - sql: exactly one statement; it stays prepared.
  ///   - values: one for each parameter.
  /// - Throws: `.range` when the count of values is wrong; otherwise `SQLiteError` with any code.
  public func rows(_ sql: String, _ values: [SQLiteValue] = []) throws(SQLiteError) -> [[SQLiteValue]] {
    let statement = try bound(sql, values)
    defer { release(statement, values) }
    var rows: [[SQLiteValue]] = []
    while try statement.step() { rows.append(statement.values) }
    return rows
  }

  /// Reads the first row of one statement; nil if there is none. A statement that writes is run to its end.
  ///
  /// - Parameters:
  ///   - sql: exactly one statement; it stays prepared.
  ///   - values: one for each parameter.
  /// - Throws: `.range` when the count of values is wrong; otherwise `SQLiteError` with any code.
  public func row(_ sql: String, _ values: [SQLiteValue] = []) throws(SQLiteError) -> [SQLiteValue]? {
    let statement = try bound(sql, values)
    defer { release(statement, values) }
    guard try statement.step() else { return nil }
    let row = statement.values
    if !statement.isReadOnly { try statement.run() }
    return row
  }

  /// Reads the first column of the first row of one statement; nil if there is no row, `null` if it is NULL. A statement that writes is run
  /// to its end.
  ///
  /// - Parameters:
  ///   - sql: exactly one statement; it stays prepared.
  ///   - values: one for each parameter.
  /// - Throws: `.range` when the count of values is wrong; otherwise `SQLiteError` with any code.
  public func value(_ sql: String, _ values: [SQLiteValue] = []) throws(SQLiteError) -> SQLiteValue? {
    try row(sql, values)?.first
  }

  private func bound(_ sql: String, _ values: [SQLiteValue]) throws(SQLiteError) -> Statement {
    let statement = try statement(sql)
    try statement.bind(values)
    return statement
  }

  private func release(_ statement: Statement, _ values: [SQLiteValue]) {
    statement.reset()
    if !values.isEmpty { statement.clearBindings() }
  }
}
