import HoldfastCore
import HoldfastSQLite

/// What the server gave to be shown again, and what it asked for. See docs/RESTORING.md, section 4.
struct Proofs {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var zoneStates: ZoneStates { ZoneStates(database: database) }

  /// Keeps the proofs of an answer, and which zones it wants shown. Call when its parts are applied.
  ///
  /// - Parameter shown: the claims of the request.
  func keep(_ answer: SyncAnswer, shown: [RecoveryClaim]) throws {
    if !answer.proof.isEmpty {
      try connection.run("UPDATE holdfast_local SET proof = ?", [.text(answer.proof)])
    }
    for (zone, proof) in answer.proofs {
      try zoneStates.change(zone) { $0?.keep(proof: proof) }
    }
    for claim in shown {
      try connection.run("DELETE FROM holdfast_recovery_claims WHERE zone = ?", [.text(claim.zone)])
    }
    for zone in answer.wanted {
      try connection.run(
        """
        INSERT OR IGNORE INTO holdfast_recovery_claims (zone)
        SELECT zone FROM holdfast_zones WHERE zone = ? AND ack IS NOT NULL
        """, [.text(zone)])
      try zoneStates.change(zone) { $0?.claim() }
    }
  }

  /// What is said of the zones that the server has asked for.
  func nextClaims() throws -> [RecoveryClaim] {
    let rows = try connection.rows(
      """
      SELECT c.zone, coalesce(z.proof, ''), coalesce(nullif(z.claimed_role, ''), z.role, '') FROM holdfast_recovery_claims c
      LEFT JOIN holdfast_zones z ON z.zone = c.zone ORDER BY c.zone LIMIT ?
      """, [.integer(Int64(RecoveryClaim.limit))])
    if rows.isEmpty { return [] }
    var records: TextMap<Int64> = [:]
    let names = SQLiteValue.list(rows.compactMap { $0[0].text })
    for table in schema.tables {
      let counts = try connection.rows(
        """
        SELECT "zone", count(*) FROM "\(table.name)" WHERE "zone" IN (SELECT value FROM json_each(?)) AND "rev" > 0
        GROUP BY "zone"
        """, [names])
      for row in counts { records[row[0].text ?? "", default: 0] += row[1].integer ?? 0 }
    }
    return rows.map { row in
      let zone = row[0].text ?? ""
      return RecoveryClaim(
        zone: zone, proof: row[1].text ?? "", role: row[2].text ?? "", records: records[zone] ?? 0)
    }
  }

  /// Zones of which there is no proof: they came as a snapshot.
  func unprovenZones() throws -> [String] {
    try connection.rows(
      "SELECT zone FROM holdfast_zones WHERE proof = '' AND ack <> '' AND ack IS NOT NULL ORDER BY zone LIMIT ?",
      [.integer(Int64(RecoveryClaim.limit))]
    ).compactMap { $0[0].text }
  }
}
