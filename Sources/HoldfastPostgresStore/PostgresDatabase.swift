package import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

/// The server's database in PostgreSQL: opened and checked here; connections to it.
package struct PostgresDatabase: ServerDatabase {
  package let location: PostgresLocation
  package let schema: SyncSchema
  package let known: KnownHistory
  package let layout: PostgresLayout
  package var readerCount: Int? { location.readers }
  /// On shards, zones have little to do with each other: many transactions at once, each of one command. In one database, few and large ones.
  package var writers: (count: Int, batch: Int) { layout.isDistributed ? (16, 1) : (1, .max) }
  /// Who this server is among those on the database.
  package let node: String
  private let readers: PostgresPool<PostgresReader>
  private let mismatches = PostgresMismatches()
  private let watch: PostgresHistoryWatch

  /// Opens the database, and makes or extends it for `schema`.
  ///
  /// - Parameters:
  ///   - schema: what to serve; nil takes the one in the database.
  ///   - removals: what becomes of tables and columns that `schema` lacks.
  ///   - service: how it is served; nil for who only works on it.
  ///   - random: gives the epoch of a new database.
  /// - Throws: `ServerError`.
  package init(
    _ location: PostgresLocation, schema: SyncSchema?, removals: Removals = .refuse,
    service: DatabaseService? = nil, random: (Int) -> [UInt8]
  ) throws {
    self.location = location
    node = hexadecimal(random(8))
    let opened = try PostgresOpening.open(
      location, schema: schema, removals: removals, service: service, random: random)
    (self.schema, layout) = (opened.schema, opened.layout)
    let known = KnownHistory(opened.history, opened.prover)
    self.known = known
    var limits = PostgresPoolLimits()
    limits.connections = location.readers
    let feed = PostgresChangeFeed(opened.schema, opened.layout, mismatches)
    let collections = PostgresCollections(opened.schema, opened.layout)
    let statements = PostgresRecordStatements(opened.schema, opened.layout)
    let isDistributed = opened.layout.isDistributed
    let watch = PostgresHistoryWatch(location, service)
    self.watch = watch
    readers = PostgresPool(location.url, options: location.options(.reads), limits: limits) {
      try location.prepare($0)
      try watch.check($0)
      try location.limitTime(of: $0)
      return isDistributed
        ? PostgresShardReader($0, known, feed, statements, collections)
        : PostgresReader($0, known, feed, statements, collections)
    }
  }

  package func store() throws -> any StoreWriter { store(.fast) }

  package func slowStore() throws -> (any StoreWriter)? { store(.slow) }

  package func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
    try readers.withConnection { _, reader in try body(reader) }
  }

  package func listen(mayLead: Bool, _ hear: @escaping @Sendable (Notification) -> Void) throws -> (
    any NotificationListener
  )? {
    try PostgresListener(location, watch, node: node, mayLead: mayLead, hear)
  }

  package func inTurn(_ body: () throws -> Void) throws {
    let connection = try location.connectDirectly(.purges)
    // With it goes the lock.
    defer { connection.close() }
    if try PostgresLock.purging.take(over: connection) { try body() }
  }

  package func isUnavailable(_ error: any Error) -> Bool {
    guard let error = error as? PostgresError else { return false }
    return error.isTransient || error.isUnavailability
  }

  package func isInterrupted(_ error: any Error) -> Bool { (error as? PostgresError)?.code == .queryCanceled }

  package func tellMismatches(_ log: @escaping @Sendable (String) -> Void) { mismatches.tell(log) }

  package func close() { readers.close() }

  package func administration() throws -> any StoreAdministration {
    let store = store(.slow)
    return layout.isDistributed
      ? PostgresShardAdministration(store, schema, layout) : PostgresAdministration(store, schema, layout)
  }

  private func store(_ lane: PostgresStore.Lane) -> PostgresStore {
    let options = location.options(lane == .fast ? .writes : .waits)
    return PostgresStore(
      schema, known, layout: layout, lane: lane, node: node,
      confirmed: { [watch] in watch.confirmed($0, in: $1) },
      openDirectly: { [location] () throws(PostgresError) in try location.connectDirectly(.opens) }
    ) { [location, watch] () throws(PostgresError) in
      let connection = try PostgresConnection(location.url, options: options)
      try location.prepare(connection)
      try watch.check(connection)
      return connection
    }
  }
}

/// Where a PostgreSQL database is reached.
public struct PostgresLocation: Sendable {
  /// The database, or a pooler before it, as libpq takes it: `postgres://…` or `host=… dbname=…`.
  public var url: String
  /// The database itself, when `url` names a pooler that lends connections for a transaction; nil when `url` is the database.
  public var direct: String?
  /// Whether the tables are distributed over the nodes of a Citus cluster, by zone.
  public var isDistributed: Bool {
    get { distribution != .none }
    set { distribution = newValue ? .citus : .none }
  }
  /// How the tables are distributed.
  package var distribution = Distribution.none
  /// Is told each statement before it is sent.
  package var onStatement: (@Sendable (String) -> Void)?
  /// How many connections read; as many requests are read at the same time. 8 unless given, at least 1.
  public var readers = 8
  /// How long a statement may read; 10 seconds unless given. Behind a pooler it is for the pooler to say.
  public var readTimeLimit = Duration.seconds(10)

  /// Whether tables are distributed.
  package enum Distribution: Sendable {
    case none
    /// By zone, on a cluster.
    case citus
    /// They have the form that could be distributed, and all lie in one database that knows nothing of it.
    case formAlone
  }

  /// A location of its parts.
  public init(_ url: String, direct: String? = nil) {
    self.url = url
    self.direct = direct
  }

  /// What a connection is for; with "holdfast" before it, its `application_name` in `pg_stat_activity`.
  package enum Purpose: String {
    /// The fast lane.
    case writes
    /// The slow lane, and operators.
    case waits
    case reads
    case listens
    /// Holding the turn of who makes a pass over what may be purged.
    case purges
    /// Making and extending the database.
    case opens
  }

  /// How connections for the work of requests are used.
  package func options(_ purpose: Purpose) -> PostgresOptions {
    var options = PostgresOptions()
    options.preparesStatements = direct == nil
    options.onStatement = onStatement
    options.applicationName = "holdfast \(purpose)"
    return options
  }

  /// Makes a connection's prepared statements fit for tables that grow: each is planned once, perhaps when its tables are still empty, and all
  /// of them look rows up by keys.
  ///
  /// A pooler's connection is left alone: its statements are planned at each use. So is that to a cluster, whose coordinator plans for the
  /// shards of the values that are given.
  package func prepare(_ connection: PostgresConnection) throws(PostgresError) {
    guard direct == nil, !isDistributed else { return }
    try connection.execute(
      """
      SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
      SET enable_mergejoin = off; SET jit = off
      """)
  }

  /// Lets no statement of a connection run for longer than reading may take.
  func limitTime(of connection: PostgresConnection) throws(PostgresError) {
    guard direct == nil else { return }
    let (seconds, attoseconds) = readTimeLimit.components
    let milliseconds = min(max(seconds, 0), 86_400) * 1000 + attoseconds / 1_000_000_000_000_000
    try connection.execute("SET statement_timeout = \(milliseconds)")
  }

  /// A connection to the database itself, for what lasts longer than a transaction.
  package func connectDirectly(_ purpose: Purpose) throws(PostgresError) -> PostgresConnection {
    var options = options(purpose)
    options.preparesStatements = true
    // Who makes or changes the tables asks all shards, one statement after the other.
    if purpose == .opens { options.onStatement = nil }
    let connection = try PostgresConnection(direct ?? url, options: options)
    // Whatever the database or the role has set: the names that the catalog writes are compared with those of before, texts in checks are
    // written with single backslashes, and no row is hidden without an error.
    try connection.execute(
      "SET quote_all_identifiers = off; SET standard_conforming_strings = on; SET row_security = off")
    return connection
  }
}

extension PostgresError {
  /// Whether the database can't be had now, and may be later. What a server says while a connection is made is that too: that it
  /// starts, stops or recovers, and what an operator has to put right.
  ///
  /// A table or column that is not there has another name since another node was started with a newer schema: this one is to be started again.
  /// In a function of the team's it is the team's mistake.
  var isUnavailability: Bool {
    isConnectionLost || action == .connecting || action == .borrowing || code == .readOnlyTransaction
      || ["08", "53", "57", "58", "72"].contains(code.classCode) || isDamage
      || context == nil && (code == .undefinedTable || code == .undefinedColumn)
  }

  private var isDamage: Bool { code.rawValue == "XX001" || code.rawValue == "XX002" }
}
