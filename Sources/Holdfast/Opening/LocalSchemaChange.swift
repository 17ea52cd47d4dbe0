import HoldfastCore
import HoldfastSQLite

/// Brings a device's database from one schema to another, inside one transaction: docs/SCHEMA-CHANGES.md, sections 2 to 4. The triggers are
/// at rest, or gone.
struct LocalSchemaChange {
  let connection: SQLiteConnection
  let old: SyncSchema
  let new: SyncSchema
  let difference: SchemaDifference

  /// Takes all steps. SQLite brings the app's own indexes, views and triggers to new names; what uses a column that goes has to go before.
  ///
  /// - Throws: `StoreError.schemaCannotChange`, with SQLite's word on which of them is in the way.
  func run() throws {
    do { try change() } catch let error as SQLiteError where error.code == .error {
      throw StoreError(
        .schemaCannotChange,
        "What the app itself has made in the file is in the way of the new schema. Drop it in StoreOptions.beforeSchemaChange. SQLite says: \(error.message)"
      )
    }
  }

  private func change() throws {
    let tables = DeviceTables(schema: new)
    let rewritten = difference.kept.filter(\.isRewritten)
    try connection.execute("PRAGMA defer_foreign_keys = ON")
    for kept in rewritten {
      let name = old.tables[kept.before].name
      try dropIndexes(of: name)
      for column in kept.removed { try remove(column, of: name) }
    }
    for name in difference.removedTables {
      try connection.execute("DROP TABLE \"\(name)\"")
      for place in ["edits", "deleted"] {
        try connection.run("DELETE FROM holdfast_\(place) WHERE record_table = ?", [.text(name)])
      }
    }
    for renaming in difference.renamedTables {
      try connection.execute("ALTER TABLE \"\(renaming.old)\" RENAME TO \"\(renaming.new)\"")
      try renameTable(
        renaming, in: ["holdfast_edits", "holdfast_recovered", "holdfast_deleted", "conflicts"])
    }
    for kept in rewritten {
      for renaming in kept.renamed { try rename(renaming, of: new.tables[kept.index].name) }
    }
    for (table, column) in difference.columns {
      try connection.execute(
        "ALTER TABLE \"\(new.tables[table].name)\" ADD COLUMN \(tables.column(column, of: table))")
    }
    for table in difference.tables { try connection.execute(tables.table(table)) }
    for kept in difference.kept {
      if kept.isRewritten { try connection.execute(tables.indexes(kept.index)) }
      for link in new.links(of: kept.index) where !kept.isRewritten && kept.added.contains(link.column) {
        try connection.execute(link.index(in: new))
      }
    }
    // What it can undo is told by names of before.
    if !rewritten.isEmpty || !difference.removedTables.isEmpty {
      try UndoTable(connection: connection).removeAll()
    }
  }

  private func dropIndexes(of table: String) throws {
    let rows = try connection.rows(
      """
      SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL
      AND name LIKE 'holdfast\\_%' ESCAPE '\\'
      """,
      [.text(table)])
    for row in rows { try connection.execute("DROP INDEX \"\(row[0].text ?? "")\"") }
  }

  /// The change sets that edit it are sealed, and stay as they are.
  private func remove(_ column: String, of table: String) throws {
    try connection.execute("ALTER TABLE \"\(table)\" DROP COLUMN \"\(column)\"")
    try connection.run(
      "DELETE FROM holdfast_edits WHERE record_table = ? AND column_name = ?", [.text(table), .text(column)])
  }

  private func renameTable(_ renaming: SchemaDifference.Renaming, in places: [String]) throws {
    for place in places {
      try connection.run(
        "UPDATE \(place) SET record_table = ? WHERE record_table = ?",
        [.text(renaming.new), .text(renaming.old)])
    }
  }

  private func rename(_ renaming: SchemaDifference.Renaming, of table: String) throws {
    try connection.execute(
      "ALTER TABLE \"\(table)\" RENAME COLUMN \"\(renaming.old)\" TO \"\(renaming.new)\"")
    for place in ["holdfast_edits", "conflicts"] {
      try connection.run(
        "UPDATE \(place) SET column_name = ? WHERE record_table = ? AND column_name = ?",
        [.text(renaming.new), .text(table), .text(renaming.old)])
    }
  }
}
