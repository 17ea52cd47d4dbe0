package import HoldfastSQLite
import HoldfastService

extension Statement {
  /// The first row's first column as text; nil when there is no row. Leaves the statement reset.
  func firstText() throws(SQLiteError) -> String? {
    defer { reset() }
    return try step() ? text(0) : nil
  }

  /// All rows of two columns of text. Leaves the statement reset.
  package func pairs() throws(SQLiteError) -> [(String, String)] {
    defer { reset() }
    var rows: [(String, String)] = []
    while try step() { rows.append((text(0), text(1))) }
    return rows
  }

  /// Whether there is a row. Leaves the statement reset.
  func hasRow() throws(SQLiteError) -> Bool {
    defer { reset() }
    return try step()
  }

  /// The integer of the one row that a statement answers, run to its end; nil when there is no row. Leaves the statement reset.
  func onlyInteger() throws(SQLiteError) -> Int64? {
    defer { reset() }
    guard try step() else { return nil }
    let value = integer(0)
    while try step() {}
    return value
  }
}
