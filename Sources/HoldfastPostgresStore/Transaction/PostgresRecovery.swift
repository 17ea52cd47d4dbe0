import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The recovery data in PostgreSQL.
final class PostgresRecovery: RecoveryTable {
  private unowned let store: PostgresStore

  private static let findRestored: PostgresStatement =
    "SELECT z.restored, z.purged FROM holdfast.zones z WHERE z.zone = $1"
  private static let find: PostgresStatement = """
    SELECT h.base, h.rev, h.seq, h.deleted FROM holdfast.recovered_records h WHERE h.zone = $1 AND h.record_table = $2 AND h.id = $3
    """
  private static let put: PostgresStatement = """
    INSERT INTO holdfast.recovered_records (zone, record_table, id, base, rev, seq, deleted) VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (zone, record_table, id) DO UPDATE SET rev = excluded.rev, seq = excluded.seq, deleted = excluded.deleted
    """
  private static let claim: PostgresStatement = """
    INSERT INTO holdfast.claimed_seqs AS c (zone, seq) VALUES ($1, $2)
    ON CONFLICT (zone) DO UPDATE SET seq = greatest(c.seq, excluded.seq)
    """

  private static let readClaims = """
    SELECT c.account, c.role, c.proven, c.epochs_ago, c.seq, c.device, c.records, c.at, c.state, c.zone,
      EXISTS (SELECT FROM holdfast.zones z WHERE z.zone = c.zone) FROM holdfast.zone_claims c
    """
  private static let findClaimants = PostgresStatement("\(readClaims) WHERE c.zone = $1 ORDER BY c.account")
  private static let countUnproven: PostgresStatement =
    "SELECT count(*) FROM holdfast.zone_claims c WHERE c.account = $1 AND NOT c.proven"
  static let findAllClaimants = PostgresStatement("\(readClaims) ORDER BY c.zone, c.account")
  private static let putClaimant: PostgresStatement = """
    INSERT INTO holdfast.zone_claims (zone, account, role, proven, epochs_ago, seq, device, records, at, state)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (zone, account) DO UPDATE SET role = excluded.role, proven = excluded.proven,
      epochs_ago = excluded.epochs_ago, seq = excluded.seq, device = excluded.device, records = excluded.records,
      at = excluded.at, state = excluded.state
    """

  init(_ store: PostgresStore) { self.store = store }

  func restored(_ zone: String) throws -> RestoredZone? {
    let rows = try store.reading.query(Self.findRestored, PostgresParameters(zone))
    return rows.isEmpty ? nil : RestoredZone(seq: rows.int64(0, 0), purged: rows.int64(0, 1))
  }

  func entry(of key: RecoveryEntry.Key) throws -> RecoveryEntry? {
    let rows = try store.reading.query(Self.find, PostgresParameters(key.zone, key.table, key.id))
    if rows.isEmpty { return nil }
    return RecoveryEntry(
      key: key, base: rows.int64(0, 0), rev: rows.int64(0, 1), seq: rows.int64(0, 2),
      isDeletion: rows.bool(0, 3))
  }

  func put(_ records: [RecoveryEntry]) throws {
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

  func zoneClaims(of zone: String) throws -> [ZoneClaim] {
    Self.zoneClaims(try store.reading.query(Self.findClaimants, PostgresParameters(zone)))
  }

  static func zoneClaims(_ rows: PostgresRows) -> [ZoneClaim] {
    rows.indices.map { row in
      var claim = ZoneClaim(
        zone: rows.text(row, 9), user: rows.text(row, 0), role: Role(rawValue: rows.text(row, 1)),
        moment: rows.bool(row, 2) ? .init(epochsAgo: rows.int64(row, 3), seq: rows.int64(row, 4)) : nil,
        device: rows.int64(row, 5), records: rows.int64(row, 6), at: rows.int64(row, 7),
        state: .init(rawValue: rows.int64(row, 8)) ?? .waiting)
      claim.zoneExists = rows.bool(row, 10)
      return claim
    }
  }

  func unprovenClaims(of user: String) throws -> Int {
    Int(try store.reading.query(Self.countUnproven, PostgresParameters(user)).int64(0, 0))
  }

  func put(_ zoneClaim: ZoneClaim) throws {
    try store.connection.run(
      Self.putClaimant,
      PostgresParameters(
        zoneClaim.zone, zoneClaim.user, zoneClaim.role?.rawValue ?? "", zoneClaim.moment != nil,
        zoneClaim.moment?.epochsAgo ?? 0, zoneClaim.moment?.seq ?? 0, zoneClaim.device, zoneClaim.records,
        zoneClaim.at, zoneClaim.state.rawValue))
  }

  func claim(_ seqs: TextMap<Int64>) throws {
    try store.connection.pipeline { pipe in
      for (zone, seq) in seqs.sorted(by: { $0.key < $1.key }) {
        pipe.send(Self.claim, PostgresParameters(zone, seq))
      }
    }
  }
}
