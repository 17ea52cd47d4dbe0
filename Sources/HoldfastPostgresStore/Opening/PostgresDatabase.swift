package import HoldfastCore
import HoldfastPostgres
package import HoldfastService

/// The server's database in PostgreSQL: opens and checks it, and opens connections.
package struct PostgresDatabase: ServerDatabase {
  package let location: PostgresLocation
  package let schema: SyncSchema
  package let known: KnownHistory
  package let layout: PostgresLayout
  package var readerCount: Int? { location.readers }
  /// On shards, zones are mostly independent: many concurrent transactions with one command each. In a single database: few large
  /// transactions.
  package var writers: (count: Int, batch: Int) { layout.isDistributed ? (16, 1) : (1, .max) }
  /// The id of this server among those on the database.
  package let node: String
  private let readers: PostgresPool<PostgresReader>
  private let mismatches = PostgresMismatches()
  private let watch: PostgresHistoryWatch

  /// Opens the database. Creates or migrates it for `schema`.
  ///
  /// - Parameters:
  ///   - schema: the schema to serve; nil for the stored one.
  ///   - removals: the treatment of tables and columns that `schema` lacks.
  ///   - service: how the server opens the database; nil for other tools.
  ///   - random: creates the epoch of a new database.
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
    try readers.withConnection { _, reader in
      reader.begin()
      return try body(reader)
    }
  }

  package func listen(mayLead: Bool, _ receive: @escaping @Sendable (Notification) -> Void) throws -> (
    any NotificationListener
  )? {
    try PostgresListener(location, watch, node: node, mayLead: mayLead, receive)
  }

  package func inTurn(_ body: () throws -> Void) throws {
    let connection = try location.connectDirectly(.purges)
    // Closing the connection releases the lock.
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
