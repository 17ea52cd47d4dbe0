import HoldfastConcurrency
import HoldfastCore
import HoldfastPostgres
import HoldfastService
import HoldfastSystem

/// Compares the database with what it has confirmed to this server, at each new connection. A failover, or a restore under a running
/// server, ends the existing connections. docs/RESTORING.md, section 6.
final class PostgresHistoryWatch: Sendable {
  private static let findNext: PostgresStatement = """
    SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
      (SELECT value FROM holdfast.meta WHERE key = 'epoch'), pg_is_in_recovery()
    """
  /// An attempt to begin an epoch that a lock of another transaction has ended.
  private struct Blocked {
    let error: PostgresError
    /// Until when no other attempt blocks the writes of all nodes.
    let rest: MonotonicTime
  }

  /// Whether a server watches, and no other tool.
  var isServing: Bool { service != nil }

  private static let rest = Duration.seconds(1)

  private let location: PostgresLocation
  private let service: DatabaseService?
  let confirmed = ConfirmedTransactions()
  private let blocked = Locked<Blocked?>(nil)

  /// - Parameter service: how the server opens the database; nil for other tools, which compare nothing.
  init(_ location: PostgresLocation, _ service: DatabaseService?) {
    self.location = location
    self.service = service
  }

  /// Begins a new epoch if the database is not the one that was served, or has lost confirmed transactions.
  ///
  /// - Parameter connection: a new connection.
  /// - Throws: the database's error; `cannotConnectNow` for a standby, or if an epoch can't begin in the database of the connection;
  ///   `lockNotAvailable` if another transaction is in the way.
  func check(_ connection: PostgresConnection) throws(PostgresError) {
    guard let service else { return }
    do {
      guard try difference(connection) != nil else { return }
      if try PostgresIdentity.isBeingRestored(connection) {
        throw PostgresError(.cannotConnectNow, PostgresIdentity.beingRestored, while: .connecting)
      }
      if let blocked = blocked.withLock({ $0 }), .now < blocked.rest { throw blocked.error }
      let direct = try location.connectDirectly(.opens)
      defer { direct.close() }
      do { try takeUp(direct, service) } catch let error as PostgresError
        where error.code == .lockNotAvailable
      {
        try direct.execute("ROLLBACK")
        service.log(EpochBlocked(on: direct).description)
        blocked.withLock { $0 = Blocked(error: error, rest: .now + Self.rest) }
        throw error
      }
      if try difference(connection) != nil {
        throw PostgresError(
          .cannotConnectNow, "The database is not the one that --database-direct leads to.",
          while: .connecting)
      }
    } catch let error as PostgresError {
      throw error
    } catch {
      // The database has no epoch; each transaction reports that.
      service.log("The history of the database can't be compared: \(error)")
    }
  }

  private func takeUp(_ direct: PostgresConnection, _ service: DatabaseService) throws {
    try direct.execute(
      """
      BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '\(PostgresEpoch.patience)';
      SELECT pg_advisory_xact_lock(\(PostgresLock.opening.rawValue))
      """)
    // Another server may have begun the epoch.
    guard let found = try difference(direct) else { return }
    let notice = try PostgresIdentity(direct).takeUp(
      found, service, on: direct)
    try direct.execute("COMMIT")
    service.log(notice)
  }

  /// How the database differs from the one that was served; nil if it does not.
  func difference(
    _ connection: PostgresConnection
  ) throws(PostgresError) -> PostgresIdentity.Difference? {
    let last = confirmed.last
    let rows = try connection.queryOnce(Self.findNext)
    if rows.bool(0, 2) {
      throw PostgresError(.cannotConnectNow, "The database is a standby.", while: .connecting)
    }
    let (next, epoch) = (rows.int64(0, 0), rows.optionalText(0, 1))
    if confirmed.areLost(last, next: next, in: epoch) {
      // The files were restored. Another server may have written to them since.
      return PostgresIdentity.Difference(
        text: "It has lost what it had confirmed to this server.", isForkKnown: false)
    }
    return try PostgresIdentity(connection).difference(connection)
  }
}
