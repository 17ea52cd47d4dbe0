import HoldfastCore
import HoldfastSQLite

extension SQLiteAdministration {
  func begin(_ epoch: NewEpoch) throws {
    try connection.transaction(.immediate) {
      try connection.run(
        """
        INSERT OR REPLACE INTO holdfast_meta (key, value)
        SELECT 'previous_epoch', value FROM holdfast_meta WHERE key = 'epoch'
        """)
      try connection.run(
        "INSERT OR REPLACE INTO holdfast_meta (key, value) VALUES ('epoch', ?), ('epoch_began', ?)",
        [.text(epoch.id), .text(String(epoch.began))])
      try connection.execute(
        """
        UPDATE holdfast_zones SET restored = seq;
        DELETE FROM holdfast_acks WHERE lost = 0;
        UPDATE holdfast_acks SET epoch = '', seq = 0, purged = 0;
        UPDATE holdfast_devices SET unheard = 1;
        DELETE FROM holdfast_handed;
        DELETE FROM holdfast_claims;
        INSERT INTO holdfast_handed (zone, record_table, id, base, rev, seq, deleted)
        SELECT zone, record_table, id, rev, 0, seq, 1 FROM holdfast_tombstones;
        """)
      for table in schema.tables {
        try connection.run(
          """
          INSERT OR REPLACE INTO holdfast_handed (zone, record_table, id, base, rev, seq, deleted)
          SELECT zone, ?, id, rev, 0, seq, 0 FROM "\(table.name)"
          """, [.text(table.name)])
      }
    }
  }

  func restoreReport() throws -> [[String]] {
    try connection.rows(
      """
      SELECT c.zone, coalesce(z.restored, 0), c.seq,
      (SELECT count(*) FROM holdfast_handed h WHERE h.zone = c.zone AND h.rev > 0 AND h.deleted = 0),
      (SELECT count(*) FROM holdfast_handed h WHERE h.zone = c.zone AND h.rev > 0 AND h.deleted = 1),
      (SELECT coalesce(sum(h.rev - h.base), 0) FROM holdfast_handed h WHERE h.zone = c.zone AND h.rev > h.base)
      FROM holdfast_claims c LEFT JOIN holdfast_zones z ON z.zone = c.zone ORDER BY c.zone
      """
    ).map { row in RestoreLine(row[0].text ?? "", row.dropFirst().map { $0.integer ?? 0 }).cells }
  }
}

/// What became of one zone since the restore.
struct RestoreLine {
  let cells: [String]

  /// - Parameter numbers: seq at the restore, greatest seq claimed, records and deletions handed back, and how many changes are in these.
  init(_ zone: String, _ numbers: [Int64]) {
    // Each change of the lost history had a seq of its own, and a rev of its record.
    let missing = max(0, numbers[1] - numbers[0] - numbers[4])
    cells = [zone] + (numbers.prefix(4) + [missing]).map(String.init)
  }
}
