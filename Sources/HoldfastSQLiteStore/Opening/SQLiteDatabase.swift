import HoldfastConcurrency
package import HoldfastCore
import HoldfastSQLite
package import HoldfastService
package import HoldfastSystem

/// The server's database in one SQLite file: creates, checks and migrates it, and opens connections.
package struct SQLiteDatabase: ServerDatabase {
  /// The database file.
  package let path: String
  package let schema: SyncSchema
  package let known: KnownHistory
  package let readerCount: Int? = nil
  private let readers = SQLiteReaderPool()
  private let cache = ReadCache<CommitState>()
  /// Maintains the history mark; nil if the process does not serve the database.
  private let keeper: HistoryKeeper?
  private let damage: DamageWatch
  private let slow: SlowStatements?
  /// The lock on the file; nil if the process works beside a server.
  private let file: ServedFile?

  /// Opens the database of a data directory. Creates or migrates it for `schema`.
  ///
  /// - Parameters:
  ///   - schema: the schema to serve; nil for the stored one.
  ///   - removals: the treatment of tables and columns that `schema` lacks.
  ///   - keeper: maintains the history mark; nil if the process does not serve the database.
  ///   - slow: receives the statements that take too long; nil for nobody.
  ///   - lock: the lock of the directory; nil if the process works beside a server.
  ///   - random: creates the epoch of a new database.
  /// - Throws: `ServerError` before anything is written; `SQLiteError` if the file cannot be used.
  package init(
    in directory: DataDirectory, schema: SyncSchema?, removals: Removals = .refuse,
    keeper: HistoryKeeper? = nil, slow: SlowStatements? = nil, lock: DataDirectoryLock? = nil,
    random: (Int) -> [UInt8]
  ) throws {
    let exists = try directory.hasDatabase()
    // A tool, which keeps no history.
    if keeper == nil, try !(exists && Self.isOurs(directory.database)), try HistoryMark.isLeft(in: directory)
    {
      throw Self.lost(directory.database)
    }
    try self.init(
      file: directory.database, exists: exists, schema: schema, removals: removals,
      keeper: keeper, slow: slow, served: lock?.file, random: random)
  }

  /// Opens the database file at `path`. See the other initializer.
  package init(
    file path: String, exists: Bool, schema: SyncSchema?, removals: Removals = .refuse,
    keeper: HistoryKeeper? = nil, slow: SlowStatements? = nil, served: ServedFile? = nil,
    random: (Int) -> [UInt8]
  ) throws {
    self.path = path
    file = served
    self.keeper = keeper
    self.slow = slow
    damage = DamageWatch { [keeper] in keeper?.say($0) }
    let isOurs = try exists && Self.isOurs(path)
    if !isOurs, keeper?.hasServed == true { throw Self.lost(path) }
    guard isOurs || schema != nil else {
      throw ServerError(
        .schemaMissing,
        "There is no database \(path) yet. Start the server once with --schema FILE.")
    }
    let connection = try Self.writer(path)
    connection.companion = served
    if isOurs {
      try connection.makeLogDurable()
      if keeper != nil { try DamagedDatabase.check(connection, path, isWhole: false) }
      let stored = try SyncSchema(json: Array(Self.meta("schema", connection).utf8))
      self.schema = schema ?? stored
      if let schema, schema != stored { try Self.extend(connection, from: stored, to: schema, removals) }
    } else {
      let schema = try schema ?? SyncSchema(json: [])
      self.schema = schema
      try Self.create(connection, schema, epoch: hexadecimal(random(4)))
      try served?.hold()
      keeper?.say("The database \(path) is new: there was none.")
    }
    try keeper?.begin(connection, self.schema)
    known = KnownHistory(
      try SQLiteEpoch.history(on: connection), try SQLiteEpoch.prover(on: connection, random: random))
  }

  package func store() throws -> any StoreWriter {
    let connection = try Self.writer(path)
    connection.companion = file
    connection.report(slow)
    return try SQLiteStore(schema, on: connection, known, damage, keeper, cache)
  }

  package func slowStore() throws -> (any StoreWriter)? { nil }

  package func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result { try lend(body) }

  package func readConsole<Result>(_ body: (any ConsoleReader) throws -> Result) throws -> Result {
    try lend { reader in
      try reader.transaction { try body(SQLiteConsoleReader(schema, on: reader.connection)) }
    }
  }

  private func lend<Result>(_ body: (SQLiteReader) throws -> Result) throws -> Result {
    try readers.read(
      {
        let connection = try SQLiteConnection(path: path, access: .readWrite)
        connection.companion = file
        try connection.execute(
          "PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 268435456;")
        connection.report(slow)
        return try SQLiteReader(schema, on: connection, known, cache)
      },
      { reader in
        do {
          let deadline = ReadLimit.current?.deadline
          return try reader.connection.run(until: { [readers] in
            readers.areInterrupted || deadline.map { MonotonicTime.exact >= $0 } ?? false
          }) { try body(reader) }
        } catch {
          damage.notice(error)
          throw error
        }
      })
  }

  package func recall<Result>(_ body: (any StoreMemory) throws -> Result?) throws -> Result? {
    try readers.readIdle { reader in try reader.memory.flatMap { try body($0) } } ?? nil
  }

  package func listen(mayLead: Bool, _ receive: @escaping @Sendable (Notification) -> Void) -> (
    any NotificationListener
  )? { nil }

  package func inTurn(_ body: () throws -> Void) throws { try body() }

  package func isUnavailable(_ error: any Error) -> Bool { false }

  package func isInterrupted(_ error: any Error) -> Bool {
    (error as? SQLiteError)?.code.primary == .interrupt
  }

  package func interruptReads() { readers.interrupt() }

  package func close() { readers.close() }

  package func administration() throws -> any StoreAdministration {
    let connection = try Self.writer(path)
    connection.companion = file
    return try SQLiteAdministration(SQLiteStore(schema, on: connection, known, damage), schema)
  }

  /// Corrects the counts in the rows of zones.
  ///
  /// - Returns: the number of corrected zones.
  package func mendCounts() throws -> Int {
    let connection = try Self.writer(path)
    return try connection.transaction(.immediate) {
      try SQLiteCounting(schema: schema, connection: connection).mend()
    }
  }

  private static func lost(_ path: String) -> ServerError {
    ServerError(
      .databaseMissing,
      """
      \(path) is missing, and a server has served it before. Mount its volume, or put a copy back: docs/OPERATIONS.md, section 9. \
      To begin a new database here, remove holdfast.history.
      """
    )
  }

  private static func writer(_ path: String) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: path)
    // Before the switch to WAL, SQLite uses a rollback journal. Only EXTRA makes its deletion durable. Otherwise it could reappear after a
    // power failure.
    try connection.execute(
      "PRAGMA synchronous = EXTRA; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = \(SQLiteStore.longLog);"
    )
    // Overwrites deleted data in the file: docs/EXPORT-AND-ERASURE.md, section 2.
    try connection.execute("PRAGMA secure_delete = ON; PRAGMA cell_size_check = ON")
    return connection
  }

  /// Checks a file without writing to it: true for a database of a Holdfast server, false for an empty database.
  private static func isOurs(_ path: String) throws -> Bool {
    do {
      let connection = try SQLiteConnection(path: path, access: .readOnly)
      let application = try connection.value("PRAGMA application_id")?.integer
      let version = try connection.value("PRAGMA user_version")?.integer ?? 0
      if application == SQLiteTables.applicationID {
        if version > SQLiteTables.formatVersion {
          throw ServerError(
            .newer,
            "\(path) was written by a newer Holdfast (format \(version)). Start that version, or update this one."
          )
        }
        return true
      }
      if application == 0, try connection.value("SELECT count(*) FROM sqlite_schema")?.integer == 0 {
        return false
      }
    } catch let error as SQLiteError where error.code.primary == .notADatabase {
    } catch let error as SQLiteError where error.code.primary == .corrupt {
      throw ServerError(.damaged, "\(path) is damaged: \(error). Restore it from a backup.")
    } catch let error as SQLiteError {
      throw ServerError(
        .unreachable,
        "\(path) can't be read: \(error). Check that it is a file, its rights, and that its folder has room and can be written to."
      )
    }
    throw ServerError(
      .notOurs,
      "\(path) is no database of a Holdfast server. Name another --data directory, or move the file away.")
  }

  private static func create(_ connection: SQLiteConnection, _ schema: SyncSchema, epoch: String) throws {
    let tables = SQLiteTables(schema: schema)
    try connection.transaction(.immediate) {
      try connection.execute(SQLiteTables.own)
      for index in schema.tables.indices { try connection.execute(tables.create(index)) }
      try addPublicZones(connection, schema)
      try setMeta("epoch", epoch, connection)
      try setMeta("schema", schema.text, connection)
      try connection.execute("PRAGMA application_id = \(SQLiteTables.applicationID)")
      try connection.execute("PRAGMA user_version = \(SQLiteTables.formatVersion)")
    }
  }

  private static func extend(
    _ connection: SQLiteConnection, from old: SyncSchema, to new: SyncSchema, _ removals: Removals
  ) throws {
    let difference = try SchemaDifference(serving: new, after: old, removals)
    try connection.transaction(.immediate) {
      try connection.execute("PRAGMA defer_foreign_keys = ON")
      try SQLiteSchemaChange(connection, from: old, to: new, difference).run()
      if difference.changesSizes(in: new) {
        try SQLiteCounting(schema: new, connection: connection).mend()
      }
      try addPublicZones(connection, new)
      try setMeta("schema", new.text, connection)
    }
  }

  private static func addPublicZones(_ connection: SQLiteConnection, _ schema: SyncSchema) throws {
    for zone in schema.publicZones {
      try connection.run(
        "INSERT OR IGNORE INTO holdfast_zones (zone, seq, public) VALUES (?, 0, 1)", [.text(zone)])
      let isPublic = try connection.value("SELECT public FROM holdfast_zones WHERE zone = ?", [.text(zone)])
      if isPublic?.integer != 1 { throw ServerError.taken(publicZone: zone) }
    }
  }

  private static func meta(_ key: String, _ connection: SQLiteConnection) throws -> String {
    guard let text = try connection.value("SELECT value FROM holdfast_meta WHERE key = ?", [.text(key)])?.text
    else {
      throw ServerError(.notOurs, "The database has no \(key): it is damaged. Restore it from a backup.")
    }
    return text
  }

  private static func setMeta(_ key: String, _ value: String, _ connection: SQLiteConnection) throws {
    try connection.run(
      "INSERT OR REPLACE INTO holdfast_meta (key, value) VALUES (?, ?)", [.text(key), .text(value)])
  }
}
