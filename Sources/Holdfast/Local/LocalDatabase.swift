import HoldfastCore
package import HoldfastSQLite

/// The device's database on one connection, and what all parts of the client share: the schema, its statements,
/// the files beside the database, and transactions. `DatabaseOpening` makes one.
///
/// Not Sendable: belongs to the queue that made it.
package final class LocalDatabase {
  package let connection: SQLiteConnection
  let schema: SyncSchema
  let pages: any PageStorage
  /// Where snapshots are kept while they come; nil where there are none.
  let snapshots: SnapshotDownloads?
  /// Tells the schema from others.
  private(set) lazy var schemaFingerprint = Fingerprint(of: schemaText).text
  /// One entry a table of the schema.
  let sql: [TableStatements]
  /// The same: the columns' policies.
  let policies: [TextMap<MergePolicy>]
  /// How records with the same unique values are found.
  private(set) lazy var clashes = UniqueValues.searches(in: schema)
  /// The tables that have unique values.
  private(set) lazy var uniqueTables = TextSet(schema.tables.lazy.filter { !$0.unique.isEmpty }.map(\.name))
  let edits: EditTable
  /// What the server says of its schema.
  let serverSchema: ServerSchema
  /// What the change sets of the outbox say of columns whose policy combines.
  let sealedSets: SealedSets
  let token: SessionToken
  /// SQLite's number of the file's form when it was last seen to be this schema's.
  private var knownForm: Int64?
  private static let busyTimeout = Duration.seconds(15)
  /// How long a statement of this connection waits for another program's lock.
  var busyTimeout = LocalDatabase.busyTimeout { didSet { connection.setBusyTimeout(busyTimeout) } }
  /// Whether no statement waits for a lock until a transaction has begun.
  private var mustNotWait = false
  /// What others had made in the file when its form was last looked at.
  private var others = ForeignObjects.Found()
  /// Whether nothing can be written here, and so nothing has to be mended.
  private let isReader: Bool
  /// The name of the database in its folder; nil in none.
  package var databaseInFolder: String?
  /// The files that are read together with this one; nil in a store.
  private var attached: AttachedFiles?

  /// Connects to the database at `path`; its content is as the file has it.
  ///
  /// - Parameter pages: where pages are kept; nil puts them, and snapshots, into folders beside the database.
  init(
    path: String, schema: SyncSchema, access: SQLiteConnection.Access, pages: (any PageStorage)?,
    options: StoreOptions
  ) throws {
    self.schema = schema
    token = SessionToken(storage: options.tokens)
    isReader = access == .readOnly
    snapshots = pages == nil ? SnapshotDownloads(database: path) : nil
    self.pages = pages ?? PageFiles(database: path)
    sql = schema.tables.map(TableStatements.init)
    policies = schema.tables.map { table in
      TextMap(table.columns.map { ($0.name, $0.policy) })
    }
    if access == .readWriteCreate, pages == nil { PrivateFile.makeDatabase(path) }
    connection = try SQLiteConnection(path: path, access: access, busyTimeout: Self.busyTimeout)
    edits = EditTable(connection: connection, schema: schema)
    serverSchema = ServerSchema(connection: connection, schema: schema)
    sealedSets = SealedSets(connection: connection, schema: schema)
    // Temporary files in memory: each statement with triggers keeps a journal of its own. On Apple's platforms a common fsync leaves what is written in
    // the drive's cache; elsewhere `fullfsync` says nothing.
    try connection.execute(
      """
      PRAGMA foreign_keys = ON; PRAGMA synchronous = EXTRA; PRAGMA cache_size = -\(max(64, options.cacheSize >> 10));
      PRAGMA temp_store = MEMORY; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;
      """)
    if access == .readOnly { return }
    _ = try connection.row("PRAGMA journal_mode = WAL")
    // Until here SQLite keeps a rollback journal, whose end is durable only with EXTRA: it could come back after a loss of power.
    try connection.execute("PRAGMA synchronous = FULL")
    try connection.makeLogDurable()
    connection.deferCheckpoints()
  }

  /// The database over the schema that it had before, on the same connection.
  convenience init(_ later: LocalDatabase, before schema: SyncSchema) {
    self.init(on: later.connection, schema: schema, token: later.token, pages: later.pages)
  }

  /// The database that a connection is open for.
  init(on connection: SQLiteConnection, schema: SyncSchema, token: SessionToken, pages: any PageStorage) {
    self.schema = schema
    (self.connection, self.pages, snapshots) = (connection, pages, nil)
    (self.token, isReader) = (token, false)
    sql = schema.tables.map(TableStatements.init)
    policies = schema.tables.map { table in
      TextMap(table.columns.map { ($0.name, $0.policy) })
    }
    edits = EditTable(connection: connection, schema: schema)
    serverSchema = ServerSchema(connection: connection, schema: schema)
    sealedSets = SealedSets(connection: connection, schema: schema)
  }

  var schemaText: String { String(decoding: schema.json.bytes, as: UTF8.self) }

  // MARK: The device

  /// The device's logical clock, whatever else the database has.
  func clock() throws -> Stamp {
    let clock = try connection.value(
      """
      SELECT max(clock, coalesce((SELECT clock FROM holdfast_outbox ORDER BY first DESC LIMIT 1), 0)) FROM holdfast_local
      """)
    return Stamp(rawValue: clock?.integer ?? 0)
  }

  /// The name of this device in positions.
  func replica() throws -> String { try connection.value("SELECT replica FROM holdfast_local")?.text ?? "" }

  /// The token of the session; nil when nobody is signed in.
  ///
  /// - Throws: also what the app's storage throws, as with a locked phone. So only what talks to the server asks for it.
  package func sessionToken() throws -> String? {
    guard let row = try connection.row("SELECT token, device FROM holdfast_local", []) else { return nil }
    return try token.read(row[0].text, device: row[1].text)
  }

  /// What the database says of the device.
  func state() throws -> DeviceState {
    let row = try connection.statement(
      """
      SELECT device, user, name, token, max(local.clock, coalesce(newest.clock, 0)), coalesce(newest.last, confirmed) + 1,
      coalesce(newest.chain, confirmed_chain), confirmed, confirmed_chain, resend, replica, session, last_server_clock, proof,
      max(last_undo, coalesce(newest.undo, 0)) FROM holdfast_local AS local LEFT JOIN holdfast_outbox AS newest
      ON newest.first = (SELECT max(first) FROM holdfast_outbox)
      """)
    defer { row.reset() }
    guard try row.step() else { throw StoreError(.databaseIsBroken, "The table holdfast_local is empty.") }
    func text(_ index: Int) -> String? { row.isNull(index) ? nil : row.text(index) }
    // Numbers of operations, with room for those that follow.
    let numbers = 0..<Int64.max / 2
    guard row.integer(5) > 0, [5, 7, 14].allSatisfy({ numbers.contains(row.integer($0)) }) else {
      throw StoreError(
        .databaseIsBroken,
        "The table holdfast_local has numbers that no operation can have. Take a copy of the file of before.")
    }
    return DeviceState(
      device: text(0), user: text(1), name: text(2), isSignedIn: token.isKept(text(3)),
      clock: Stamp(rawValue: row.integer(4)),
      nextNumber: row.integer(5), chain: Fingerprint(row.text(6)) ?? .beginning, confirmed: row.integer(7),
      confirmedChain: Fingerprint(row.text(8)) ?? .beginning, mustResend: row.integer(9) != 0,
      replica: row.text(10), session: row.integer(11), lastServerClock: Stamp(rawValue: row.integer(12)),
      proof: row.text(13), lastUndo: row.integer(14))
  }

  /// Runs `body` in a transaction on a file that is still at its path and has still the form that this was opened for: another process may have brought
  /// it to a newer schema, of which this one knows nothing, and whose columns it would leave out.
  ///
  /// - Parameter isOfApp: whether `body` is the app's, which the references of its own tables hold for. They stop nothing that the server sends.
  /// - Throws: `StoreError.databaseIsNewer`, `fileReplaced`, `busy`, `foreignObject`, and what `body` throws.
  func transaction<T>(
    _ kind: SQLiteConnection.TransactionKind, isOfApp: Bool = false, _ body: () throws -> T
  ) throws -> T {
    do {
      return try connection.transaction(kind) {
        if mustNotWait { endHurry() }
        // Reads, so that the log is there.
        let form = try connection.value("PRAGMA schema_version")?.integer
        try connection.checkPlace()
        try checkForm(form, kind)
        guard kind == .immediate, others.referToRecords, !isOfApp else { return try body() }
        try connection.execute("PRAGMA defer_foreign_keys = ON")
        let result = try body()
        try passOverForeignReferences()
        return result
      }
    } catch let error as SQLiteError {
      if error.code == .readOnlyMoved { saveLog() }
      if let told = StoreError(ofFile: error) { throw told }
      throw error
    }
  }

  /// Runs `body` without waiting until its transaction can begin.
  ///
  /// - Returns: nil when another program holds the database for writing: nothing of the transaction has run.
  func withoutWaiting<T>(_ body: () throws -> T) throws -> T? {
    mustNotWait = true
    connection.setBusyTimeout(.zero)
    defer { if mustNotWait { endHurry() } }
    do { return try body() } catch let error as StoreError where error.code == .busy && mustNotWait {
      return nil
    }
  }

  private func endHurry() {
    mustNotWait = false
    connection.setBusyTimeout(busyTimeout)
  }

  /// Brings what only this connection has into the file: a log that was deleted, and that nobody has made again.
  private func saveLog() { if connection.isLogGone { try? connection.checkpoint() } }

  /// Before the commit of what is not the app's: the references between records must hold, and those of others' tables need not.
  ///
  /// With all of them deferred, SQLite has one count for both, which it forgets when the deferring ends before the transaction does.
  func passOverForeignReferences() throws {
    guard connection.hasOpenForeignKeys else { return }
    if try hasOrphans() { return try connection.checkForeignKeys() }
    try connection.execute("PRAGMA defer_foreign_keys = OFF")
  }

  /// Whether a record refers to one that is not here. Looks at whole tables.
  private func hasOrphans() throws -> Bool {
    try schema.links.contains { link in
      let (child, parent) = (schema.tables[link.table], schema.tables[link.target].name)
      let column = child.columns[link.column].name
      return try link.isInZone
        && connection.row(
          """
          SELECT 1 FROM "\(child.name)" WHERE "\(column)" IS NOT NULL AND "\(column)" NOT IN (SELECT "id" FROM "\(parent)") LIMIT 1
          """) != nil
    }
  }

  /// Runs `body` in a transaction that only reads, also on a connection that can write.
  func reading<T>(_ body: () throws -> T) throws -> T {
    try connection.execute("PRAGMA query_only = ON")
    defer { try? connection.execute("PRAGMA query_only = OFF") }
    return try readTransaction(body)
  }

  /// Runs `body`, which only reads, in a transaction: a consistent state of this file, and of each that is attached.
  func readTransaction<T>(_ body: () throws -> T) throws -> T {
    guard let attached else { return try transaction(.deferred, body) }
    return try attached.leavingOutTheLost {
      try transaction(.deferred) {
        try attached.check()
        return try body()
      }
    }
  }

  /// From now on the files of other databases are read together with this one, on a connection that only reads.
  ///
  /// - Parameters:
  ///   - problem: why a file is not to be read, as another connection has found.
  ///   - onLoss: is called, on the connection's thread, with each file that can't be read, now or later. It is left out.
  package func attach(
    _ files: [AttachedFiles.File], cacheSize: Int,
    problem: @escaping (_ name: String) -> StoreError? = { _ in nil },
    onLoss: @escaping (AttachedFiles.Loss) -> Void
  ) throws {
    attached = try AttachedFiles(
      files, to: connection, schema: schema, schemaText: schemaText, cacheSize: cacheSize, problem: problem,
      onLoss: onLoss)
  }

  /// The names by which SQL names the files that are read here.
  var fileNames: [String] { ["main"] + (attached?.names ?? []) }

  /// Looks at what a transaction of the app has made in the file beside the schema's tables.
  ///
  /// - Throws: `StoreError.foreignObject`.
  func checkForeignObjects() throws {
    if try connection.value("PRAGMA schema_version")?.integer == knownForm { return }
    others = try ForeignObjects(connection: connection, schema: schema).check()
  }

  /// Takes the file's form of now for that of this schema.
  func rememberForm() throws {
    try checkForeignObjects()
    knownForm = try connection.value("PRAGMA schema_version")?.integer
  }

  private func checkForm(_ form: Int64?, _ kind: SQLiteConnection.TransactionKind) throws {
    if let form, form == knownForm { return }
    let version = try connection.value("PRAGMA user_version")?.integer
    try DeviceTables.checkRemains(version)
    let stored = try connection.value("SELECT schema FROM holdfast_local")?.text ?? ""
    guard version == DeviceTables.formatVersion, stored.utf8.elementsEqual(schemaText.utf8) else {
      throw StoreError(
        .databaseIsNewer,
        "Another process has brought this file to another schema. Open it again, with the app of that schema."
      )
    }
    // What reads leaves it as it is: the next that writes sees to it.
    if kind == .deferred {
      if isReader { knownForm = form }
      return
    }
    try DeviceFormRepair(database: self).run()
    try checkForeignObjects()
    // Not the number of now, which is another's if this transaction is rolled back.
    if form == (try connection.value("PRAGMA schema_version")?.integer) { knownForm = form }
  }

  /// How many pages make a log long, as SQLite has it.
  package static let longLog = 1000

  /// Whether the write-ahead log has become long.
  var hasLongLog: Bool { connection.pagesInLog >= Self.longLog }

  /// Moves the write-ahead log into the database file when it has become long. To be called after each step, when its result has been
  /// given: a commit needs not wait for it.
  ///
  /// - Parameter pages: what is long.
  package func checkpointIfLong(pages: Int = longLog) {
    // What fails now is done the next time.
    guard connection.pagesInLog >= pages, (try? connection.checkPlace()) != nil else { return }
    try? connection.checkpoint()
  }

  /// Moves the write-ahead log into the database file and empties it, so that neither has what was deleted. A reader may prevent it.
  func emptyLog() {
    guard (try? connection.checkPlace()) != nil else { return }
    // Who writes waits meanwhile.
    connection.setBusyTimeout(.milliseconds(250))
    try? connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.setBusyTimeout(busyTimeout)
  }

  /// Runs `body` with the triggers at rest, also inside another such; nobody else sees them so, as the transaction ends before.
  func whileApplying<T>(_ body: () throws -> T) throws -> T {
    try connection.run("UPDATE holdfast_local SET applying = applying + 1")
    let result: T
    do { result = try body() } catch let error as SQLiteError
      where error.code.primary == .constraint && error.code != .constraintForeignKey
    {
      if let told = others.failure(error) { throw told }
      throw error
    }
    try connection.run("UPDATE holdfast_local SET applying = applying - 1")
    return result
  }

  /// Runs `body`, which writes many records inside `whileApplying`. No trigger of Holdfast has anything to do then, and finding that out takes
  /// longer than writing a row. Triggers that an app has added do fire, and with them all others.
  func withoutIdleTriggers<T>(_ body: () throws -> T) throws -> T {
    let added = try count(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name NOT LIKE 'holdfast|_%' ESCAPE '|'")
    return added == 0 ? try connection.withoutTriggers(body) : try body()
  }

  /// A record as it is here, or nil.
  func row(_ table: Int, _ id: String) throws -> (zone: String?, rev: Int64, values: [Value])? {
    try storedRow(table, id).map { ($0.zone, $0.rev, $0.values.map { Value($0) }) }
  }

  /// The same, with its values as they are stored.
  func storedRow(_ table: Int, _ id: String) throws -> (zone: String?, rev: Int64, values: [SQLiteValue])? {
    let row = try connection.statement(sql[table].select)
    defer { row.reset() }
    try row.bind(id, at: 1)
    guard try row.step() else { return nil }
    let values = (0..<sql[table].columns.count).map { row.value($0 + 2) }
    return (row.isNull(0) ? nil : row.text(0), row.integer(1), values)
  }

  /// Writing as an app does.
  var rows: RowWriter { RowWriter(database: self) }
  /// Unique values of a transaction.
  var uniqueValues: UniqueValues { UniqueValues(database: self) }

  /// The device's clock in milliseconds since 1970, as SQLite tells it.
  func wallClock() throws -> Int64 {
    try connection.value("SELECT \(DeviceTables.now)")?.integer ?? 0
  }

  func count(_ sql: String) throws -> Int { Int(try connection.value(sql)?.integer ?? 0) }
}
