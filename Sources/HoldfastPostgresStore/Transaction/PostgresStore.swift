package import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

/// The store in PostgreSQL: docs/POSTGRES.md, section 2. `Transaction` keeps the changes in memory, and writes them at the end.
package final class PostgresStore: StoreWriter {
  /// How a store treats locks of other transactions.
  package enum Lane: Sendable {
    /// The fast lane: skips locked rows, and leaves blocked commands to the slow lane.
    case fast
    /// The slow lane: waits for locks.
    case slow
  }

  package let schema: SyncSchema
  package let layout: PostgresLayout
  package let lane: Lane
  /// The id of this server among those on the database.
  package let node: String
  package private(set) lazy var zones: any ZoneTable = PostgresZones(self)
  package private(set) lazy var devices: any DeviceTable = PostgresDevices(self)
  package private(set) lazy var requests: any RequestTable = PostgresRequests(self)
  package private(set) lazy var consents: any ConsentTable = PostgresConsents(self)
  package private(set) lazy var results: any ResultTable = PostgresResults(self)
  package private(set) lazy var purging: any PurgeTable = PostgresPurgeTable(self)
  package private(set) lazy var invitations: any InvitationTable = PostgresInvitations(self)
  package private(set) lazy var guests: any GuestTable = PostgresGuests(self)
  package private(set) lazy var recovery: any RecoveryTable = PostgresRecovery(self)
  package private(set) lazy var operators: any OperatorTable = PostgresOperators(self)
  package private(set) lazy var carried: any CarriedTable = PostgresCarried(self)
  private(set) lazy var accountTable = PostgresAccounts(self)
  package var accounts: any AccountTable { accountTable }
  package let isAlone = false
  package internal(set) var isVerbatim = false
  package var patience = Duration.milliseconds(500)
  package private(set) var history: History
  private let known: KnownHistory
  package var prover: Prover { known.prover }
  package let statements: PostgresStatements
  /// The number of the current transaction.
  package var transaction: Int64 = 0
  private let isTool: Bool
  /// How long the memory is relied on after the connection's last use.
  private let memoryLife: Duration
  /// What readers know; nil for other stores than that of the fast lane.
  let cache: PostgresReadCache?
  /// The state of the database in which the transaction began.
  var began: SnapshotState?
  package private(set) var committed: Int64?
  private let confirmed: ConfirmedTransactions
  private let open: () throws(PostgresError) -> PostgresConnection
  private let openDirectly: () throws(PostgresError) -> PostgresConnection
  private var opened: PostgresConnection?
  /// Whether a transaction has begun on the connection, and has not ended.
  private var isInTransaction = false
  /// What is known of the database without asking; nothing in the slow lane.
  var memory = LaneMemory()
  /// The footprints of a transaction that has not begun in the database yet, and what it assumes to be there.
  private var assumed: (footprints: [Footprint], fetched: Fetched)?
  package private(set) var reliesOnMemory = false
  /// Whether the transaction may have written more than its delta.
  private var writesMore = false

  private static let savepoint: PostgresStatement = "SAVEPOINT change_set"
  private static let release: PostgresStatement = "RELEASE SAVEPOINT change_set"
  private static let undo: PostgresStatement = "ROLLBACK TO SAVEPOINT change_set"
  private static let findClock: PostgresStatement = """
    SELECT greatest((SELECT coalesce(max(clock), 0) FROM holdfast.zones),
      (SELECT coalesce(max(clock), 0) FROM holdfast.devices))
    """
  private static let check: PostgresStatement = "SET CONSTRAINTS ALL IMMEDIATE"
  private static let addProbe: PostgresStatement = "INSERT INTO holdfast.meta (key, value) VALUES ($1, $2)"
  private static let dropProbe: PostgresStatement = "DELETE FROM holdfast.meta WHERE key = $1"
  private static let uncheck: PostgresStatement = "SET CONSTRAINTS ALL DEFERRED"

  /// - Parameters:
  ///   - isTool: whether an operator's command writes, which begins no epoch for a database that was put back.
  ///   - memoryLife: how long after the connection's last use a write may rely on what is known.
  ///   - confirmed: the last one of all lanes.
  ///   - openDirectly: opens a connection to the database itself, for work beyond requests.
  ///   - open: opens a connection; called again after a connection is lost.
  package init(
    _ schema: SyncSchema, _ known: KnownHistory, layout: PostgresLayout, lane: Lane, node: String,
    isTool: Bool = false, memoryLife: Duration = .zero, cache: PostgresReadCache? = nil,
    confirmed: ConfirmedTransactions,
    openDirectly: @escaping () throws(PostgresError) -> PostgresConnection,
    open: @escaping () throws(PostgresError) -> PostgresConnection
  ) {
    self.schema = schema
    self.known = known
    history = known.now
    self.layout = layout
    self.lane = lane
    self.node = node
    self.isTool = isTool
    self.memoryLife = memoryLife
    self.cache = cache
    self.confirmed = confirmed
    self.open = open
    self.openDirectly = openDirectly
    statements = PostgresStatements(schema, layout, lane)
  }

  /// The connection, for `fetch` and `write`. Opens one if there is none. One that is lost in a transaction stays, and fails, until the
  /// transaction is rolled back: on another one the rest of the transaction would be one of its own.
  var link: PostgresConnection {
    get throws(PostgresError) {
      if let opened, opened.isUsable || isInTransaction { return opened }
      memory.removeAll()
      let connection = try open()
      opened = connection
      return connection
    }
  }

  /// The connection, for rows that are read on demand, for locks, and for what no memory and no cache has. The transaction begins in the database, if it has not yet.
  var reading: PostgresConnection {
    get throws(PostgresError) {
      if let assumed { try begin(assuming: assumed.fetched, for: assumed.footprints) }
      return try link
    }
  }

  /// The same, for what is written besides the delta: the lane does not know what it changes.
  package var connection: PostgresConnection {
    get throws(PostgresError) {
      writesMore = true
      return try reading
    }
  }

  /// Whether the memory is used. A connection through a pooler may lead to another server process each time.
  var remembers: Bool { lane == .fast && !isTool && opened?.options.preparesStatements == true }

  /// Ends the time in which the transaction has not begun in the database.
  ///
  /// - Returns: what it assumes; nil if it has begun before.
  func takeAssumed() -> Fetched? {
    defer { assumed = nil }
    return assumed?.fetched
  }

  package func latestClock() throws -> Stamp {
    Stamp(rawValue: try connection.query(Self.findClock).int64(0, 0))
  }

  package func begin(_ footprints: [Footprint]) throws -> Fetched {
    accountTable.begin()
    (assumed, reliesOnMemory, writesMore) = (nil, false, false)
    // A connection that has died unnoticed would leave the outcome unknown: the first round trip is that of the commit.
    if let next = memory.next, memory.isFresh(memoryLife), let fetched = memory.fetched(for: footprints),
      opened?.seemsAlive == true
    {
      (assumed, reliesOnMemory, isInTransaction) = ((footprints, fetched), true, true)
      (transaction, isVerbatim) = (next, memory.areVerbatim(footprints))
      enter(cache.map { SnapshotState(next: next, connections: $0.connections) })
      return fetched
    }
    do throws(PostgresError) { return try start(footprints) } catch {
      // The database may have restarted since the last use. Nothing was written yet, so one retry is safe.
      guard error.isConnectionLost, opened != nil else { throw error }
      rollBack()
      return try start(footprints)
    }
  }

  /// Notes in which state of the database the transaction begins.
  func enter(_ state: SnapshotState?) {
    began = state
    cache?.rows.enter(state)
  }

  /// Begins a transaction in the database that has relied on what was known before. Its commit finds out whether that holds.
  private func begin(assuming known: Fetched, for footprints: [Footprint]) throws(PostgresError) {
    assumed = nil
    let expected = transaction
    let found = try fetch(footprints)
    let isAsKnown =
      transaction == expected && found.waiting.isEmpty
      && known.absent.allSatisfy { found.records[$0]?.isNowhere ?? true }
    if !isAsKnown {
      throw PostgresError(.serializationFailure, "Another transaction was first.", while: .running)
    }
  }

  private func start(_ footprints: [Footprint]) throws(PostgresError) -> Fetched {
    if isTool, try PostgresIdentity(link).difference(link) != nil {
      throw PostgresError(.cannotConnectNow, PostgresEpoch.replaced, while: .running)
    }
    let last = confirmed.last
    let fetched = try fetch(footprints)
    if confirmed.areLost(last, next: transaction, in: history.epoch) {
      throw try PostgresEpoch.giveUp(link)
    }
    isInTransaction = true
    return fetched
  }

  /// Records the history that the transaction has read.
  func learn(history rows: PostgresRows) throws(PostgresError) {
    history = try PostgresEpoch.current(rows, on: link)
    known.see(history)
  }

  package func beginEpoch(_ epoch: NewEpoch, after current: String?) throws -> Bool {
    // A new epoch updates all zones, which takes longer than a request's statement may.
    let connection = try openDirectly()
    defer { connection.close() }
    guard let begun = try PostgresEpoch.begin(epoch, after: current, on: connection) else { return false }
    history = begun
    known.see(begun)
    return true
  }

  package func write(_ delta: Delta) throws {
    _ = try connection
    try write(delta, andCommit: nil)
  }

  package func commit(_ delta: Delta, announcing changes: ZoneChanges) throws {
    let isAlone: Bool
    do throws(PostgresError) { isAlone = try write(delta, andCommit: changes) } catch {
      if error.isConnectionLost { throw UnknownOutcome(error) }
      throw error
    }
    isInTransaction = false
    confirmed.confirm(transaction, in: history.epoch)
    let isAll = isAlone && !writesMore && known.now.epoch == history.epoch
    committed = isAll ? transaction : nil
    let after = began.map { SnapshotState(next: transaction + 1, connections: $0.connections) }
    cache?.rows.advance(from: began, to: after, isAll ? delta : nil)
    reliesOnMemory = false
    if writesMore { memory.removeAll() } else { memory.commit(delta) }
  }

  package func rollBack() {
    isInTransaction = false
    (assumed, reliesOnMemory) = (nil, false)
    memory.removeAll()
    cache?.rows.leave()
    guard let opened else { return }
    // Outside a transaction, ROLLBACK only clears the connection's recorded faults in row values.
    if opened.isUsable, (try? opened.execute("ROLLBACK")) != nil { return }
    opened.close()
    self.opened = nil
  }

  package func beginSavepoint() throws { try connection.run(Self.savepoint) }

  package let hasEnded = false

  package func keepSavepoint() throws { try run(Self.check, Self.uncheck, Self.release) }

  package func undoSavepoint() throws { try run(Self.undo, Self.release) }

  private func run(_ statements: PostgresStatement...) throws {
    try connection.pipeline { pipe in
      for statement in statements { pipe.send(statement) }
    }
  }

  // MARK: Records

  package func read(_ ids: [String], of table: Int) throws -> [RecordEntry] {
    let parameters = PostgresParameters(array: ids)
    return entries(try reading.query(statements.records[table].find, parameters), of: table, ids)
  }

  package func lock(deleted ids: [String], of table: Int) throws {
    // The table contains no other ids, and its type would reject them.
    let stored = ids.filter { layout.relations[table].takes($0) }
    try reading.run(statements.records[table].lockDeleted, PostgresParameters(array: stored))
  }

  package func references(of table: Int, by column: Int, to values: [String], limit: Int) throws -> [(
    id: String, value: String
  )] {
    guard let statement = statements.records[table].findWhere[column] else { return [] }
    var parameters = PostgresParameters()
    parameters.append(array: values)
    parameters.append(Int64(limit))
    let rows = try reading.query(statement, parameters)
    return rows.indices.map { (rows.text($0, 0), rows.text($0, 1)) }
  }

  package func ids(of table: Int, sharing group: Int, _ values: [Value], in zone: String) throws -> [String] {
    var parameters = PostgresParameters(zone)
    for (name, value) in zip(schema.tables[table].unique[group], values) {
      if let column = schema.tables[table].index(of: name) {
        parameters.append(value, schema.tables[table].columns[column].type)
      }
    }
    return try reading.query(statements.records[table].findSame[group], parameters).texts
  }

  package func positions(_ side: RecordList.Side, _ mark: String, in list: RecordList, limit: Int) throws
    -> [(
      id: String, position: String
    )]
  {
    let statements = PostgresListStatements(list: list, relation: layout.relations[list.table])
    guard let parameters = statements.parameters(PostgresParameters(list.zone, mark, Int64(limit)))
    else { return [] }
    let rows = try reading.query(statements.near(side), parameters)
    return rows.indices.map { (rows.text($0, 0), rows.text($0, 1)) }
  }

  package func probe(_ text: String) throws {
    // A row that no other transaction writes: a node that hangs in its probe keeps no other node waiting.
    let key = "probe \(transaction)"
    try connection.pipeline { pipe in
      pipe.send(Self.addProbe, PostgresParameters(key, text))
      pipe.send(Self.dropProbe, PostgresParameters(key))
    }
  }

  package func meaning(of error: any Error) -> StoreFailure {
    if error is EpochBlocked { return .blocked }
    guard let error = error as? PostgresError else { return .other }
    if error.code == .diskFull { return .full }
    if error.code == .lockNotAvailable { return .blocked }
    // A cancelled statement says nothing about what it was to write. Nor does an internal error, such as of a row of the catalog that another
    // session changes at the same moment; inside a function, the team may raise it.
    let isInternal = error.code == .internalError && error.severity != nil && error.context == nil
    if error.isTransient || error.isInterruption || isInternal { return .transient }
    // Among others a revoked privilege, or row-level security. Inside a function, the team may intend the refusal.
    if error.isMisfit { return .denied }
    // A function that raises the code of a cancelled statement does so again.
    if error.isUnavailability, error.code != .queryCanceled {
      // Inside a function, the failure may concern only one command.
      return error.context == nil ? .unavailable : .transient
    }
    // A broken row of Holdfast's own is no fault of what is written: `doctor` names it.
    if error.code.isConstraint, error.context == nil, isOwn(error.table, in: error.schema) { return .other }
    // Retries cannot help. A team's trigger may raise any code.
    return error.severity == nil ? .other : .rule(Self.rule(error))
  }

  /// Whether a table is one of Holdfast's own that has no records of the schema.
  private func isOwn(_ table: String?, in schema: String?) -> Bool {
    guard schema == "holdfast", let table, PostgresTables.ownNames.contains(table) else { return false }
    return !layout.relations.contains { $0.name.replacing("\"", with: "") == "holdfast.\(table)" }
  }

  /// The rule that was broken: names of the database, and none of its values.
  private static func rule(_ error: PostgresError) -> String {
    let parts = [("constraint", error.constraint), ("column", error.column), ("table", error.table)]
    return "SQLSTATE \(error.code)"
      + parts.compactMap { kind, name in name.flatMap { $0.isEmpty ? nil : ", \(kind) \($0)" } }.joined()
  }

  package func close() throws {
    isInTransaction = false
    opened?.close()
    opened = nil
  }
}
