import HoldfastCore
import HoldfastSQLite

/// The table `holdfast_edits`: what was edited here and the server has not confirmed.
struct EditTable {
  let connection: SQLiteConnection
  let schema: SyncSchema

  /// The edits of a record, oldest first.
  func of(_ table: Int, _ id: String) throws -> [Edit] {
    try connection.rows(
      """
      SELECT n, change_set, kind, column_name, base, rev, at FROM holdfast_edits WHERE record_table = ? AND id = ?
      ORDER BY n
      """, [.text(schema.tables[table].name), .text(id)]
    ).compactMap {
      guard let kind = Edit.Kind(rawValue: $0[2].text ?? "") else { return nil }
      return Edit(
        n: $0[0].integer ?? 0, changeSet: $0[1].integer, kind: kind, column: $0[3].text ?? "", base: $0[4],
        rev: $0[5].integer ?? 0, at: $0[6].integer ?? 0)
    }
  }

  /// Whether there is any.
  func hasAny() throws -> Bool {
    try connection.value("SELECT EXISTS (SELECT 1 FROM holdfast_edits)")?.integer == 1
  }

  /// Writes down an edit that no trigger has recorded.
  ///
  /// - Parameters:
  ///   - at: its stamp; nil for now.
  ///   - changeSet: the change set that has it; null for one that is not sealed.
  func record(
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

  /// Records the creation of a record that is here.
  func recordCreate(_ table: Int, _ id: String) throws {
    try record("create", "", table, id, base: .null, rev: 0)
  }

  /// Records another value of a column.
  func recordUpdate(of column: String, _ table: Int, _ id: String, base: SQLiteValue, rev: Int64) throws {
    try record("update", column, table, id, base: base, rev: rev)
  }

  /// Gives the edits that are in no change set the last numbers again, where one of a change set is behind them: see `DeviceTables.isLoose`.
  func bringLooseToEnd() throws {
    let isAny = try connection.value(
      "SELECT EXISTS (SELECT 1 FROM holdfast_edits WHERE change_set IS NULL AND NOT (\(DeviceTables.isLoose)))"
    )
    if isAny?.integer == 1 { try renumber("change_set IS NULL") }
  }

  /// Gives edits new numbers, the last ones, in their order: those of change sets before the others.
  ///
  /// - Parameter edits: an SQL condition.
  func renumber(_ edits: String) throws {
    let columns = "change_set, record_table, id, kind, column_name, base, rev, at"
    let rows = try connection.rows(
      "SELECT \(columns) FROM holdfast_edits WHERE \(edits) ORDER BY change_set IS NULL, n")
    try connection.run("DELETE FROM holdfast_edits WHERE \(edits)")
    for row in rows {
      try connection.run("INSERT INTO holdfast_edits (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    }
  }
}
