import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The store in SQLite, over the only connection that writes.
final class SQLiteStore: StoreWriter {
  var zones: any ZoneTable { zoneTable }
  var devices: any DeviceTable { deviceTable }
  var requests: any RequestTable { requestTable }
  var consents: any ConsentTable { consentTable }
  let accounts: any AccountTable
  let results: any ResultTable
  let purging: any PurgeTable
  let invitations: any InvitationTable
  let guests: any GuestTable
  let recovery: any RecoveryTable
  let carried: any CarriedTable
  let operators: any OperatorTable
  /// The writing connection.
  let connection: SQLiteConnection
  let isAlone = true
  let reliesOnMemory = false
  let committed: Int64? = nil
  var patience = Duration.zero
  var isVerbatim: Bool { cache != nil && !hasTriggers }
  /// From how many records on it is quicker to look which of them are new.
  private static let manyRecords = 8
  /// The pages of the write-ahead log from which on a commit moves it into the database: before the answers, as their readers would keep the log from
  /// beginning anew.
  static let longLog = 4000
  private let tables: [SQLiteRecordTable]
  private let zoneTable: SQLiteZones
  private let deviceTable: SQLiteDeviceTable
  private let requestTable: SQLiteRequests
  private let consentTable: SQLiteConsents
  private(set) var history: History
  private let schema: SyncSchema
  private let known: KnownHistory
  var prover: Prover { known.prover }
  private let findHistory: Statement
  private let begin: Statement
  private let end: Statement
  private let beginSet: Statement
  private let endSet: Statement
  private let undoSet: Statement
  private let count: Statement
  private let keeper: HistoryKeeper?
  private let damage: DamageWatch
  /// What readers know; nil for who does not serve the database.
  private let cache: ReadCache<CommitState>?
  /// The state in which the transaction began, and how many rows were changed until then.
  private var began: (state: CommitState?, changes: Int) = (nil, 0)
  /// The state that the last commit of this connection left; nil where it wrote more than its delta, or another may have committed by then.
  private var left: CommitState?
  /// Whether a trigger, which only a team can have added, may write more than is told to.
  private var hasTriggers = false

  /// - Parameters:
  ///   - cache: is told of each commit; nil for who does not serve the database.
  ///   - damage: is asked before each transaction, and told what ended it.
  ///   - keeper: is told of each commit; nil for who does not serve the database.
  init(
    _ schema: SyncSchema, on connection: SQLiteConnection, _ known: KnownHistory, _ damage: DamageWatch,
    _ keeper: HistoryKeeper? = nil, _ cache: ReadCache<CommitState>? = nil
  ) throws {
    self.connection = connection
    self.cache = cache
    self.keeper = keeper
    self.damage = damage
    self.schema = schema
    self.known = known
    history = known.now
    findHistory = try connection.statement(
      "SELECT key, value FROM holdfast_meta WHERE key IN (\(History.keys), \(SQLiteHistory.keys))")
    tables = try schema.tables.indices.map { try SQLiteRecordTable($0, of: schema, on: connection) }
    zoneTable = try SQLiteZones(schema, on: connection)
    deviceTable = try SQLiteDeviceTable(on: connection)
    accounts = try SQLiteAccounts(on: connection)
    requestTable = try SQLiteRequests(schema, on: connection)
    results = SQLiteResults(on: connection)
    purging = SQLitePurge(on: connection)
    invitations = SQLiteInvitations(on: connection)
    guests = SQLiteGuests(on: connection)
    recovery = SQLiteRecovery(on: connection)
    operators = SQLiteOperators(on: connection)
    carried = SQLiteCarried(on: connection)
    consentTable = SQLiteConsents(schema, on: connection)
    begin = try connection.statement("BEGIN IMMEDIATE")
    end = try connection.statement("COMMIT")
    beginSet = try connection.statement("SAVEPOINT change_set")
    endSet = try connection.statement("RELEASE change_set")
    undoSet = try connection.statement("ROLLBACK TO change_set")
    count = try connection.statement(
      "UPDATE holdfast_meta SET value = value + 1 WHERE key = 'commits' RETURNING CAST(value AS INTEGER)")
    if keeper != nil {
      _ = try findHistory.pairs()
      try connection.checkPlace()
    }
  }

  func latestClock() throws -> Stamp {
    Stamp(
      rawValue: try connection.value(
        "SELECT max(d, z) FROM (SELECT coalesce(max(clock), 0) AS d FROM holdfast_devices), "
          + "(SELECT coalesce(max(clock), 0) AS z FROM holdfast_zones)")?.integer ?? 0)
  }

  func begin(_ footprints: [Footprint]) throws -> Fetched {
    try damage.requireNone()
    if keeper != nil { try checkPlace() }
    try begin.run()
    if try cache.map(enter) ?? true {
      let rows = try findHistory.pairs()
      history = try SQLiteEpoch.history(rows)
      known.see(history)
      try keeper?.requireSame(SQLiteHistory(rows))
    }
    // To ask for one thing after the other costs no more, but for records that are not there.
    var fetched = Fetched()
    let named = footprints.lazy.flatMap { [$0.records, $0.created].joined() }
    for (table, keys) in Dictionary(grouping: named, by: \.table) where keys.count >= Self.manyRecords {
      fetched.absent += try tables[table].absent(keys.map(\.id)).map { Footprint.Key(table: table, id: $0) }
    }
    return fetched
  }

  /// Notes in which state the transaction begins.
  ///
  /// - Returns: whether it is another one than the last commit left, so that what it said of the database is read again.
  private func enter(_ cache: ReadCache<CommitState>) throws -> Bool {
    began = (connection.commitState, connection.totalChanges)
    cache.enter(began.state)
    if left != nil, began.state == left { return false }
    hasTriggers = try connection.value("SELECT 1 FROM sqlite_schema WHERE type = 'trigger' LIMIT 1") != nil
    return true
  }

  /// - Throws: `SQLiteError` if another process has moved the files away. If only the log is gone, first checkpoints its content into the
  ///   file, because it would be lost with this process.
  private func checkPlace() throws {
    do { try connection.checkPlace() } catch {
      if connection.isLogGone { try? connection.checkpoint() }
      throw error
    }
  }

  func beginEpoch(_ epoch: NewEpoch, after current: String?) throws -> Bool {
    let begun =
      try keeper.map { try $0.begin(epoch, after: current, schema, on: connection) }
      ?? SQLiteEpoch.begin(epoch, after: current, schema, on: connection)
    guard let begun else { return false }
    history = begun
    known.see(begun)
    return true
  }

  func write(_ delta: Delta) throws {
    for zone in delta.newZones { try zoneTable.add(zone) }
    for change in delta.records { try tables[change.key.table].write(change) }
  }

  func commit(_ delta: Delta, announcing changes: ZoneChanges) throws {
    let isAll = connection.totalChanges == began.changes && !hasTriggers
    try write(delta)
    for zone in delta.movedZones { try zoneTable.move(zone, clock: delta.clock) }
    for (member, role) in delta.roles { try zoneTable.set(role, of: member) }
    for (member, hasLeft) in delta.left { try consentTable.set(hasLeft, member) }
    try deviceTable.write(delta)
    try requestTable.write(delta.requests)
    let commits = try count.onlyInteger()
    try end.run()
    if let cache {
      let state = connection.commitState
      cache.advance(from: began.state, to: state, isAll ? delta : nil)
      left = isAll ? began.state.flatMap { before in state.flatMap { $0.follows(before) ? $0 : nil } } : nil
    }
    if let commits { keeper?.advance(to: commits) }
  }

  func rollBack() {
    // Some failures have already ended the transaction.
    if connection.isInTransaction { try? connection.execute("ROLLBACK") }
    cache?.leave()
  }

  func beginSavepoint() throws { try beginSet.run() }

  func keepSavepoint() throws {
    try connection.checkForeignKeys()
    try endSet.run()
  }

  func undoSavepoint() throws {
    try undoSet.run()
    try endSet.run()
  }

  var hasEnded: Bool { !connection.isInTransaction }

  // MARK: Records

  func read(_ ids: [String], of table: Int) throws -> [RecordEntry] { try ids.map(tables[table].entry) }

  /// The transaction is the only one that writes.
  func lock(deleted ids: [String], of table: Int) {}

  func references(of table: Int, by column: Int, to values: [String], limit: Int) throws -> [(
    id: String, value: String
  )] {
    try tables[table].references(by: column, to: values, limit: limit)
  }

  func ids(of table: Int, sharing group: Int, _ values: [Value], in zone: String) throws -> [String] {
    try tables[table].ids(sharing: group, values, in: zone)
  }

  func positions(_ side: RecordList.Side, _ mark: String, in list: RecordList, limit: Int) throws -> [(
    id: String, position: String
  )] {
    try tables[list.table].positions(side, mark, in: list, limit: limit)
  }

  func probe(_ text: String) throws {
    // The log may still have room for such a small row when there is none for a record.
    let file = try connection.value("SELECT file FROM pragma_database_list WHERE name = 'main'")?.text
    if keeper != nil, let file { try DiskSpace.check(beside: file) }
    try connection.run(
      "INSERT OR REPLACE INTO holdfast_meta (key, value) VALUES ('probe', ?)", [.text(text)])
  }

  func meaning(of error: any Error) -> StoreFailure {
    damage.notice(error)
    if DamagedDatabase.isReason(for: error) { return .unavailable }
    guard let error = error as? SQLiteError else { return .other }
    switch error.code.primary {
    case .full: return .full
    case .ioError, .readOnly, .cantOpen, .busy, .locked, .outOfMemory, .interrupt: return .unavailable
    // A bug in this program.
    case .misuse, .range, .schema: return .other
    // Retries cannot help: a violated constraint, a value that is too large, an error in a team's trigger.
    default: return .rule("SQLite \(error.code.rawValue)")
    }
  }

  /// Checkpoints the write-ahead log into the database, and closes the connection.
  func close() throws {
    defer { connection.close() }
    keeper?.end()
    try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }
}
