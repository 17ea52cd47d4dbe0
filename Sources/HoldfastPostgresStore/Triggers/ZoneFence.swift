import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Puts back rows of `holdfast.zones` that are lost, or older than the ledger. How far the zone was purged, and its last seq, may be lost
/// with them. So the zone's seqs go on beyond all that a device can have, and its tokens of before are fenced: a device that comes with one
/// downloads the zone again, and keeps its edits (I4, I8). Snapshots are made again: they may have names of users that were erased since.
struct ZoneFence {
  /// How far beyond the greatest known seq a zone goes on. Devices may have later seqs than their last acks.
  private static let distance = 1_000_000

  private let connection: PostgresConnection

  init(_ connection: PostgresConnection) { self.connection = connection }

  /// Puts back the rows of zones that have changes in the ledger.
  ///
  /// - Returns: their number.
  func restore() throws(PostgresError) -> Int { try run("z.zone IS NULL") }

  /// Corrects the rows that are older than the ledger.
  ///
  /// - Returns: their number.
  func raise() throws(PostgresError) -> Int { try run("z.seq < k.seq") }

  /// Fences zones whose rows were made again.
  func fence(_ zones: [String]) throws(PostgresError) {
    if !zones.isEmpty { _ = try run("k.zone = ANY ($1)", zones) }
  }

  /// Tombstones that no device is sent go with what a purge would drop, too.
  private func run(_ condition: String, _ zones: [String] = []) throws(PostgresError) -> Int {
    let sql = """
      WITH known AS (
        SELECT k.zone, max(k.seq) AS seq FROM (
          SELECT r.zone, r.seq FROM holdfast.records r UNION ALL SELECT w.zone, 0 FROM unnest($1::text[]) w (zone)) k GROUP BY k.zone
      ), fenced AS MATERIALIZED (
        SELECT k.zone, least(\(Self.distance) + greatest(k.seq, z.seq, z.purged,
          (SELECT max(greatest(a.seq, a.purged)) FROM holdfast.acks a WHERE a.zone = k.zone),
          (SELECT c.seq FROM holdfast.claimed_seqs c WHERE c.zone = k.zone)), \(greatestCount)) AS seq
        FROM known k LEFT JOIN holdfast.zones z ON z.zone = k.zone WHERE \(condition)
      ), dropped AS (
        DELETE FROM holdfast.records r USING fenced f WHERE r.zone = f.zone AND r.state > 0 RETURNING r.record_table, r.id, r.state
      ), forgotten AS (
        DELETE FROM holdfast.created c USING dropped d
        WHERE d.state = \(RecordPlace.State.deleted.rawValue) AND c.record_id = d.id AND c.record_table = d.record_table
      )
      INSERT INTO holdfast.zones (zone, seq, purged, erased) SELECT f.zone, f.seq, f.seq, f.seq FROM fenced f
      ON CONFLICT (zone) DO UPDATE SET seq = excluded.seq, purged = excluded.purged, erased = excluded.erased
      """
    return try connection.query(PostgresStatement(sql), PostgresParameters(array: zones)).affectedCount
  }
}
