import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// Epochs in SQLite: docs/RESTORING.md, section 3.
enum SQLiteEpoch {
  /// The history in the connection's transaction.
  static func history(on connection: SQLiteConnection) throws -> History {
    let rows = try connection.rows("SELECT key, value FROM holdfast_meta WHERE key IN (\(History.keys))")
    return try history(rows.map { ($0[0].text ?? "", $0[1].text ?? "") })
  }

  static func history(_ rows: [(String, String)]) throws -> History {
    guard let history = History(meta: TextMap(rows, uniquingKeysWith: { first, _ in first })) else {
      throw ServerError(.damaged, "The database has no epoch: it is damaged. Restore it from a backup.")
    }
    return history
  }

  /// The prover of a database. Creates its key if there is none.
  static func prover(on connection: SQLiteConnection, random: (Int) -> [UInt8]) throws -> Prover {
    let find = "SELECT key FROM holdfast_keys WHERE name = 'proofs'"
    if let key = try connection.value(find)?.blob, key.count == Prover.keySize { return Prover(key: key) }
    let key = random(Prover.keySize)
    try connection.run(
      "INSERT OR REPLACE INTO holdfast_keys (name, key) VALUES ('proofs', ?)", [.blob(key)])
    return Prover(key: key)
  }

  /// Begins an epoch, in the connection's transaction or in its own.
  ///
  /// - Parameter current: see `StoreWriter.beginEpoch`.
  /// - Returns: the new history; nil if nothing was done.
  static func begin(
    _ epoch: NewEpoch, after current: String? = nil, _ schema: SyncSchema, on connection: SQLiteConnection
  ) throws -> History? {
    if connection.isInTransaction { return try write(epoch, current, schema, connection) }
    return try connection.transaction(.immediate) { try write(epoch, current, schema, connection) }
  }

  private static func write(
    _ epoch: NewEpoch, _ current: String?, _ schema: SyncSchema, _ connection: SQLiteConnection
  ) throws -> History? {
    let before = try history(on: connection)
    if let current, current != before.epoch { return nil }
    for (key, value) in before.meta(of: epoch) {
      try connection.run(
        "INSERT OR REPLACE INTO holdfast_meta (key, value) VALUES (?, ?)", [.text(key), .text(value)])
    }
    // No server has served a restored database yet.
    if [.restored, .commanded].contains(epoch.reason) {
      try connection.run("DELETE FROM holdfast_meta WHERE key = 'run'")
    }
    try connection.execute(
      """
      UPDATE holdfast_zones SET restored = seq;
      DELETE FROM holdfast_acks WHERE lost = 0;
      UPDATE holdfast_acks SET epoch = '', seq = 0, purged = 0;
      UPDATE holdfast_devices SET unseen_since_restore = 1;
      DELETE FROM holdfast_recovered_records;
      DELETE FROM holdfast_claimed_seqs;
      DELETE FROM holdfast_zone_claims;
      INSERT INTO holdfast_recovered_records (zone, record_table, id, base, rev, seq, deleted)
      SELECT zone, record_table, id, rev, 0, seq, 1 FROM holdfast_tombstones;
      """)
    for table in schema.tables {
      try connection.run(
        """
        INSERT OR REPLACE INTO holdfast_recovered_records (zone, record_table, id, base, rev, seq, deleted)
        SELECT zone, ?, id, rev, 0, seq, 0 FROM "\(table.name)"
        """, [.text(table.name)])
    }
    return try history(on: connection)
  }
}
