import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The recovery data in SQLite. Its statements are rare, so they are not kept prepared.
final class SQLiteRecovery: RecoveryTable {
  private let connection: SQLiteConnection

  init(on connection: SQLiteConnection) { self.connection = connection }

  func restored(_ zone: String) throws -> RestoredZone? {
    try connection.row("SELECT restored, purged FROM holdfast_zones WHERE zone = ?", [.text(zone)]).map {
      RestoredZone(seq: $0[0].integer ?? 0, purged: $0[1].integer ?? 0)
    }
  }

  func entry(of key: RecoveryEntry.Key) throws -> RecoveryEntry? {
    try connection.row(
      "SELECT base, rev, seq, deleted FROM holdfast_recovered_records WHERE zone = ? AND record_table = ? AND id = ?",
      [.text(key.zone), .text(key.table), .text(key.id)]
    ).map {
      RecoveryEntry(
        key: key, base: $0[0].integer ?? 0, rev: $0[1].integer ?? 0, seq: $0[2].integer ?? 0,
        isDeletion: $0[3].integer == 1)
    }
  }

  func put(_ records: [RecoveryEntry]) throws {
    for record in records {
      try connection.run(
        """
        INSERT OR REPLACE INTO holdfast_recovered_records (zone, record_table, id, base, rev, seq, deleted)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        [
          .text(record.key.zone), .text(record.key.table), .text(record.key.id), .integer(record.base),
          .integer(record.rev), .integer(record.seq), .integer(record.isDeletion ? 1 : 0),
        ])
    }
  }

  func zoneClaims(of zone: String) throws -> [ZoneClaim] {
    try Self.zoneClaims(of: zone, on: connection)
  }

  /// The claims for a zone, or all claims.
  static func zoneClaims(of zone: String?, on connection: SQLiteConnection) throws -> [ZoneClaim] {
    try connection.rows(
      """
      SELECT user, role, proven, epochs_ago, seq, device, records, at, state, zone,
        EXISTS (SELECT 1 FROM holdfast_zones z WHERE z.zone = c.zone)
      FROM holdfast_zone_claims c WHERE ?1 IS NULL OR zone = ?1 ORDER BY zone, user
      """, [zone.map { .text($0) } ?? .null]
    ).map { row in
      func number(_ index: Int) -> Int64 { row[index].integer ?? 0 }
      var claim = ZoneClaim(
        zone: row[9].text ?? "", user: row[0].text ?? "", role: Role(rawValue: row[1].text ?? ""),
        moment: number(2) == 1 ? .init(epochsAgo: number(3), seq: number(4)) : nil, device: number(5),
        records: number(6), at: number(7), state: .init(rawValue: number(8)) ?? .waiting)
      claim.zoneExists = number(10) == 1
      return claim
    }
  }

  func unprovenClaims(of user: String) throws -> Int {
    let count = try connection.value(
      "SELECT count(*) FROM holdfast_zone_claims WHERE user = ? AND proven = 0", [.text(user)])
    return Int(count?.integer ?? 0)
  }

  func put(_ zoneClaim: ZoneClaim) throws {
    try connection.run(
      """
      INSERT OR REPLACE INTO holdfast_zone_claims
        (zone, user, role, proven, epochs_ago, seq, device, records, at, state)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(zoneClaim.zone), .text(zoneClaim.user), .text(zoneClaim.role?.rawValue ?? ""),
        .integer(zoneClaim.moment == nil ? 0 : 1), .integer(zoneClaim.moment?.epochsAgo ?? 0),
        .integer(zoneClaim.moment?.seq ?? 0), .integer(zoneClaim.device), .integer(zoneClaim.records),
        .integer(zoneClaim.at), .integer(zoneClaim.state.rawValue),
      ])
  }

  func claim(_ seqs: TextMap<Int64>) throws {
    for (zone, seq) in seqs {
      try connection.run(
        """
        INSERT INTO holdfast_claimed_seqs (zone, seq) VALUES (?, ?)
        ON CONFLICT (zone) DO UPDATE SET seq = max(seq, excluded.seq)
        """, [.text(zone), .integer(seq)])
    }
  }
}
