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
      for row in try connection.rows("SELECT DISTINCT record_table, id FROM holdfast_edits") {
        guard let table = schema.index(of: row[0].text ?? ""), let id = row[1].text else { continue }
        for link in schema.links(of: table) where link.isInZone {
          again = try settleOrphan(link, id) || again
        }
      }
    }
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

  private func settleOrphan(_ link: SyncSchema.Link, _ id: String) throws -> Bool {
    let (child, parent) = (schema.tables[link.table], schema.tables[link.target])
    let column = child.columns[link.column].name
    let isOrphan = try connection.value(
      """
      SELECT 1 FROM "\(child.name)" AS child WHERE child."id" = ? AND child."\(column)" IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM "\(parent.name)" AS parent WHERE parent."id" = child."\(column)")
      """, [.text(id)])
    guard isOrphan != nil else { return false }
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
