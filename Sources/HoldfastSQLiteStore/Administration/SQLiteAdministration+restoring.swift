import HoldfastCore
import HoldfastSQLite
import HoldfastService

extension SQLiteAdministration {
  package func zoneClaims() throws -> [ZoneClaim] { try SQLiteRecovery.zoneClaims(of: nil, on: connection) }

  package func restoreReport() throws -> [[String]] {
    try connection.rows(
      """
      SELECT c.zone, coalesce(z.restored, 0), c.seq,
      (SELECT count(*) FROM holdfast_recovered_records h WHERE h.zone = c.zone AND h.rev > 0 AND h.deleted = 0),
      (SELECT count(*) FROM holdfast_recovered_records h WHERE h.zone = c.zone AND h.rev > 0 AND h.deleted = 1),
      (SELECT coalesce(sum(h.rev - h.base), 0) FROM holdfast_recovered_records h WHERE h.zone = c.zone AND h.rev > h.base)
      FROM holdfast_claimed_seqs c LEFT JOIN holdfast_zones z ON z.zone = c.zone ORDER BY c.zone
      """
    ).map { row in RestoreLine(row[0].text ?? "", row.dropFirst().map { $0.integer ?? 0 }).cells }
  }
}
