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

  /// Writes down an edit that no trigger has recorded.
  ///
  /// - Parameters:
  ///   - at: its stamp; nil for now.
  ///   - changeSet: the change set that has it; null for one that is not sealed.
  func recordEdit(
    _ kind: String, _ column: String, _ table: Int, _ id: String, base: SQLiteValue, rev: Int64,
    at: Int64? = nil, of changeSet: SQLiteValue = .null
  ) throws {
    try connection.run(
      """
      INSERT INTO holdfast_edits (change_set, record_table, id, kind, column_name, base, rev, at)
      VALUES (?, ?, ?, ?, ?, ?, ?, coalesce(?, \(DeviceTables.now)))
      """,
      [
        changeSet, .text(schema.tables[table].name), .text(id), .text(kind), .text(column), base,
        .integer(rev),
        at.map { .integer($0) } ?? .null,
      ])
  }
}
