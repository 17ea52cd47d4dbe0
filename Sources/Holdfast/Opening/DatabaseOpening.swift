package import HoldfastCore
package import HoldfastSQLite

/// Opens a device's database: makes it, brings it to the schema, and mends what another program has scrambled.
package struct DatabaseOpening {
  let path: String
  let schema: SyncSchema
  let access: SQLiteConnection.Access
  let pages: (any PageStorage)?
  let replica: String
  let options: StoreOptions

  /// How to open the database at `path`.
  ///
  /// - Parameters:
  ///   - access: whether it is made or extended.
  ///   - pages: where pages are kept; nil puts them, and snapshots, into folders beside the database.
  ///     Elsewhere there are no snapshots.
  ///   - replica: what the positions made here are told apart by, when the database is new.
  ///   - options: those of the store.
  package init(
    path: String, schema: SyncSchema, access: SQLiteConnection.Access, pages: (any PageStorage)? = nil,
    replica: String, options: StoreOptions = StoreOptions()
  ) {
    self.options = options
    (self.path, self.schema, self.access) = (path, schema, access)
    (self.pages, self.replica) = (pages, replica)
  }

  /// Opens it, in these steps; a kill between them leaves what the next opening goes on with.
  ///
  /// - Throws: `StoreError` when the file is another program's, newer, damaged, or can't follow the schema;
  ///   `SQLiteError`.
  package func open() throws -> LocalDatabase {
    do {
      let database = try LocalDatabase(
        path: path, schema: schema, access: access, pages: pages, options: options)
      if access == .readOnly {
        // Reads, so that the log is there: one that goes before the first transaction is missed all the same.
        _ = try database.connection.value("PRAGMA schema_version")
        try database.connection.checkPlace()
        return database
      }
      try database.connection.transaction(.immediate) {
        try prepare(database)
        try Mending(database: database).mend(replica: replica)
        try Zones(database: database).removeStrayFiles()
        try moveTokenOut(of: database)
        try database.rememberForm()
        try database.passOverForeignReferences()
      }
      try database.connection.checkPlace()
      return database
    } catch let error as SQLiteError where error.code.primary == .notADatabase {
      throw StoreError(
        .notAHoldfastDatabase, "\(path) is no SQLite database. Give another path, or move the file away.")
    } catch let error as SQLiteError
      where error.code.primary == .cantOpen || error.code.primary == .readOnly
    {
      throw StoreError(
        .cannotOpen,
        "\(path) can not be opened for writing. Make its folder, and allow this user to write there.")
    } catch let error as SQLiteError where error.isDamage {
      throw StoreError.damaged(error)
    } catch let error as SQLiteError {
      if error.code == .shortLog {
        throw StoreError(
          .cannotOpen,
          "The -wal of \(path) was deleted while another program has the database open. End that program, which may still have its content, and then open the file again."
        )
      }
      if let told = StoreError(ofFile: error) { throw told }
      throw error
    }
  }

  /// Gives a token that is in the file to the app's storage, from the first time on that there is one.
  private func moveTokenOut(of database: LocalDatabase) throws {
    let row = try database.connection.row("SELECT device, token FROM holdfast_local")
    guard options.tokens != nil, let device = row?[0].text, let token = row?[1].text,
      token != SessionToken.elsewhere
    else { return }
    try database.token.keep(token, device: device) { mark in
      try database.connection.execute("PRAGMA secure_delete = ON")
      try database.connection.run("UPDATE holdfast_local SET token = ?", [.text(mark)])
    }
  }

  private func prepare(_ database: LocalDatabase) throws {
    let connection = database.connection
    let id = try connection.value("PRAGMA application_id")?.integer ?? 0
    let version = try connection.value("PRAGMA user_version")?.integer ?? 0
    let isEmpty = try connection.value("SELECT count(*) FROM sqlite_master")?.integer == 0
    let tables = DeviceTables(schema: schema)
    let encoding = try connection.value("PRAGMA encoding")?.text ?? ""
    guard encoding == "UTF-8" else {
      throw StoreError(
        .notAHoldfastDatabase,
        "The file was made for texts in \(encoding), and Holdfast's are in UTF-8. Give another path, or move it away."
      )
    }
    if id == 0, isEmpty {
      try connection.execute(
        """
        PRAGMA application_id = \(DeviceTables.applicationID); PRAGMA user_version = \(DeviceTables.formatVersion);
        \(DeviceTables.own) \(tables.all())
        """)
      try connection.run(
        "INSERT INTO holdfast_local (one, schema, replica) VALUES (1, ?, ?)",
        [.text(database.schemaText), .text(replica)])
      return
    }
    guard id == DeviceTables.applicationID else {
      throw StoreError(
        .notAHoldfastDatabase,
        "The file holds another program's database. Give another path, or move it away.")
    }
    try DeviceTables.checkRemains(version)
    guard version <= DeviceTables.formatVersion else {
      throw StoreError(
        .databaseIsNewer, "The file was made by a newer Holdfast (form \(version)). Update the app.")
    }
    // Another program has set it: no older form exists.
    if version < DeviceTables.formatVersion {
      try connection.execute("PRAGMA user_version = \(DeviceTables.formatVersion)")
    }
    if try connection.value("SELECT count(*) FROM holdfast_local")?.integer != 1 {
      throw StoreError(.databaseIsBroken, "The table holdfast_local has no row of its own.")
    }
    // Between transactions it is 0; with anything else no edit would be recorded.
    try connection.run("UPDATE holdfast_local SET applying = 0 WHERE applying IS NOT 0")
    try extend(database, tables)
  }

  /// Brings a database of another schema to this one; see docs/SCHEMA-CHANGES.md.
  private func extend(_ database: LocalDatabase, _ tables: DeviceTables) throws {
    let connection = database.connection
    let stored = try connection.value("SELECT schema FROM holdfast_local")?.text ?? ""
    if stored == database.schemaText { return try DeviceFormRepair(database: database).run() }
    let old: SyncSchema
    do { old = try SyncSchema(json: Array(stored.utf8)) } catch {
      guard try hasTables(database) else {
        throw StoreError(
          .databaseIsBroken,
          "The file does not say which schema it has. Take another file, or a copy of it. \(error)")
      }
      old = schema
    }
    if old.version > schema.version {
      throw StoreError(
        .databaseIsNewer,
        "The file was brought to version \(old.version) of the schema, and this app has \(schema.version). Update the app."
      )
    }
    let difference: SchemaDifference
    do { difference = try SchemaDifference(from: old, to: schema, canReplace: true) } catch {
      throw StoreError(.schemaCannotChange, error.description)
    }
    // What a foreign writer left is told by the names of before, and by columns that may go.
    let before = LocalDatabase(database, before: old)
    try DeviceFormRepair(database: before).run()
    try Sealing(database: before).sealForeign()
    let triggers = try connection.rows(
      "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'holdfast\\_%' ESCAPE '\\'")
    try options.beforeSchemaChange?(connection)
    for row in triggers { try connection.execute("DROP TRIGGER \"\(row[0].text ?? "")\"") }
    try LocalSchemaChange(connection: connection, old: old, new: schema, difference: difference).run()
    try connection.execute(DeviceTables.ownTriggers)
    for table in schema.tables.indices { try connection.execute(tables.triggers(table)) }
    // Records that came before a column was known are fetched again, so that the column is filled.
    if !difference.isEmpty { try ZoneFilling(database: database).begin() }
    try connection.run("UPDATE holdfast_local SET schema = ?", [.text(database.schemaText)])
  }

  /// Whether the file has all tables and columns of the schema.
  private func hasTables(_ database: LocalDatabase) throws -> Bool {
    try database.sql.allSatisfy { table in
      do { _ = try database.connection.statement(table.select) } catch let error as SQLiteError {
        if error.code == .error { return false }
        throw error
      }
      return true
    }
  }
}
