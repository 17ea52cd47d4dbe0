package import HoldfastCore

/// The shared database, opened and migrated to the schema. Safe on any thread.
package protocol ServerDatabase: Sendable {
  /// The schema in force.
  var schema: SyncSchema { get }
  /// The history that this process last saw.
  var known: KnownHistory { get }
  /// The number of reader threads if reads wait for a network, which HTTP threads must not do; nil if they do not.
  var readerCount: Int? { get }

  /// A new connection for writing in the fast lane.
  func store() throws -> any StoreWriter

  /// A new connection for the slow lane, which waits for locks; nil if the database has no other writers.
  func slowStore() throws -> (any StoreWriter)?

  /// Lends a read-only connection to `body`.
  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result

  /// Answers requests that have come together: what they ask for first is read at once, and lent to what `body` reads on this thread.
  func together(_ lookUps: [LookUp], _ body: () -> Void)

  /// Answers from what is known of the database as it is now, without asking it.
  ///
  /// - Parameter body: gives nil where that is not enough.
  /// - Returns: what `body` gave; nil where nothing can be known, too.
  func recall<Result>(_ body: (any StoreMemory) throws -> Result?) throws -> Result?

  /// Starts listening to changes by other servers and programs; nil if the database has no other writers.
  ///
  /// - Parameters:
  ///   - mayLead: whether this server takes part in the leader election.
  ///   - receive: called on the listener's thread.
  func listen(mayLead: Bool, _ receive: @escaping @Sendable (Notification) -> Void) throws -> (
    any NotificationListener
  )?

  /// Runs `body`, unless another server on the same database is running its own at this moment.
  func inTurn(_ body: () throws -> Void) throws

  /// Whether a failed read may succeed later.
  func isUnavailable(_ error: any Error) -> Bool

  /// Whether a read failed because it exceeded its time limit.
  func isInterrupted(_ error: any Error) -> Bool

  /// Sets the log for inconsistent data that readers skip.
  func reportMismatches(_ log: @escaping @Sendable (String) -> Void)

  /// Makes running reads fail soon, and later ones as far as they take long. Nobody waits for them any more.
  func interruptReads()

  /// Closes the read-only connections.
  func close()

  /// Lends a read-only connection to `body` for the operators' console.
  func readConsole<Result>(_ body: (any ConsoleReader) throws -> Result) throws -> Result

  /// The effects of a start with another schema.
  func report(of schema: SyncSchema) throws -> SchemaReport

  /// A connection for operators.
  func administration() throws -> any StoreAdministration
}

extension ServerDatabase {
  /// A database without tables of others takes what the schemas allow.
  package func report(of schema: SyncSchema) throws -> SchemaReport {
    SchemaReport(from: self.schema, to: schema)
  }

  /// A database that can't tell whether somebody has written is always asked.
  package func recall<Result>(_ body: (any StoreMemory) throws -> Result?) throws -> Result? { nil }

  package func reportMismatches(_ log: @escaping @Sendable (String) -> Void) {}

  package func together(_ lookUps: [LookUp], _ body: () -> Void) { body() }

  package var history: History { known.now }

  /// The epoch of the current history: 8 hex digits.
  package var epoch: String { history.epoch }
}

/// A notification about changes by other servers.
package enum Notification: Sendable {
  /// Every change from now on is delivered.
  case resumed
  /// Changes by other servers.
  case changes(ZoneChanges)
  /// Changes may have been missed. This server is no longer the leader.
  case interrupted
  /// This server is the only leader.
  case leads
}

/// Listens to changes by other servers until it is stopped.
package protocol NotificationListener: AnyObject, Sendable {
  /// Stops listening. Call it once.
  func stop()
}
