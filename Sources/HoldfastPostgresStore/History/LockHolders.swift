import HoldfastPostgres

/// The transactions that hold locks of a database for longer than a moment. Of sessions of other roles it may be unknown how long.
enum LockHolders {
  /// - Parameters:
  ///   - locks: the condition for the rows `l` of `pg_locks`.
  ///   - connection: a connection outside of a transaction.
  /// - Returns: a sentence that begins with a space; empty if nobody is known.
  static func sentence(of locks: String, on connection: PostgresConnection) -> String {
    let find = PostgresStatement(
      """
      SELECT DISTINCT coalesce('process ' || a.pid::text || coalesce(' of ' || a.usename::text, '')
          || coalesce(' (' || nullif(a.application_name, '') || ')', ''),
        'the prepared transaction ' || quote_literal(p.gid) || ' of ' || p.owner::text)
      FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
      LEFT JOIN pg_prepared_xacts p ON l.pid IS NULL AND l.virtualtransaction = '-1/' || p.transaction::text
      WHERE l.granted AND l.pid IS DISTINCT FROM pg_backend_pid() AND l.mode <> 'AccessShareLock'
        AND (a.pid IS NOT NULL OR p.gid IS NOT NULL)
        AND coalesce(a.xact_start, p.prepared, '-infinity') < clock_timestamp() - interval '1 s'
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND (\(locks))
      """)
    let holders = (try? connection.queryOnce(find))?.texts ?? []
    return holders.isEmpty ? "" : " They have been held for longer by \(holders.joined(separator: ", "))."
  }
}
