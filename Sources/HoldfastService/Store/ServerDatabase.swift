package import HoldfastCore

/// The shared database, opened and fit for the schema; any thread.
package protocol ServerDatabase: Sendable {
  /// The schema in force.
  var schema: SyncSchema { get }
  /// Which history this is, as it was seen last.
  var known: KnownHistory { get }
  /// How many threads may read at the same time, where reading waits for a network, which no HTTP thread may; nil where it does not.
  var readerCount: Int? { get }

  /// How many threads write without waiting for anybody, each over a connection of its own, and how many commands each takes into a
  /// transaction.
  var writers: (count: Int, batch: Int) { get }

  /// A connection that writes.
  func store() throws -> any StoreWriter

  /// A connection that writes, and waits for what somebody else has locked; nil where there is nobody else.
  func slowStore() throws -> (any StoreWriter)?

  /// Lends a connection that only reads, for the time that `body` runs.
  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result

  /// Answers from what is known of the database as it is now, without asking it.
  ///
  /// - Parameter body: gives nil where that is not enough.
  /// - Returns: what `body` gave; nil where nothing can be known, too.
  func recall<Result>(_ body: (any StoreMemory) throws -> Result?) throws -> Result?

  /// Begins to hear what other servers and programs change; nil where there are none.
  ///
  /// - Parameters:
  ///   - mayLead: whether this server wishes to lead.
  ///   - receive: called on a thread of the listener.
  func listen(mayLead: Bool, _ receive: @escaping @Sendable (Notification) -> Void) throws -> (
    any NotificationListener
  )?

  /// Runs `body`, unless another server on the same database runs its own just now.
  func inTurn(_ body: () throws -> Void) throws

  /// Whether a failure of reading may pass.
  func isUnavailable(_ error: any Error) -> Bool

  /// Whether reading failed as it took longer than its limit.
  func isInterrupted(_ error: any Error) -> Bool

  /// Sets where it is told what readers find that contradicts itself, and pass over.
  func tellMismatches(_ log: @escaping @Sendable (String) -> Void)

  /// Closes the connections that read.
  func close()

  /// A connection for operators.
  func administration() throws -> any StoreAdministration
}

extension ServerDatabase {
  /// A database that can't tell whether somebody has written is always asked.
  package func recall<Result>(_ body: (any StoreMemory) throws -> Result?) throws -> Result? { nil }

  package func tellMismatches(_ log: @escaping @Sendable (String) -> Void) {}

  package var history: History { known.now }

  /// The identity of this history: 8 hex digits.
  package var epoch: String { history.epoch }
}

/// A message about the changes of other servers.
package enum Notification: Sendable {
  /// From now on every change arrives.
  case resumed
  /// What was changed.
  case changes(ZoneChanges)
  /// Something may have been missed. Who led leads no longer.
  case interrupted
  /// This server leads: it alone, of those that wish to.
  case leads
}

/// Who hears what others change, until it is stopped.
package protocol NotificationListener: AnyObject, Sendable {
  /// Ends it; once.
  func stop()
}
