import HoldfastPostgres

/// Another transaction holds what a new epoch needs. The attempt has ended, so that nodes write again.
struct EpochBlocked: Error, CustomStringConvertible {
  let description: String

  /// The locks of the tables that an epoch changes, and of those who hold off an epoch.
  private static let locks = """
    l.relation IN (SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'holdfast'::regnamespace)
    OR l.locktype = 'advisory' AND l.objsubid = 1 AND (l.classid::bigint << 32 | l.objid::bigint) = \(PostgresLock.epoch.rawValue)
    """

  /// - Parameter connection: a connection outside of a transaction, for the question who is in the way.
  init(on connection: PostgresConnection) {
    let names = LockHolders.sentence(of: Self.locks, on: connection)
    description = """
      A new epoch waits for the locks of another transaction, and could not begin within \(PostgresEpoch.patience).\(names) End that \
      transaction, or wait for its end: https://www.postgresql.org/docs/current/functions-admin.html, pg_terminate_backend.
      """
  }
}
