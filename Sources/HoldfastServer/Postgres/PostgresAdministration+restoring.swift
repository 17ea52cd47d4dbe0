import HoldfastPostgres

extension PostgresAdministration {
  func begin(_ epoch: NewEpoch) throws { try PostgresEpoch.begin(epoch, on: connection) }

  func restoreReport() throws -> [[String]] {
    try rows(
      """
      SELECT c.zone, coalesce(max(z.restored), 0)::text, max(c.seq)::text,
        count(h.id) FILTER (WHERE NOT h.deleted)::text, count(h.id) FILTER (WHERE h.deleted)::text,
        coalesce(sum(h.rev - h.base) FILTER (WHERE h.rev > h.base), 0)::text
      FROM holdfast.claims c LEFT JOIN holdfast.zones z ON z.zone = c.zone
      LEFT JOIN holdfast.handed h ON h.zone = c.zone AND h.rev > 0 GROUP BY c.zone ORDER BY c.zone
      """
    ).map { row in RestoreLine(row[0], row.dropFirst().map { Int64($0) ?? 0 }).cells }
  }
}

/// Beginning a new epoch: docs/RESTORING.md, section 3.
enum PostgresEpoch {
  /// Begins one, in the transaction of the connection or one of its own.
  static func begin(_ epoch: NewEpoch, on connection: PostgresConnection) throws {
    let isOwn = connection.transactionStatus == .idle
    if isOwn { try connection.execute("BEGIN") }
    do {
      try connection.run(
        """
        INSERT INTO holdfast.meta (key, value) SELECT 'previous_epoch', m.value FROM holdfast.meta m WHERE m.key = 'epoch'
        ON CONFLICT (key) DO UPDATE SET value = excluded.value
        """)
      try connection.run(
        """
        INSERT INTO holdfast.meta (key, value) VALUES ('epoch', $1), ('epoch_began', $2)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value
        """, PostgresParameters(epoch.id, String(epoch.began)))
      try connection.execute(
        """
        UPDATE holdfast.zones SET restored = seq;
        DELETE FROM holdfast.acks WHERE NOT lost;
        UPDATE holdfast.acks SET epoch = '', seq = 0, purged = 0;
        UPDATE holdfast.devices SET unheard = true;
        DELETE FROM holdfast.handed;
        DELETE FROM holdfast.claims;
        INSERT INTO holdfast.handed (zone, record_table, id, base, rev, seq, deleted)
        SELECT r.zone, r.record_table, r.id, r.rev, 0, r.seq, r.state > 0 FROM holdfast.records r;
        """)
      if isOwn { try connection.execute("COMMIT") }
    } catch {
      if isOwn { try? connection.execute("ROLLBACK") }
      throw error
    }
  }
}
