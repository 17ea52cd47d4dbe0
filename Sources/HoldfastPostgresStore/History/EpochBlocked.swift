import HoldfastPostgres

/// Another transaction holds what a new epoch needs. The attempt has ended, so that nodes write again.
struct EpochBlocked: Error, CustomStringConvertible {
  let description: String

  /// The sessions that hold locks on the tables that an epoch changes, and not only for a moment. Of sessions of other roles it may be unknown
  /// how long.
  private static let findHolders = PostgresStatement(
    """
    SELECT DISTINCT a.pid::text || coalesce(' of ' || a.usename::text, '') || coalesce(' (' || nullif(a.application_name, '') || ')', '')
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.granted AND l.pid <> pg_backend_pid() AND l.mode <> 'AccessShareLock'
      AND (a.xact_start IS NULL OR a.xact_start < clock_timestamp() - interval '1 s')
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND (l.relation IN (SELECT c.oid FROM pg_class c WHERE c.relnamespace = 'holdfast'::regnamespace)
        OR l.locktype = 'advisory' AND l.objsubid = 1 AND (l.classid::bigint << 32 | l.objid::bigint) = \(PostgresLock.epoch.rawValue))
    """)

  /// - Parameter connection: a connection outside of a transaction, for the question who is in the way.
  init(on connection: PostgresConnection) {
    let holders = (try? connection.queryOnce(Self.findHolders))?.texts ?? []
    let names =
      holders.isEmpty
      ? "" : " Process \(holders.joined(separator: ", ")) of the database has held them for longer."
    description = """
      A new epoch waits for the locks of another transaction, and could not begin within \(PostgresEpoch.patience).\(names) End that \
      transaction, or wait for its end: https://www.postgresql.org/docs/current/functions-admin.html, pg_terminate_backend.
      """
  }
}
