import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

/// Epochs in PostgreSQL: docs/RESTORING.md, section 3.
///
/// Each transaction of the service holds a shared lock, which the beginning of an epoch takes exclusively. Each transaction is thus in one
/// epoch as a whole, on every node.
package enum PostgresEpoch {
  /// Takes the shared lock until the end of the transaction.
  package static let share = PostgresStatement(
    "SELECT pg_advisory_xact_lock_shared(\(PostgresLock.epoch.rawValue))")
  /// Selects the rows for `history(_:)`.
  package static let find = PostgresStatement(
    "SELECT key, value FROM holdfast.meta WHERE key IN (\(History.keys))")

  /// Selects the rows for `current(_:on:)`. Writing transactions must run it after `share`, as a separate statement.
  ///
  /// - Parameter timeline: see `PostgresIdentity`.
  static func findCurrent(timeline: String?) -> PostgresStatement {
    PostgresStatement("\(find.sql) UNION ALL \(PostgresIdentity.findForeign(timeline: timeline))")
  }

  package static func history(_ rows: PostgresRows) throws(ServerError) -> History {
    guard let history = History(meta: meta(rows)) else {
      throw ServerError(.damaged, "The database has no epoch: it is damaged. Restore it from a backup.")
    }
    return history
  }

  private static func meta(_ rows: PostgresRows) -> TextMap<String> {
    TextMap(
      rows.indices.map { (rows.text($0, 0), rows.text($0, 1)) }, uniquingKeysWith: { first, _ in first })
  }

  /// The history for a transaction or an answer, which must not be of a database that was put back or promoted while its connection was open.
  ///
  /// - Throws: an error of a lost connection, which is given up. The next connection begins a new epoch.
  static func current(_ rows: PostgresRows, on connection: PostgresConnection) throws(PostgresError)
    -> History
  {
    let meta = meta(rows)
    guard meta["foreign"] == nil, let history = History(meta: meta) else {
      throw giveUp(connection)
    }
    return history
  }

  /// Gives up a connection to a database that was put back.
  ///
  /// - Returns: the error of a lost connection.
  static func giveUp(_ connection: PostgresConnection) -> PostgresError {
    connection.giveUp()
    return PostgresError(.connectionLost, replaced, while: .running)
  }

  /// What an operator reads whose command finds such a database.
  static let replaced = """
    The database was put back since it was served. A new epoch must begin before anything is written to it: start a server, or run \
    `holdfast restore --begin-epoch`.
    """

  /// The prover of a database. Creates its key if there is none.
  static func prover(
    on connection: PostgresConnection, random: (Int) -> [UInt8]
  ) throws(PostgresError) -> Prover {
    let find: PostgresStatement = "SELECT key FROM holdfast.keys WHERE name = 'proofs'"
    var rows = try connection.query(find)
    if rows.isEmpty {
      try connection.run(
        "INSERT INTO holdfast.keys (name, key) VALUES ('proofs', $1) ON CONFLICT (name) DO NOTHING",
        PostgresParameters(random(Prover.keySize)))
      rows = try connection.query(find)
    }
    return Prover(key: rows.bytes(0, 0))
  }

  /// How long it waits for a lock. Meanwhile no node writes.
  static let patience = "1s"

  /// Begins an epoch, in the connection's transaction, which must have a lock timeout, or in its own. Notifies nodes and devices.
  ///
  /// - Parameter current: see `StoreWriter.beginEpoch`.
  /// - Returns: the new history; nil if nothing was done.
  /// - Throws: `EpochBlocked` in its own transaction, if another transaction holds a lock for longer than the patience.
  package static func begin(
    _ epoch: NewEpoch, after current: String? = nil, on connection: PostgresConnection
  ) throws -> History? {
    let isOwn = connection.transactionStatus == .idle
    if isOwn {
      try connection.execute(
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '\(patience)'")
    }
    do {
      let history = try write(epoch, current, connection)
      if isOwn { try connection.execute("COMMIT") }
      return history
    } catch {
      guard isOwn else { throw error }
      try? connection.execute("ROLLBACK")
      if (error as? PostgresError)?.code == .lockNotAvailable { throw EpochBlocked(on: connection) }
      throw error
    }
  }

  private static func write(
    _ epoch: NewEpoch, _ current: String?, _ connection: PostgresConnection
  ) throws -> History? {
    try connection.execute("SELECT pg_advisory_xact_lock(\(PostgresLock.epoch.rawValue))")
    let before = try history(connection.query(find))
    if let current, current != before.epoch { return nil }
    for (key, value) in before.meta(of: epoch) {
      try connection.run(
        "INSERT INTO holdfast.meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        PostgresParameters(key, value))
    }
    // The operator knows that the database was restored, so the next start must not detect it again.
    if epoch.reason == .commanded { try PostgresIdentity(connection).store(connection) }
    // The first statement blocks other SQL writers. Everything in the ledger at the last statement is from before the epoch.
    try connection.execute(
      """
      UPDATE holdfast.zones SET restored = seq;
      DELETE FROM holdfast.acks WHERE NOT lost;
      UPDATE holdfast.acks SET epoch = '', seq = 0, purged = 0;
      UPDATE holdfast.devices SET unseen_since_restore = true;
      DELETE FROM holdfast.recovered_records;
      DELETE FROM holdfast.claimed_seqs;
      DELETE FROM holdfast.zone_claims;
      INSERT INTO holdfast.recovered_records (zone, record_table, id, base, rev, seq, deleted)
      SELECT r.zone, r.record_table, r.id, r.rev, 0, r.seq, r.state > 0 FROM holdfast.records r;
      SELECT pg_notify('holdfast', '0 *');
      """)
    return try history(connection.query(find))
  }
}
