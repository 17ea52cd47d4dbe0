package import HoldfastCore
import HoldfastPostgres
package import HoldfastService

/// The reader that this thread has for several requests.
///
/// @unchecked Sendable: used by the thread alone that has borrowed the reader.
private final class SharedReader: @unchecked Sendable {
  @TaskLocal static var current: SharedReader?

  let reader: PostgresReader

  init(_ reader: PostgresReader) { self.reader = reader }

  /// Lends it to one of the requests.
  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
    let connection = reader.connection
    reader.begin()
    do {
      let result = try body(reader)
      try connection.checkValues()
      return result
    } catch {
      // The next is to find a connection without a transaction, and nothing wrong with its values.
      if connection.transactionStatus != .idle { try? connection.execute("ROLLBACK") }
      try? connection.checkValues()
      throw error
    }
  }
}

/// The server's database in PostgreSQL: opens and checks it, and opens connections.
package struct PostgresDatabase: ServerDatabase {
  package let location: PostgresLocation
  package let schema: SyncSchema
  package let known: KnownHistory
  package let layout: PostgresLayout
  package var readerCount: Int? { location.readers }
  /// The id of this server among those on the database.
  package let node: String
  private let readers: PostgresPool<PostgresReader>
  /// Interrupts what reads.
  private let interruption: PostgresWaker
  private let mismatches = PostgresMismatches()
  private let watch: PostgresHistoryWatch
  private let cache = PostgresReadCache()

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
    var reporting = location
    reporting.slow = service?.slow
    let location = reporting
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
    let parts = PartCache()
    let isRepeatable = location.readsRepeatably
    let statements = PostgresRecordStatements(opened.schema, opened.layout, isPooled: !isRepeatable)
    let watch = PostgresHistoryWatch(location, service)
    self.watch = watch
    interruption = try PostgresWaker()
    var options = location.options(.reads)
    options.interruption = interruption
    readers = PostgresPool(location.url, options: options, limits: limits) { [cache] in
      try location.prepare($0)
      if location.direct != nil { try PoolerSettings.require(on: $0) }
      try watch.check($0)
      try location.prepareReads(of: $0)
      // Each connection of a pooler leads to server processes of its own, and outlives them.
      let cache = isRepeatable ? cache : PostgresReadCache(limit: 20_000)
      try cache.open($0, known)
      return PostgresReader(
        $0, known, feed, statements, collections, parts, cache, isRepeatable: isRepeatable)
    }
  }

  package func store() throws -> any StoreWriter { store(.fast, .writes) }

  package func slowStore() throws -> (any StoreWriter)? { store(.slow, .waits) }

  package func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
    if let shared = SharedReader.current, shared.reader.connection.isUsable { return try shared.read(body) }
    return try readers.withConnection { _, reader in
      defer { reader.end() }
      return try body(reader)
    }
  }

  package func readConsole<Result>(_ body: (any ConsoleReader) throws -> Result) throws -> Result {
    try readers.withConnection { _, reader in try body(PostgresConsoleReader(reader.connection)) }
  }

  package func together(_ lookUps: [LookUp], _ body: () -> Void) {
    var isDone = false
    // Where looking up fails, each request finds out for itself.
    _ = try? readers.withConnection { _, reader in
      defer { reader.end() }
      try reader.lookUp(lookUps)
      isDone = true
      SharedReader.$current.withValue(SharedReader(reader), operation: body)
    }
    if !isDone { body() }
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
    // A lost right, or row-level security.
    return error.isTransient || error.isUnavailability || error.code == .insufficientPrivilege
  }

  package func isInterrupted(_ error: any Error) -> Bool { (error as? PostgresError)?.code == .queryCanceled }

  package func reportMismatches(_ log: @escaping @Sendable (String) -> Void) { mismatches.tell(log) }

  package func interruptReads() {
    interruption.wake()
    readers.close()
  }

  package func close() { readers.close() }

  package func report(of schema: SyncSchema) throws -> SchemaReport {
    try SchemaFit.report(of: schema, in: location)
  }

  package func administration() throws -> any StoreAdministration {
    let store = store(.slow, .administers)
    return PostgresAdministration(store, schema, layout)
  }

  private func store(_ lane: PostgresStore.Lane, _ purpose: PostgresLocation.Purpose) -> PostgresStore {
    let options = location.options(purpose)
    let isCached = lane == .fast && location.direct == nil
    return PostgresStore(
      schema, known, layout: layout, lane: lane, node: node, isTool: !watch.isServing,
      memoryLife: location.memoryLife, cache: isCached ? cache : nil, confirmed: watch.confirmed,
      openDirectly: { [location] () throws(PostgresError) in try location.connectDirectly(.opens) }
    ) { [location, watch, cache, known] () throws(PostgresError) in
      // Operators ask for what no pooler's connection has the settings for.
      if purpose == .administers, location.direct != nil { return try location.connectDirectly(purpose) }
      let connection = try PostgresConnection(location.url, options: options)
      try location.prepare(connection)
      try watch.check(connection)
      if isCached { try cache.open(connection, known) }
      return connection
    }
  }
}
