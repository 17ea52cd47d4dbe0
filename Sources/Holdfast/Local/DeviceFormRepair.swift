import HoldfastCore
import HoldfastSQLite

/// Makes good for what another program has done to the form of a file: it had dropped the triggers, or rebuilt a
/// table without them. See PROTOCOL.md, section 6.7.
struct DeviceFormRepair {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }

  /// Makes good for what the file lacks of its tables, indexes and triggers, and for edits that may not have been recorded meanwhile. Call in a
  /// transaction that writes.
  ///
  /// - Throws: `StoreError.databaseIsBroken` when a column is gone, or a table was made with what stops the server's records.
  func run() throws {
    let form = try DeviceForm.of(schema)
    var difference = try form.difference(of: connection)
    if !difference.renamed.isEmpty, difference.lost == nil {
      try bringBack(difference.renamed)
      difference = try form.difference(of: connection)
      difference.hasUnrecordedEdits = true
    }
    if let altered = difference.altered {
      throw StoreError(
        .databaseIsBroken,
        "Another program has rebuilt the table \(altered.table) with \(altered.word), which would stop the server's records. Rebuild it without that, or move the file away, open a new one, sign in, and call rescue(from:) with the old one."
      )
    }
    if let lost = difference.lost {
      throw StoreError(
        .databaseIsBroken,
        "Another program has rebuilt the table \(lost.table) without \(lost.column). Move the file away, open a new one, sign in, and call rescue(from:) with the old one."
      )
    }
    for statement in difference.statements { try connection.execute(statement) }
    if !difference.hasUnrecordedEdits { return }
    try database.whileApplying {
      try recordUpdatesOfWaiting()
      for table in schema.tables.indices where schema.tables[table].zone != .server {
        try recordCreates(table)
      }
    }
    try connection.execute("DELETE FROM holdfast_pages")
    try ZoneStates(database: database).changeAll { $0.compare() }
  }

  /// Brings references back to their tables: SQLite renames in all tables that refer to one what it renames there.
  ///
  /// - Parameter renamed: each table, and the name that references to it have, under which there is no table.
  private func bringBack(_ renamed: [(table: String, from: String)]) throws {
    // They name the old table too, and no table can be renamed below them. The comparison that follows makes them again.
    for row in try connection.rows(
      "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'holdfast\\_%' ESCAPE '\\'")
    {
      try connection.execute("DROP TRIGGER \"\(row[0].text ?? "")\"")
    }
    for (table, from) in renamed {
      let from = SQLiteName.quoted(from)
      do {
        try connection.execute(
          """
          ALTER TABLE "\(table)" RENAME TO "holdfast_renamed"; CREATE TABLE \(from) ("id" TEXT PRIMARY KEY);
          ALTER TABLE \(from) RENAME TO "\(table)"; DROP TABLE "\(table)";
          ALTER TABLE "holdfast_renamed" RENAME TO "\(table)";
          """)
      } catch {
        guard error.code.primary == .error else { throw error }
        throw StoreError(
          .databaseIsBroken,
          "Another program has renamed the table \(table), and what refers to it can't be brought back: \(error.message). Drop what SQLite names there, and open the file again."
        )
      }
    }
  }

  /// Records that have no zone and no creation: the trigger that gives both was not there.
  private func recordCreates(_ index: Int) throws {
    let table = schema.tables[index]
    let isNew = "NEW.\"rev\" = 0 AND NEW.\"zone\" IS NULL"
    try connection.run(
      """
      INSERT INTO holdfast_edits (record_table, id, kind, column_name, base, rev, at)
      SELECT '\(table.name)', NEW."id", 'create', '', NULL, 0, \(DeviceTables.now) FROM "\(table.name)" AS NEW WHERE \(isNew)
      AND NOT EXISTS (SELECT 1 FROM holdfast_edits WHERE record_table = '\(table.name)' AND id = NEW."id" AND kind = 'create')
      """)
    if table.zone == .explicit { return }
    let zone = DeviceTables(schema: schema).zone(of: table)
    try connection.run("UPDATE \"\(table.name)\" AS NEW SET \"zone\" = \(zone) WHERE \(isNew)")
  }

  /// Columns that have another value than the change set says that waits to be sent. Where edits combine, the server's part can't be told from
  /// the device's: these are compared when they come.
  private func recordUpdatesOfWaiting() throws {
    var waiting: TextMap<(table: Int, id: String, values: [Int: SQLiteValue])> = [:]
    for row in try connection.rows("SELECT body FROM holdfast_outbox ORDER BY first") {
      for operation in QuarantinedOperation.all(row[0].blob ?? []) {
        guard let table = schema.index(called: operation.table) else { continue }
        let key = "\(table) \(operation.id)"
        if operation.kind == .delete { waiting[key] = nil }
        for (name, value) in operation.columns {
          guard let index = schema.tables[table].index(called: name) else { continue }
          let column = schema.tables[table].columns[index]
          guard !column.policy.combines, let value = try? column.value(of: value) else { continue }
          waiting[key, default: (table, operation.id, [:])].values[index] = value
        }
      }
    }
    for (_, record) in waiting.sorted(by: { $0.key < $1.key }) {
      guard let here = try database.row(record.table, record.id) else { continue }
      let edits = try database.edits.of(record.table, record.id)
      for (index, value) in record.values.sorted(by: { $0.key < $1.key }) {
        let column = schema.tables[record.table].columns[index].name
        let isRecorded = edits.contains { $0.changeSet == nil && ($0.column == column || $0.kind == .create) }
        // A null of a create says nothing: the server may have filled the column in.
        if isRecorded || edits.isEmpty || value == .null || SQLiteValue(here.values[index]) == value {
          continue
        }
        try database.edits.recordUpdate(of: column, record.table, record.id, base: value, rev: here.rev)
      }
    }
  }
}
