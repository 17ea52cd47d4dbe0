import HoldfastCore
import HoldfastPostgres

/// The statements by which programs that keep no copy read; docs/POSTGRES.md, section 5. All of them ask distributed tables as they ask whole
/// ones: what names no zone asks all shards.
struct PostgresCollections: Sendable {
  /// Those of one table.
  struct Source: Sendable {
    /// The rows of the ledger of `$1` in all zones, with the values of live records.
    let found: PostgresStatement
    /// The rows of the ledger of the zone `$1` after `$2`, `$3` at the most, with the values of live records.
    let changes: PostgresStatement
  }

  static let findMemberships: PostgresStatement = """
    SELECT m.zone, z.seq, z.purged, m.role FROM holdfast.members m JOIN holdfast.zones z ON z.zone = m.zone
    WHERE m."user" = $1
    """
  static let findZones: PostgresStatement = """
    SELECT z.zone, z.seq, z.purged, CASE WHEN z.public THEN 'viewer' ELSE '' END FROM holdfast.zones z
    WHERE z.zone = ANY ($1)
    """
  static let findLosses: PostgresStatement = "SELECT losses FROM holdfast.accounts WHERE id = $1"
  static let findResult: PostgresStatement = """
    SELECT record_table, shown, page_size, id_count, expires FROM holdfast.results
    WHERE account = $1 AND token_hash = $2
    """
  static let findIDs: PostgresStatement =
    "SELECT ids FROM holdfast.result_ids WHERE account = $1 AND token_hash = $2 AND chunk = $3"

  let schema: Schema
  let layout: PostgresLayout
  /// In the order of the schema.
  let sources: [Source]

  init(_ schema: Schema, _ layout: PostgresLayout) {
    self.schema = schema
    self.layout = layout
    sources = layout.relations.map { relation in
      let columns = relation.columns.map { ", \($0.read)" }.joined()
      let values =
        "r.id, r.zone, r.state, r.seq, r.rev, r.stamps, r.stamp, r.device, r.deleted_seq\(columns)"
      let table = PostgresName.literal(relation.table)
      let join =
        "LEFT JOIN \(relation.name) t ON \(relation.hasZone ? "t.zone = r.zone AND " : "")t.id = r.id\(relation.idKey) AND r.state = 0"
      return Source(
        found: PostgresStatement(
          """
          SELECT \(values) FROM holdfast.records r \(join)
          WHERE r.record_table = \(table) AND r.id = ANY ($1) AND r.state < 2
          """),
        changes: PostgresStatement(
          """
          SELECT \(values) FROM (
            SELECT * FROM holdfast.records r WHERE r.zone = $1 AND r.seq > $2 AND r.record_table = \(table)
            ORDER BY r.seq LIMIT $3
          ) r \(join) ORDER BY r.seq
          """))
    }
  }

  /// A row of the ledger with its values as a record; nil for one that is not live.
  func record(_ rows: PostgresRows, _ row: Int, of table: Int) -> Record? {
    guard rows.int64(row, 2) == PostgresWorkingSet.Place.State.live.rawValue else { return nil }
    let columns = layout.relations[table].columns
    return Record(
      table: table, id: rows.text(row, 0), zone: rows.text(row, 1), seq: rows.int64(row, 3),
      rev: rows.int64(row, 4), stamps: rows.optionalText(row, 5) ?? "",
      values: columns.indices.map { rows.value(row, 9 + $0, columns[$0].type) })
  }

  /// A row of the ledger as a tombstone.
  static func tombstone(_ rows: PostgresRows, _ row: Int) -> Tombstone {
    Tombstone(
      zone: rows.text(row, 1), rev: rows.int64(row, 4),
      stamp: Stamp(rawValue: rows.optionalInt64(row, 6) ?? 0), device: rows.optionalInt64(row, 7) ?? 0,
      deletedSeq: rows.optionalInt64(row, 8))
  }
}
