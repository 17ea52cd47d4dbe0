import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The statements of a reader that depend on the database: those that read the history, and those that read records by id, as far as a user may
/// read them; by table, in schema order.
struct PostgresRecordStatements: Sendable {
  /// The statements of one table.
  struct Source: Sendable {
    let table: TableSchema
    let columns: [PostgresLayout.Column]
    /// Selects the ledger rows of `$1` that are visible to the user `$2`, with the values of live records. If `$2` is null, all are
    /// visible. The last column says of a live record whether its table has it.
    let find: PostgresStatement
  }

  /// Selects the requests by which the user `$1` created records.
  static let findCreators: PostgresStatement = """
    SELECT c.record_id, c.request_id FROM holdfast.created c
    WHERE c.account = $1 AND c.record_table = $2 AND c.record_id = ANY ($3)
    """

  /// Selects the history, and the current snapshot.
  let findHistory: PostgresStatement
  let findSnapshot: PostgresStatement
  let sources: [Source]

  init(_ schema: SyncSchema, _ layout: PostgresLayout, isPooled: Bool) {
    let snapshot = PostgresReadStatements.snapshot(isPooled: isPooled, timeline: layout.timeline)
    findHistory = PostgresStatement(
      "\(PostgresEpoch.findCurrent(timeline: layout.timeline).sql) UNION ALL SELECT 'snapshot', \(snapshot)")
    findSnapshot = PostgresStatement("SELECT 'snapshot', \(snapshot)")
    sources = zip(schema.tables, layout.relations).map { table, relation in
      let columns = relation.columns.map { ", \($0.read)" }.joined()
      let name = PostgresName.literal(relation.table)
      let ledger = """
        SELECT r.id, r.zone, r.state, \(RecordPlace.columnsSQL)\(columns), t.id IS NOT NULL
        FROM holdfast.records r JOIN holdfast.zones z ON z.zone = r.zone
        LEFT JOIN holdfast.access m ON m.zone = r.zone AND m."user" = $2 LEFT JOIN \(relation.name) t
        """
      let mayRead =
        "r.state < 2 AND coalesce(m.role, CASE WHEN z.public THEN 'viewer' WHEN $2 IS NULL THEN 'owner' END) IS NOT NULL"
      return Source(
        table: table, columns: relation.columns,
        find: PostgresStatement(
          """
          \(ledger) ON t.id = \(relation.liveKey) AND r.state = 0\(relation.hasZone ? " AND t.zone = r.zone" : "")
          WHERE r.record_table = \(name) AND r.id = ANY ($1) AND \(mayRead)
          """))
    }
  }
}
