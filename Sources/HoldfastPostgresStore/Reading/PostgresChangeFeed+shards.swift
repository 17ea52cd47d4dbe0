import HoldfastCore
import HoldfastPostgres
import HoldfastService

extension PostgresChangeFeed {
  // A condition that is null for all rows hides from Citus that both tables' rows are of one zone.
  private static let findZone = PostgresStatement(
    """
    SELECT z.zone, z.seq, z.purged, \(PostgresChangeFeed.role)
    FROM holdfast.zones z LEFT JOIN holdfast.access m ON m.zone = z.zone AND m."user" = coalesce($2, '') WHERE z.zone = $1
    """)
  private static let stretch =
    "SELECT * FROM holdfast.records r WHERE r.zone = $1 AND r.seq > $2 ORDER BY r.seq LIMIT $3"
  private static let findPlaces = PostgresStatement(
    "SELECT r.zone, r.seq, r.record_table, r.id, r.rev, r.state, r.stamp FROM (\(stretch)) r ORDER BY r.seq")

  /// The statement that reads the values of a table's records in a stretch of one zone.
  package static func values(of relation: PostgresLayout.Relation) -> PostgresStatement {
    PostgresStatement(
      """
      SELECT r.zone, r.seq\(relation.columns.map { ", \($0.read)" }.joined()) FROM (\(stretch)) r
      JOIN \(relation.name) t ON t.zone = r.zone AND t.id = r.id
      WHERE t.zone = $1 AND r.state = 0 AND r.record_table = \(PostgresName.literal(relation.table)) ORDER BY r.seq
      """)
  }

  /// The statement that reads the stretch of one zone with the values of a table's records, and the zone's state behind them.
  package static func withZone(_ relation: PostgresLayout.Relation) -> PostgresStatement {
    PostgresStatement(
      """
      SELECT 1::bigint, \(ledger), t.id IS NOT NULL\(relation.columns.map { ", \($0.read)" }.joined()),
        z.zone, z.seq, z.purged, \(role.replacing("$2", with: "$4"))
      FROM holdfast.zones z LEFT JOIN holdfast.access m ON m.zone = z.zone AND m."user" = coalesce($4, '')
      LEFT JOIN (\(stretch)) r ON r.zone = z.zone
      LEFT JOIN \(relation.name) t ON t.zone = $1 AND t.id = r.id AND r.state = 0
        AND r.record_table = \(PostgresName.literal(relation.table))
      WHERE z.zone = $1 ORDER BY r.seq
      """)
  }

  /// Reads all changes of one zone in one statement, and so of one moment. Nil where that takes more: they are many, or of several tables.
  func readAlone(
    _ zone: ZoneProgress, for user: String?, size: Int, on connection: PostgresConnection
  ) throws -> PostgresStretch? {
    guard let main = hints.tables(of: [zone.zone])[0].first, let source = sources[main] else { return nil }
    let rows = try connection.query(
      source.withZone, PostgresParameters(zone.zone, zone.ack.seq, Int64(size), user))
    if rows.count == size { return nil }
    let hasChanges = !rows.isEmpty && !rows.isNull(0, PostgresStretch.Column.seq)
    let stretch = PostgresStretch(
      zone: zone.refreshed(by: rows, from: rows.columnCount - 4), places: rows,
      rows: hasChanges ? rows.indices : 0..<0, joined: main, isCut: false)
    return missingTables(of: stretch).isEmpty ? stretch : nil
  }

  /// A zone's current state; nil for an unknown zone.
  package func zone(_ zone: String, for user: String?, on connection: PostgresConnection) throws
    -> ZoneProgress?
  {
    let rows = try connection.query(Self.findZone, PostgresParameters(zone, user))
    if rows.isEmpty { return nil }
    return ZoneProgress(
      zone: zone, ack: ZoneAck(zone: zone, epoch: "", seq: 0), isStored: false,
      seq: rows.int64(0, 1), purged: rows.int64(0, 2), role: rows.text(0, 3), wasLost: false)
  }

  /// Reads the first changes of each zone from its shard, in two round trips. The reads of one zone share a snapshot.
  func readEach(
    _ zones: [ZoneProgress], for user: String?, size: Int, on connection: PostgresConnection
  ) throws -> [PostgresStretch] {
    let wanted = zones.map { PostgresParameters($0.zone, $0.ack.seq, Int64(size)) }
    let read = try connection.pipeline { pipe in
      for (zone, wanted) in zip(zones, wanted) {
        pipe.send(Self.findZone, PostgresParameters(zone.zone, user))
        pipe.send(Self.findPlaces, wanted)
      }
    }
    var stretches = zones.enumerated().map { index, zone in
      let places = read[1 + 2 * index]
      return PostgresStretch(
        zone: zone.refreshed(by: read[2 * index]), places: places, rows: places.indices,
        isCut: places.count == size)
    }
    let missing = stretches.enumerated().flatMap { index, stretch in
      missingTables(of: stretch).compactMap { sources[$0] }.map { (index, $0) }
    }
    if missing.isEmpty { return stretches }
    let values = try connection.pipeline { pipe in
      for (index, source) in missing { pipe.send(source.values, wanted[index]) }
    }
    for ((index, source), rows) in zip(missing, values) {
      stretches[index].values[source.table] = .init(rows: rows, rest: rows.indices)
    }
    return stretches
  }
}
