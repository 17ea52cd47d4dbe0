package import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

/// The store in PostgreSQL: docs/POSTGRES.md, section 2. What the rules change is kept in memory and written at the end.
package final class PostgresStore: StoreWriter {
  /// How a store meets what somebody else has locked.
  package enum Lane: Sendable {
    /// Commands that would have to wait are left to the slow lane.
    case fast
    /// Waits, a second at a time.
    case slow
  }

  package let schema: SyncSchema
  package let layout: PostgresLayout
  package let lane: Lane
  /// Who this server is among those on the database.
  package let node: String
  package private(set) var tables: [any RecordTable] = []
  package private(set) lazy var tombstones: any TombstoneTable = PostgresTombstones(self)
  private(set) lazy var zoneTable = PostgresZones(self)
  private(set) lazy var deviceTable = PostgresDevices(self)
  private(set) lazy var accountTable = PostgresAccounts(self)
  private(set) lazy var requestTable = PostgresRequests(self)
  package private(set) lazy var results: any ResultTable = PostgresResults(self)
  package private(set) lazy var purging: any PurgeTable = PostgresPurgeTable(self)
  package private(set) lazy var invitations: any InvitationTable = PostgresInvitations(self)
  private(set) lazy var consentTable = PostgresConsents(self)
  package private(set) lazy var recovery: any RecoveryTable = PostgresRecovery(self)
  /// How it reaches the tables.
  package private(set) lazy var writing: any PostgresWriting =
    layout.isDistributed ? PostgresShardWriting(self) : PostgresWholeWriting(self)
  package var zones: any ZoneTable { zoneTable }
  package var consents: any ConsentTable { consentTable }
  package var devices: any DeviceTable { deviceTable }
  package var accounts: any AccountTable { accountTable }
  package var requests: any RequestTable { requestTable }
  /// The indexes of the built-in table `members`, and of its columns.
  package let members: Int
  let memberUser: Int
  let memberRole: Int
  let memberGroup: Int
  let memberInviter: Int

  var working = PostgresWorkingSet()
  /// The lists of what has changed.
  package var lists: PostgresLists
  /// Zones that the transaction makes.
  var zonesMade: [String] = []
  /// How many of them are in the database already.
  var zonesWritten = 0
  /// Zones whose seq moved.
  var zonesMoved: [(zone: String, seq: Int64, counts: ZoneCounts, clock: Int64)] = []
  package private(set) var clockSeen = Stamp.zero
  package private(set) var history: History
  private let known: KnownHistory
  package var prover: Prover { known.prover }
  package let statements: PostgresStatements
  /// The transaction at work.
  package var transaction: Int64 = 0
  private let confirmed: @Sendable (Int64, String) -> Void
  private let open: () throws(PostgresError) -> PostgresConnection
  private let openDirectly: () throws(PostgresError) -> PostgresConnection
  private var opened: PostgresConnection?
  private var isCareful = false
  /// How much there was to take back when the part began.
  private var part = Part()

  private struct Part {
    var zonesMade = 0
    var losses = 0
    var roles: [PostgresZones.Membership: Role?] = [:]
    var left: [PostgresZones.Membership: Bool] = [:]
  }

  private static let savepoint: PostgresStatement = "SAVEPOINT change_set"
  private static let release: PostgresStatement = "RELEASE SAVEPOINT change_set"
  private static let undo: PostgresStatement = "ROLLBACK TO SAVEPOINT change_set"
  private static let check: PostgresStatement = "SET CONSTRAINTS ALL IMMEDIATE"
  private static let uncheck: PostgresStatement = "SET CONSTRAINTS ALL DEFERRED"

  /// - Parameters:
  ///   - confirmed: is told each transaction that was committed, and its epoch.
  ///   - openDirectly: makes a connection for what no request does.
  ///   - open: makes a connection; called again when one was lost.
  package init(
    _ schema: SyncSchema, _ known: KnownHistory, layout: PostgresLayout, lane: Lane, node: String,
    confirmed: @escaping @Sendable (Int64, String) -> Void,
    openDirectly: @escaping () throws(PostgresError) -> PostgresConnection,
    open: @escaping () throws(PostgresError) -> PostgresConnection
  ) {
    self.schema = schema
    self.known = known
    history = known.now
    lists = PostgresLists(schema)
    self.layout = layout
    self.lane = lane
    self.node = node
    self.confirmed = confirmed
    self.open = open
    self.openDirectly = openDirectly
    statements = PostgresStatements(schema, layout, lane)
    guard let members = schema.index(of: TableSchema.members.name),
      let user = TableSchema.members.index(of: "user"),
      let role = TableSchema.members.index(of: "role"), let group = TableSchema.members.index(of: "group"),
      let inviter = TableSchema.members.index(of: TableSchema.inviterColumn)
    else { preconditionFailure("Every schema has the built-in tables.") }
    (self.members, memberUser, memberRole, memberGroup, memberInviter) = (members, user, role, group, inviter)
    tables = schema.tables.indices.map { PostgresRecordTable($0, self) }
  }

  /// The connection, made when there is none.
  package var connection: PostgresConnection {
    get throws(PostgresError) {
      if let opened, opened.isUsable { return opened }
      let connection = try open()
      opened = connection
      return connection
    }
  }

  package func latestClock() throws -> Stamp { try writing.latestClock() }

  package func begin(_ footprints: [Footprint], isCareful: Bool) throws -> Set<Int> {
    do { return try start(footprints, isCareful: isCareful) } catch let error as PostgresError {
      // The database may have been started again since the last use. Nothing was written yet.
      guard error.isConnectionLost, opened != nil else { throw error }
      rollBack()
      return try start(footprints, isCareful: isCareful)
    }
  }

  private func start(_ footprints: [Footprint], isCareful: Bool) throws -> Set<Int> {
    working.removeAll()
    lists.removeAll()
    zonesMade.removeAll(keepingCapacity: true)
    zonesWritten = 0
    zonesMoved.removeAll(keepingCapacity: true)
    zoneTable.begin()
    consentTable.begin()
    accountTable.begin()
    deviceTable.begin()
    requestTable.begin()
    part = Part()
    self.isCareful = isCareful
    let waiting = try writing.fetch(footprints)
    clockSeen = Stamp(rawValue: zoneTable.known.values.compactMap { $0?.clock }.max() ?? 0)
    return waiting
  }

  /// Takes what the transaction has read of the history.
  func learn(history rows: PostgresRows) throws(PostgresError) {
    // A database without an epoch is not opened.
    guard let history = try? PostgresEpoch.history(rows) else { return }
    self.history = history
    known.see(history)
  }

  package func beginEpoch(_ epoch: NewEpoch, after current: String?) throws -> Bool {
    // It changes all zones: on shards no statement of a request does.
    let connection = try openDirectly()
    defer { connection.close() }
    guard let begun = try PostgresEpoch.begin(epoch, after: current, on: connection) else { return false }
    history = begun
    known.see(begun)
    return true
  }

  package func commit(announcing changes: ZoneChanges) throws {
    try writing.write(andCommit: changes)
    confirmed(transaction, history.epoch)
  }

  package func rollBack() {
    guard let opened else { return }
    // Outside of a transaction it has no effect but to clear what was wrong with its values.
    if opened.isUsable, (try? opened.execute("ROLLBACK")) != nil { return }
    opened.close()
    self.opened = nil
  }

  package func beginPart() throws {
    working.beginPart()
    part = Part(
      zonesMade: zonesMade.count, losses: deviceTable.losses.count, roles: zoneTable.changed,
      left: consentTable.changed)
    if isCareful { try connection.run(Self.savepoint) }
  }

  package func settle(unless isBlocked: () throws -> Bool) throws {
    if isCareful, try !isBlocked() { try writing.write(andCommit: nil) }
  }

  package var blamesParts: Bool { isCareful }

  package let hasEnded = false

  package func keepPart() throws {
    guard isCareful else { return }
    // What is checked at the commit is checked now, while it is known whose fault it is.
    try connection.pipeline { pipe in
      for statement in [Self.check, Self.uncheck, Self.release] { pipe.send(statement) }
    }
  }

  package func undoPart() throws {
    working.undoPart()
    lists.removeAll()
    zonesMade.removeLast(zonesMade.count - part.zonesMade)
    zonesWritten = min(zonesWritten, part.zonesMade)
    zoneTable.changed = part.roles
    consentTable.changed = part.left
    deviceTable.losses.removeLast(deviceTable.losses.count - part.losses)
    if isCareful {
      try connection.pipeline { pipe in
        for statement in [Self.undo, Self.release] { pipe.send(statement) }
      }
    }
  }

  package func probe(_ text: String) throws {
    try connection.run(
      """
      INSERT INTO holdfast.meta (key, value) VALUES ('probe', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value
      """, PostgresParameters(text))
  }

  package func meaning(of error: any Error) -> StoreFailure {
    guard let error = error as? PostgresError else { return .other }
    if error.code == .diskFull { return .full }
    if error.isTransient || writing.isLateLock(error) { return .transient }
    // Rights that were taken away, row-level security that was switched on. In a function it is the team's, who may mean to forbid it.
    if error.code == .insufficientPrivilege, error.context == nil { return .denied }
    // A statement that is stopped again, alone and prepared again, takes too long by itself.
    if error.isUnavailability, error.code != .queryCanceled {
      // Inside a function it may be of one command alone.
      return error.context == nil ? .unavailable : .transient
    }
    // What no retry heals; a trigger of the team raises any code.
    return error.severity == nil ? .other : .rule("SQLSTATE \(error.code)")
  }

  package func close() throws {
    opened?.close()
    opened = nil
  }
}
