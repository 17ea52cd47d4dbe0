import HoldfastCore
import HoldfastSQLite

/// Records whose parent is not here any more. See PROTOCOL.md, section 6.3, step 6.
struct Orphans {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var sql: [TableStatements] { database.sql }
  private var pendingDeletions: PendingDeletions { PendingDeletions(database: database) }

  /// Records edited here whose parent has gone: one that was created here goes too, a reference that was changed here returns
  /// to its base. Their change sets stay, and the server decides them. Records under one that is deleted here are hidden.
  func settle() throws {
    var again = true
    while again {
      again = try pendingDeletions.hideBelow()
      for link in schema.links where link.isInZone {
        for id in try edited(link) { again = try settleOrphan(link, id) || again }
      }
    }
  }

  /// The ids of the records whose reference leads nowhere, and that were created here, or had it changed here. One statement, as an answer
  /// may come while a hundred thousand records have edits.
  private func edited(_ link: SyncSchema.Link) throws -> [String] {
    let (child, parent) = (schema.tables[link.table], schema.tables[link.target])
    let column = child.columns[link.column].name
    return try connection.rows(
      """
      SELECT DISTINCT child."id" FROM holdfast_edits AS edit JOIN "\(child.name)" AS child ON child."id" = edit.id
      WHERE edit.record_table = '\(child.name)' AND (edit.kind = 'create' OR edit.column_name = '\(column)')
      AND child."\(column)" IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM "\(parent.name)" AS parent WHERE parent."id" = child."\(column)")
      """
    ).compactMap { $0[0].text }
  }

  /// Removes copies of the server's records whose parent is not here and waits for nobody: the server has removed them too, or moved
  /// them, and says so in a part that is still to come. Looks at whole tables.
  func remove() throws {
    var again = true
    while again {
      again = false
      for link in schema.links where link.isInZone {
        let (child, parent) = (schema.tables[link.table], schema.tables[link.target].name)
        let column = child.columns[link.column]
        try connection.run(
          """
          \(column.required ? "DELETE FROM \"\(child.name)\"" : "UPDATE \"\(child.name)\" SET \"\(column.name)\" = NULL")
          WHERE "\(column.name)" IS NOT NULL AND "\(column.name)" NOT IN (SELECT "id" FROM "\(parent)")
          """)
        if connection.changes > 0 { again = true }
      }
    }
  }

  /// Settles such a record.
  ///
  /// - Returns: whether that changed it.
  private func settleOrphan(_ link: SyncSchema.Link, _ id: String) throws -> Bool {
    let child = schema.tables[link.table]
    let column = child.columns[link.column].name
    Trace.took(.orphanSettled)
    let edits = try database.edits.of(link.table, id)
    if edits.contains(where: { $0.kind == .create }) {
      try connection.run(sql[link.table].delete, [.text(id)])
      return true
    }
    guard let edit = edits.first(where: { $0.column == column }) else { return false }
    let now = try connection.value(
      "SELECT \"\(column)\" FROM \"\(child.name)\" WHERE \"id\" = ?", [.text(id)])
    if now == edit.base { return false }
    try connection.run(
      "UPDATE \"\(child.name)\" SET \"\(column)\" = ? WHERE \"id\" = ?", [edit.base, .text(id)])
    return true
  }
}
