import HoldfastPostgres

/// What devices handed back, in either layout: each statement names one zone.
final class PostgresReturns: ReturnTable {
  private unowned let store: PostgresStore

  private static let findRestored: PostgresStatement =
    "SELECT z.restored FROM holdfast.zones z WHERE z.zone = $1"
  private static let find: PostgresStatement = """
    SELECT h.base, h.rev, h.seq, h.deleted FROM holdfast.handed h WHERE h.zone = $1 AND h.record_table = $2 AND h.id = $3
    """
  private static let put: PostgresStatement = """
    INSERT INTO holdfast.handed (zone, record_table, id, base, rev, seq, deleted) VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (zone, record_table, id) DO UPDATE SET rev = excluded.rev, seq = excluded.seq, deleted = excluded.deleted
    """
  private static let claim: PostgresStatement = """
    INSERT INTO holdfast.claims AS c (zone, seq) VALUES ($1, $2)
    ON CONFLICT (zone) DO UPDATE SET seq = greatest(c.seq, excluded.seq)
    """

  init(_ store: PostgresStore) { self.store = store }

  func restored(_ zone: String) throws -> Int64? {
    let rows = try store.connection.query(Self.findRestored, PostgresParameters(zone))
    return rows.isEmpty ? nil : rows.int64(0, 0)
  }

  func handed(_ key: HandedRecord.Key) throws -> HandedRecord? {
    let rows = try store.connection.query(Self.find, PostgresParameters(key.zone, key.table, key.id))
    if rows.isEmpty { return nil }
    return HandedRecord(
      key: key, base: rows.int64(0, 0), rev: rows.int64(0, 1), seq: rows.int64(0, 2),
      isDeletion: rows.bool(0, 3))
  }

  func put(_ records: [HandedRecord]) throws {
    try store.connection.pipeline { pipe in
      for record in records {
        pipe.send(
          Self.put,
          PostgresParameters(
            record.key.zone, record.key.table, record.key.id, record.base, record.rev, record.seq,
            record.isDeletion))
      }
    }
  }

  func claim(_ seqs: [String: Int64]) throws {
    try store.connection.pipeline { pipe in
      for (zone, seq) in seqs.sorted(by: { $0.key < $1.key }) {
        pipe.send(Self.claim, PostgresParameters(zone, seq))
      }
    }
  }
}
