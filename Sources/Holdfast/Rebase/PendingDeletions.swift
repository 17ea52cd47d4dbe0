import HoldfastCore
import HoldfastSQLite

/// Records that are deleted here while the server does not know of it yet, or may refuse it. See PROTOCOL.md, section 6.4.
struct PendingDeletions {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var sql: [TableStatements] { database.sql }

  /// The server says that a record is gone: a deletion of it made here has nothing to put back any more. Of a life that the server does
  /// not know yet, as its create is not confirmed, it says nothing.
  func purge(_ table: Int, _ id: String, zone: String, rev: Int64) throws {
    try connection.run(
      """
      DELETE FROM holdfast_edits AS gone WHERE record_table = ?1 AND id = ?2 AND kind IN ('delete', 'hidden', 'covered')
      AND NOT EXISTS (SELECT 1 FROM holdfast_edits WHERE record_table = ?1 AND id = ?2 AND kind = 'create' AND n < gone.n)
      AND EXISTS (SELECT 1 FROM holdfast_edits WHERE record_table = ?1 AND id = ?2
        AND kind IN ('delete', 'hidden', 'covered') AND column_name = '' AND base IS ?3 AND rev <= ?4)
      """, [.text(schema.tables[table].name), .text(id), .text(zone), .integer(rev)])
  }

  /// The same for all records of zones but those that came with them.
  func purge(in zones: TextMap<ResyncedZone>) throws {
    let rows = try connection.rows(
      """
      SELECT record_table, id, base FROM holdfast_edits WHERE kind IN ('delete', 'hidden', 'covered') AND column_name = ''
      AND base IN (SELECT value FROM json_each(?))
      """, [.list(zones.keys.sorted())])
    for row in rows {
      guard let table = schema.index(of: row[0].text ?? ""), let id = row[1].text, let zone = row[2].text,
        zones[zone]?.seen[table]?.contains(id) != true
      else { continue }
      try purge(table, id, zone: zone, rev: .max)
    }
  }

  /// What others put under a record that is deleted here goes with it, as it will on the server, and comes back if the deletion is
  /// refused: the edits that say so belong to the change set of the deletion, and have no operation of their own.
  ///
  /// - Returns: whether there was any.
  func hideBelow() throws -> Bool {
    var found = false
    let rows = try connection.rows(
      "SELECT record_table, id, max(change_set) FROM holdfast_edits WHERE kind IN ('delete', 'hidden') AND column_name = '' GROUP BY record_table, id"
    )
    for row in rows {
      guard let table = schema.index(of: row[0].text ?? ""), let parent = row[1].text else { continue }
      let links = schema.links(to: table).filter(\.isInZone)
      if try links.isEmpty || database.row(table, parent) != nil { continue }
      for link in links {
        let child = schema.tables[link.table]
        let children = try connection.rows(
          "SELECT \"id\" FROM \"\(child.name)\" WHERE \"\(child.columns[link.column].name)\" = ?",
          [.text(parent)])
        for id in children.compactMap({ $0[0].text }) {
          found = try hide(id, link, changeSet: row[2]) || found
        }
      }
    }
    return found
  }

  private func hide(_ id: String, _ link: SyncSchema.Link, changeSet: SQLiteValue) throws -> Bool {
    // What was created here is dealt with by its own change set.
    guard try !database.edits.of(link.table, id).contains(where: { $0.kind == .create }),
      let record = try database.row(link.table, id)
    else { return false }
    Trace.took(.hidden)
    let table = schema.tables[link.table]
    let column = table.columns[link.column]
    func note(_ kind: String, _ column: String, _ base: SQLiteValue) throws {
      try database.edits.record(
        kind, column, link.table, id, base: base, rev: record.rev, at: 0, of: changeSet)
    }
    if link.onDelete == .setNull, !column.required {
      try note("detached", column.name, SQLiteValue(record.values[link.column]))
      try connection.run(
        "UPDATE \"\(table.name)\" SET \"\(column.name)\" = NULL WHERE \"id\" = ?", [.text(id)])
      return true
    }
    try note("hidden", "", record.zone.map { .text($0) } ?? .null)
    for (index, column) in table.columns.enumerated() {
      try note("hidden", column.name, SQLiteValue(record.values[index]))
    }
    try connection.run(sql[link.table].delete, [.text(id)])
    return true
  }
}
