import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// Migrates a server's database from one schema to another, inside one transaction: docs/SCHEMA-CHANGES.md.
struct SQLiteSchemaChange {
  let connection: SQLiteConnection
  let old: SyncSchema
  let new: SyncSchema
  let difference: SchemaDifference
  private var tables: SQLiteTables { SQLiteTables(schema: new) }

  init(
    _ connection: SQLiteConnection, from old: SyncSchema, to new: SyncSchema, _ difference: SchemaDifference
  ) {
    self.connection = connection
    self.old = old
    self.new = new
    self.difference = difference
  }

  /// Runs all steps. The transaction must defer foreign keys.
  func run() throws {
    let rewritten = difference.kept.filter(\.isRewritten)
    for kept in rewritten { try dropIndexes(of: old.tables[kept.before].name) }
    for kept in rewritten where !kept.removed.isEmpty {
      let table = old.tables[kept.before]
      for column in kept.removed { try retire(column, of: table) }
      try touch(table.name)
    }
    for table in difference.removedTables { try retire(table) }
    for renaming in difference.renamedTables { try rename(renaming) }
    for kept in rewritten {
      for renaming in kept.renamed { try rename(renaming, of: new.tables[kept.index].name) }
    }
    for (table, column) in difference.columns {
      try connection.execute(
        "ALTER TABLE \"\(new.tables[table].name)\" ADD COLUMN \(tables.column(column, of: table))")
    }
    for table in difference.tables { try connection.execute(tables.create(table)) }
    for kept in difference.kept {
      if kept.isRewritten {
        try connection.execute(tables.indexes(of: kept.index))
      } else {
        for link in new.links(of: kept.index) where kept.added.contains(link.column) {
          try connection.execute(link.index(in: new))
        }
      }
    }
    for (table, columns) in difference.droppedIndexes {
      let name = SQLiteTables.indexName(columns, of: new.tables[table].name)
      try connection.execute("DROP INDEX IF EXISTS \(name)")
    }
    for (table, columns) in difference.indexes { try connection.execute(tables.index(columns, of: table)) }
  }

  /// Drops the indexes of a table with a changed name, because their names contain it. They are created again later.
  private func dropIndexes(of table: String) throws {
    let rows = try connection.rows(
      "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL",
      [.text(table)])
    for row in rows { try connection.execute("DROP INDEX \"\(row[0].text ?? "")\"") }
  }

  private func rename(_ renaming: SchemaDifference.Renaming) throws {
    try connection.execute("ALTER TABLE \"\(renaming.old)\" RENAME TO \"\(renaming.new)\"")
    for table in ["holdfast_tombstones", "holdfast_created", "holdfast_recovered_records", "conflicts"] {
      try connection.run(
        "UPDATE \(table) SET record_table = ? WHERE record_table = ?",
        [.text(renaming.new), .text(renaming.old)])
    }
  }

  private func rename(_ renaming: SchemaDifference.Renaming, of table: String) throws {
    try connection.execute(
      "ALTER TABLE \"\(table)\" RENAME COLUMN \"\(renaming.old)\" TO \"\(renaming.new)\"")
    try renameStamps(of: renaming.old, to: renaming.new, in: table)
    try connection.run(
      "UPDATE conflicts SET column_name = ? WHERE record_table = ? AND column_name = ?",
      [.text(renaming.new), .text(table), .text(renaming.old)])
  }

  /// Renames a column in the stamps, which refer to columns by name.
  private func renameStamps(of old: String, to new: String, in table: String) throws {
    try connection.run(
      "UPDATE \"\(table)\" SET stamps = replace(stamps, ?1, ?2) WHERE instr(stamps, ?1) > 0",
      [.text(";\(old)="), .text(";\(new)=")])
  }

  // MARK: What is gone

  /// Counts the removal of a column or table as a change of each of its records, so that apps with an older schema receive it. They keep
  /// running, and the name may return.
  private func touch(_ table: String) throws {
    try connection.run(
      """
      UPDATE holdfast_zones SET seq = seq + last.count
      FROM (SELECT zone, count(*) AS count FROM "\(table)" GROUP BY zone) AS last WHERE holdfast_zones.zone = last.zone
      """)
    try connection.run(
      """
      UPDATE "\(table)" SET seq = last.seq, rev = rev + 1 FROM (
        SELECT t.id, z.seq + 1 - row_number() OVER (PARTITION BY t.zone ORDER BY t.seq DESC) AS seq
        FROM "\(table)" t JOIN holdfast_zones z ON z.zone = t.zone
      ) AS last WHERE "\(table)".id = last.id
      """)
  }

  /// Keeps the values of a removed column under another name, without its constraints.
  private func retire(_ name: String, of table: TableSchema) throws {
    let columns = try connection.rows("SELECT name FROM pragma_table_info(?)", [.text(table.name)])
    let kept = RemovedName.free(for: name, among: columns.compactMap { $0[0].text })
    guard let column = table.columns.first(where: { $0.name == name }) else { return }
    try connection.execute(
      "ALTER TABLE \"\(table.name)\" ADD COLUMN \"\(kept)\" \(column.type.affinity)")
    try connection.execute("UPDATE \"\(table.name)\" SET \"\(kept)\" = \"\(name)\"")
    try connection.execute("ALTER TABLE \"\(table.name)\" DROP COLUMN \"\(name)\"")
    try renameStamps(of: name, to: kept, in: table.name)
  }

  /// Keeps the records of a removed table under another name, without its constraints.
  private func retire(_ table: String) throws {
    let names = try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
    let kept = RemovedName.free(for: table, among: names.compactMap { $0[0].text })
    try touch(table)
    try connection.run(
      """
      INSERT OR IGNORE INTO holdfast_tombstones (zone, seq, record_table, id, rev, stamp, device, departed, deleted_seq)
      SELECT zone, seq, ?, id, rev, (CAST(strftime('%s', 'now') AS INTEGER) * 1000) << 16, 0, 0, seq FROM "\(table)"
      """, [.text(table)])
    try connection.execute("CREATE TABLE \"\(kept)\" AS SELECT * FROM \"\(table)\"; DROP TABLE \"\(table)\"")
  }
}
