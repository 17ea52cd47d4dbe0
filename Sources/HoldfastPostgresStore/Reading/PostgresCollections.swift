import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The statements for clients without a local copy: docs/POSTGRES.md, section 5.
struct PostgresCollections: Sendable {
  static let findMemberships: PostgresStatement = """
    SELECT m.zone, z.seq, z.purged, m.role FROM holdfast.access m JOIN holdfast.zones z ON z.zone = m.zone
    WHERE m."user" = $1
    """
  static let findZones: PostgresStatement = """
    SELECT z.zone, z.seq, z.purged, CASE WHEN z.public THEN 'viewer' ELSE '' END FROM holdfast.zones z
    WHERE z.zone = ANY ($1) AND z.left_for IS NULL
    """
  static let findAllZones: PostgresStatement =
    "SELECT z.zone, z.seq, z.purged, 'owner' FROM holdfast.zones z WHERE z.left_for IS NULL"
  static let findLosses: PostgresStatement = "SELECT losses FROM holdfast.accounts WHERE id = $1"
  static let findResult: PostgresStatement = """
    SELECT record_table, shown, page_size, id_count, expires FROM holdfast.results
    WHERE account = $1 AND token_hash = $2
    """
  static let findIDs: PostgresStatement =
    "SELECT ids FROM holdfast.result_ids WHERE account = $1 AND token_hash = $2 AND chunk = $3"

  let schema: SyncSchema
  let layout: PostgresLayout
  /// By table, in schema order: the ledger rows of the zone `$1` after `$2`, at most `$3`, with the values of live records. The last column
  /// says of a live record whether its table has it.
  let changes: [PostgresStatement]

  init(_ schema: SyncSchema, _ layout: PostgresLayout) {
    self.schema = schema
    self.layout = layout
    changes = layout.relations.map { relation in
      PostgresStatement(
        """
        SELECT r.id, r.zone, r.state, \(RecordPlace.columnsSQL)\(relation.columns.map { ", \($0.read)" }.joined()), t.id IS NOT NULL
        FROM (
          SELECT * FROM holdfast.records r
          WHERE r.zone = $1 AND r.seq > $2 AND r.record_table = \(PostgresName.literal(relation.table)) ORDER BY r.seq LIMIT $3
        ) r LEFT JOIN \(relation.name) t
        ON \(relation.hasZone ? "t.zone = r.zone AND " : "")t.id = \(relation.liveKey) AND r.state = 0 ORDER BY r.seq
        """)
    }
  }

  /// The record of a live ledger row with its values.
  func record(_ rows: PostgresRows, _ row: Int, _ place: RecordPlace, of table: Int)
    -> StoredRecord
  {
    let columns = layout.relations[table].columns
    return StoredRecord(
      table: table, id: rows.text(row, 0), zone: rows.text(row, 1), seq: place.seq, rev: place.rev,
      stamps: place.stamps ?? "",
      values: columns.indices.map { rows.value(row, RecordPlace.end + $0, columns[$0].type) })
  }
}
