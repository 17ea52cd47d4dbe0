import HoldfastSQLite

extension Statement {
  /// The first row's first column as text; nil when there is no row. Leaves the statement reset.
  func firstText() throws(SQLiteError) -> String? {
    defer { reset() }
    return try step() ? text(0) : nil
  }

  /// Whether there is a row. Leaves the statement reset.
  func hasRow() throws(SQLiteError) -> Bool {
    defer { reset() }
    return try step()
  }
}
