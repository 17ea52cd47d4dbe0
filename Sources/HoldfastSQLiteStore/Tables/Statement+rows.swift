package import HoldfastSQLite
import HoldfastService

extension Statement {
  /// The first column of the first row as text; nil without a row. Resets the statement.
  func firstText() throws(SQLiteError) -> String? {
    defer { reset() }
    return try step() ? text(0) : nil
  }

  /// All rows of two text columns. Resets the statement.
  package func pairs() throws(SQLiteError) -> [(String, String)] {
    defer { reset() }
    var rows: [(String, String)] = []
    while try step() { rows.append((text(0), text(1))) }
    return rows
  }

  /// Whether there is a row. Resets the statement.
  func hasRow() throws(SQLiteError) -> Bool {
    defer { reset() }
    return try step()
  }

  /// The integer of the only row, after running the statement to its end; nil without a row. Resets the statement.
  func onlyInteger() throws(SQLiteError) -> Int64? {
    defer { reset() }
    guard try step() else { return nil }
    let value = integer(0)
    while try step() {}
    return value
  }
}
