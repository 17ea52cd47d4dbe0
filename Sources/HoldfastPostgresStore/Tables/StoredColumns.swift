import HoldfastCore
import HoldfastPostgres

/// The columns whose values the devices have, by their numbers in the catalog, and the labels of enums by theirs.
///
/// Some statements change the values of all rows without writing one: a column that is dropped and added again, or takes the name of another
/// column, and a label of an enum that is renamed. No trigger runs, and no row is newer than its row of the ledger. So `meta` keeps the
/// columns of the last opening. Those of a table with another number are not compared: a restore makes new tables, and begins an epoch.
struct StoredColumns {
  /// A column that is another one now.
  struct Replaced {
    let table: String
    let column: String
    /// The number of the table in the catalog.
    let number: Int64
  }

  /// The columns `$2` of the tables `$1`, pair by pair.
  private static let now = """
    WITH RECURSIVE wanted AS (
      SELECT u.name, u.column_name, to_regclass(t.relation)::oid AS relation
      FROM unnest($1::text[], $2::text[]) u (name, column_name) JOIN holdfast.tables t ON t.name = u.name
    ), found AS (
      SELECT w.name, w.column_name, w.relation, a.attnum, a.atttypid
      FROM wanted w JOIN pg_attribute a ON a.attrelid = w.relation AND a.attname = w.column_name AND NOT a.attisdropped
    ), types AS (
      SELECT f.atttypid, f.atttypid AS base FROM found f
      UNION SELECT t.atttypid, y.typbasetype FROM types t JOIN pg_type y ON y.oid = t.base WHERE y.typtype = 'd'
    ), labels AS (
      SELECT t.atttypid, jsonb_object_agg(e.oid::text, e.enumlabel) AS labels
      FROM types t JOIN pg_enum e ON e.enumtypid = t.base GROUP BY 1
    ), columns AS (
      SELECT f.name, f.column_name, f.relation,
        jsonb_strip_nulls(jsonb_build_object('number', f.attnum, 'labels', l.labels)) AS state
      FROM found f LEFT JOIN labels l ON l.atttypid = f.atttypid
    )
    """
  private static let find = PostgresStatement(
    now + """
      , kept AS (SELECT m.value::jsonb -> 'tables' AS tables FROM holdfast.meta m WHERE m.key = 'columns')
      SELECT c.name, c.column_name, c.relation::bigint FROM columns c
      CROSS JOIN LATERAL (SELECT k.tables -> c.name -> 'columns' -> c.column_name AS state FROM kept k
        WHERE k.tables -> c.name ->> 'relation' = c.relation::text) k
      WHERE k.state -> 'number' <> c.state -> 'number'
        OR EXISTS (SELECT FROM jsonb_each(k.state -> 'labels') l WHERE c.state -> 'labels' -> l.key <> l.value)
      ORDER BY 1, 2
      """)
  /// What is to be stored, if that is something else than what is. A standby takes no writes.
  private static let findUnstored = PostgresStatement(
    now + """
      , state AS (
        SELECT jsonb_build_object('tables', jsonb_object_agg(t.name, t.state))::text AS value FROM (
          SELECT c.name, jsonb_build_object('relation', c.relation::text, 'columns', jsonb_object_agg(c.column_name, c.state)) AS state
          FROM columns c GROUP BY c.name, c.relation
        ) t
      )
      SELECT s.value FROM state s WHERE NOT pg_is_in_recovery() AND s.value IS NOT NULL
        AND NOT EXISTS (SELECT FROM holdfast.meta m WHERE m.key = 'columns' AND m.value = s.value)
      """)
  private static let store: PostgresStatement = """
    INSERT INTO holdfast.meta (key, value) VALUES ('columns', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value
    """

  private let parameters: PostgresParameters

  /// The columns of a schema.
  init(_ schema: SyncSchema) {
    let pairs = schema.tables.flatMap { table in table.columns.map { (table.name, $0.name) } }
    var parameters = PostgresParameters(array: pairs.map(\.0))
    parameters.append(array: pairs.map(\.1))
    self.parameters = parameters
  }

  /// Those that have been replaced since they were stored.
  func replaced(on connection: PostgresConnection) throws(PostgresError) -> [Replaced] {
    let rows = try connection.query(Self.find, parameters)
    return rows.indices.map {
      Replaced(table: rows.text($0, 0), column: rows.text($0, 1), number: rows.int64($0, 2))
    }
  }

  /// Stores them as they are now, if they differ from the stored ones.
  func keep(on connection: PostgresConnection) throws(PostgresError) {
    let rows = try connection.query(Self.findUnstored, parameters)
    if !rows.isEmpty { try connection.run(Self.store, PostgresParameters(rows.text(0, 0))) }
  }
}

extension StoredColumns.Replaced {
  /// What has happened, and what to do.
  var text: String {
    """
    The column was dropped and added again, or renamed, or a label of its enum was: all its values may have changed, and no device was sent \
    that. `holdfast doctor --repair`, or `holdfast schema adopt --apply FILE` with a new schema, feeds the records of \(table).
    """
  }

  var fault: SchemaError.Fault { .init("tables.\(table).columns.\(column)", text) }
}
