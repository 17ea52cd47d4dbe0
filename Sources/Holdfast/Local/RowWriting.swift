import HoldfastSQLite

/// Writing rows as an app does: the triggers record what is written.
extension LocalDatabase {
  func insert(_ columns: [(name: String, value: SQLiteValue)], into table: String) throws {
    let names = columns.map { "\"\($0.name)\"" }.joined(separator: ", ")
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    try connection.run("INSERT INTO \"\(table)\" (\(names)) VALUES (\(marks))", columns.map(\.value))
  }

  /// Gives columns of a record other values; none is no statement.
  func update(_ columns: [(name: String, value: SQLiteValue)], of id: String, in table: String) throws {
    if columns.isEmpty { return }
    let sets = columns.map { "\"\($0.name)\" = ?" }.joined(separator: ", ")
    try connection.run(
      "UPDATE \"\(table)\" SET \(sets) WHERE \"id\" = ?", columns.map(\.value) + [.text(id)])
  }
}
