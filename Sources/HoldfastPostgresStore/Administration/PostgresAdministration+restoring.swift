import HoldfastPostgres
package import HoldfastService

extension PostgresAdministration {
  package func zoneClaims() throws -> [ZoneClaim] {
    PostgresRecovery.zoneClaims(try connection.query(PostgresRecovery.findAllClaimants))
  }

  package func restoreReport() throws -> [[String]] {
    try rows(
      """
      SELECT c.zone, coalesce(max(z.restored), 0)::text, max(c.seq)::text,
        count(h.id) FILTER (WHERE NOT h.deleted)::text, count(h.id) FILTER (WHERE h.deleted)::text,
        coalesce(sum(h.rev - h.base) FILTER (WHERE h.rev > h.base), 0)::text
      FROM holdfast.claimed_seqs c LEFT JOIN holdfast.zones z ON z.zone = c.zone
      LEFT JOIN holdfast.recovered_records h ON h.zone = c.zone AND h.rev > 0 GROUP BY c.zone ORDER BY c.zone
      """
    ).map { row in RestoreLine(row[0], row.dropFirst().map { Int64($0) ?? 0 }).cells }
  }
}
