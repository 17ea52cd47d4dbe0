import HoldfastCore
import HoldfastSQLite

/// A file that says that it is a snapshot.
struct SnapshotFile {
  /// Why it can't be used.
  struct Unfit: Error, Equatable {
    let reason: String
  }

  let path: String

  /// Reads all of it, and checks that it is whole, nobody's, and of a schema that `schema` adds to, if anything.
  ///
  /// - Throws: `Unfit`.
  func check(for schema: SyncSchema) throws {
    do { try look(schema) } catch let error as SQLiteError {
      throw Unfit(reason: "it is damaged, or no snapshot (\(error.code.primary)).")
    }
  }

  /// Requires that a database has tables, and no views, whose SQL would run here.
  ///
  /// - Parameter place: what the connection calls the database.
  /// - Throws: `Unfit`.
  static func requireTables(_ connection: SQLiteConnection, in place: String) throws {
    let others = try connection.value(
      """
      SELECT name FROM \(place).sqlite_schema
      WHERE type NOT IN ('table', 'index', 'trigger') OR type = 'table' AND coalesce(rootpage, 0) = 0 LIMIT 1
      """)
    if let name = others?.text { throw Unfit(reason: "its \(name) is no table.") }
  }

  /// Requires that a database is not damaged: reads all of it.
  ///
  /// - Throws: `Unfit`.
  static func requireSound(_ connection: SQLiteConnection) throws {
    guard try connection.value("PRAGMA quick_check")?.text == "ok" else {
      throw Unfit(reason: "it is damaged.")
    }
  }

  private func look(_ schema: SyncSchema) throws {
    let connection = try SQLiteConnection(path: path, access: .readOnly)
    guard try connection.value("PRAGMA application_id")?.integer == DeviceTables.applicationID else {
      throw Unfit(reason: "it is no snapshot.")
    }
    try Self.requireTables(connection, in: "main")
    let version = try connection.value("PRAGMA user_version")?.integer ?? 0
    guard version <= DeviceTables.formatVersion else {
      throw Unfit(reason: "it was made by a newer Holdfast (form \(version)).")
    }
    guard try connection.value("PRAGMA journal_mode")?.text != "wal" else {
      throw Unfit(reason: "it is a database that was in use. Make it with `holdfast snapshot`.")
    }
    try Self.requireSound(connection)
    guard let local = try connection.row("SELECT schema, device, token FROM holdfast_local"),
      let stored = local[0].text
    else { throw Unfit(reason: "it is damaged.") }
    let used = try connection.value(
      "SELECT EXISTS (SELECT 1 FROM holdfast_edits) OR EXISTS (SELECT 1 FROM holdfast_outbox) OR EXISTS (SELECT 1 FROM holdfast_pages)"
    )
    guard local[1] == .null, local[2] == .null, used?.integer == 0 else {
      throw Unfit(reason: "it belongs to a device. Make it with `holdfast snapshot`.")
    }
    do {
      try SchemaDifference(from: SyncSchema(json: Array(stored.utf8)), to: schema).requireNoRemoval()
    } catch {
      throw Unfit(reason: "its schema is no earlier one of this app's: \(error)")
    }
  }
}
