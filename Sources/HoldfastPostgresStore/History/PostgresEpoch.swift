import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

/// The history of a database: docs/RESTORING.md, section 3.
///
/// Each transaction of the service shares a lock that the beginning of an epoch has alone: it is in one epoch as a whole, on whichever node.
package enum PostgresEpoch {
  /// Shares the lock to the end of the transaction.
  package static let share = PostgresStatement(
    "SELECT pg_advisory_xact_lock_shared(\(PostgresLock.epoch.rawValue))")
  /// The rows of `history(_:)`; to be read behind `share`, in a statement of its own, by transactions that write.
  package static let find = PostgresStatement(
    "SELECT key, value FROM holdfast.meta WHERE key IN (\(History.keys))")

  package static func history(_ rows: PostgresRows) throws(ServerError) -> History {
    let meta = rows.indices.map { (rows.text($0, 0), rows.text($0, 1)) }
    guard let history = History(meta: TextMap(meta, uniquingKeysWith: { first, _ in first })) else {
      throw ServerError(.damaged, "The database has no epoch: it is damaged. Restore it from a backup.")
    }
    return history
  }

  /// The prover of a database, whose key is made when there is none.
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

  /// Begins an epoch: in the transaction of the connection, or in one of its own. Nodes and devices are told.
  ///
  /// - Parameter current: see `StoreWriter.beginEpoch`.
  /// - Returns: the history from now on; nil when nothing was done.
  package static func begin(
    _ epoch: NewEpoch, after current: String? = nil, on connection: PostgresConnection
  ) throws -> History? {
    let isOwn = connection.transactionStatus == .idle
    if isOwn { try connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED") }
    do {
      let history = try write(epoch, current, connection)
      if isOwn { try connection.execute("COMMIT") }
      return history
    } catch {
      if isOwn { try? connection.execute("ROLLBACK") }
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
    // The operator knows that it came back: the next start is not to find it by itself.
    if epoch.reason == .commanded { try PostgresIdentity(connection).store(connection) }
    // Whoever writes by SQL waits from the first statement on; what is in the ledger by the last is of before.
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
