import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The statements of a writing transaction that depend on the schema, or on the lane's locking.
package struct PostgresStatements {
  /// The statements of one table.
  struct Records {
    /// Locks the existing records of `$1`, and selects their `id`.
    let lock: PostgresStatement
    /// Locks the existing records of `$1` before they are deleted. The check of a foreign key takes a weaker lock of the record that it
    /// finds, so this waits for every transaction that has checked a reference to one of them, and none is checked after it. The fast lane
    /// fails instead of waiting.
    let lockDeleted: PostgresStatement
    /// Selects the ledger rows of `$1`, with the values of live records.
    let find: PostgresStatement
    let insert: PostgresStatement
    let delete: PostgresStatement
    /// By column: selects the ids of the stored records that have one of the values `$1`, each with the value; nil for a column that is no
    /// text.
    let findWhere: [PostgresStatement?]
    /// By unique group: selects the ids of the live records of the zone `$1` with the values from `$2` on.
    let findSame: [PostgresStatement]
  }

  /// A statement that writes the records `$1` of a table, and fails unless it wrote all of them. A team's rule or trigger may skip rows
  /// silently, and row-level security may hide them.
  static func counted(_ sql: String, of table: String) -> PostgresStatement {
    PostgresStatement(
      """
      WITH written AS (\(sql) RETURNING 1)
      SELECT holdfast.expect((SELECT count(*) FROM written), cardinality($1), \(PostgresName.literal(table)))
      """)
  }

  /// Such a statement for a table with a trigger of the team before each row. It also fails if the trigger has given a record another id, or
  /// another zone by the column that decides it: devices were told the other.
  ///
  /// - Parameters:
  ///   - values: what the statement returns, with names.
  ///   - kept: the condition on `w`, all those rows.
  private static func placed(_ sql: String, returning values: String, kept: String, of table: String)
    -> PostgresStatement
  {
    let table = PostgresName.literal(table)
    return PostgresStatement(
      """
      WITH written AS (\(sql) RETURNING \(values))
      SELECT holdfast.expect((SELECT count(*) FROM written), cardinality($1), \(table)),
        holdfast.expect_place((SELECT \(kept) FROM written w), \(table))
      """)
  }

  /// The role or database may have another default. The rules read each row again after its zone is locked.
  static let begin: PostgresStatement = "BEGIN ISOLATION LEVEL READ COMMITTED"
  static let commit: PostgresStatement = "COMMIT"
  static let notify: PostgresStatement = "SELECT pg_notify('holdfast', $1)"
  /// The lock timeout `$1` is shorter than PostgreSQL's `deadlock_timeout` of one second, whose victim could be another SQL writer. Other time
  /// limits of the role or database do not hold: a write that one of them ended would be repeated without end. A node that hangs inside of a
  /// write gives its locks back after 30 s. With `row_security` off, hidden
  /// rows are an error: a hidden record is not a deleted one.
  static let configure: PostgresStatement =
    """
    SELECT pg_current_xact_id()::text::bigint, pg_current_snapshot()::text, set_config('holdfast.service', 'on', true), set_config('lock_timeout', $1, true),
      set_config('row_security', 'off', true), set_config('statement_timeout', '0', true),
      set_config('idle_in_transaction_session_timeout', '30s', true)
    """

  /// Whether nobody else has committed since the transaction before this one, `$2`: another one would have its number, or have ended with a later
  /// number. With `$3` it fails if somebody has. Run it under all locks.
  static let findAlone: PostgresStatement = """
    SELECT CASE WHEN pg_current_snapshot()::text = $1 AND pg_current_xact_id()::text = $2 THEN true
      WHEN $3 THEN holdfast.overtaken() IS NULL ELSE false END
    """
  /// Fails if there is anything of the records with the tables `$1` and ids `$2`, of which `$3` is the least and `$4` the greatest. Ids are made in
  /// the order of time, so few others lie between those that come together: up to `$5` of them are read at once, and no id alone.
  static let expectAbsent: PostgresStatement = """
    WITH near AS MATERIALIZED (
      SELECT r.id FROM holdfast.records r WHERE r.id >= $3 AND r.id <= $4 ORDER BY r.id LIMIT $5
    )
    SELECT holdfast.overtaken() WHERE CASE WHEN NOT EXISTS (SELECT FROM near) THEN false
      WHEN (SELECT count(*) FROM near) < $5 THEN EXISTS (SELECT id FROM near INTERSECT SELECT unnest($2::text[]))
      ELSE EXISTS (SELECT FROM unnest($1::text[], $2::text[]) AS k (t, i)
        JOIN holdfast.records r ON r.record_table = k.t AND r.id = k.i) END
    """
  /// Whether a trigger or rule of a team may run in a transaction that writes the tables `$1`: one of theirs, of Holdfast's own tables, of a part
  /// of these, or of a table that a foreign key with an action leads to.
  static let findTriggers = PostgresStatement(
    """
    SELECT (EXISTS (SELECT FROM pg_trigger t WHERE \(ofTeam)) OR EXISTS (SELECT FROM pg_rewrite w WHERE \(isRule))) AND EXISTS (
      WITH RECURSIVE reached AS (
        SELECT to_regclass(n)::oid AS id FROM unnest($1::text[]) n
        UNION SELECT c.oid FROM pg_class c WHERE c.relnamespace = to_regnamespace('holdfast') AND c.relkind IN ('r', 'p')
        UNION SELECT n.id FROM reached r CROSS JOIN LATERAL (
          SELECT i.inhrelid AS id FROM pg_inherits i WHERE i.inhparent = r.id
          UNION ALL SELECT k.conrelid FROM pg_constraint k WHERE k.confrelid = r.id AND k.contype = 'f'
            AND (k.confdeltype IN ('c', 'n', 'd') OR k.confupdtype IN ('c', 'n', 'd'))
        ) n
      ) SELECT FROM reached r WHERE EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = r.id AND \(ofTeam))
        OR EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = r.id AND \(isRule)))
    """)
  private static let ofTeam = TeamTrigger.condition
  /// Not that of a view, nor one of PostgreSQL's own.
  private static let isRule = "w.ev_type <> '1' AND w.ev_enabled <> 'D' AND w.ev_class >= 16384"
  static let holdDevices: PostgresStatement =
    "SELECT FROM holdfast.devices WHERE number = ANY ($1) ORDER BY number FOR NO KEY UPDATE"
  static let holdZones: PostgresStatement =
    "SELECT FROM holdfast.zones WHERE zone = ANY ($1) ORDER BY zone FOR NO KEY UPDATE"

  /// Fails if another server has added references to the tables `$1` that are not in `$2`, because records of these tables are deleted or
  /// moved.
  static let expectLinks: PostgresStatement = "SELECT holdfast.expect_links($1, $2)"
  /// The references in this server's schema.
  let links: [String]

  let lockDevices: PostgresStatement
  static let findRefusals: PostgresStatement =
    "SELECT device, last FROM holdfast.refusals WHERE device = ANY ($1) ORDER BY device, first"
  static let countAcks: PostgresStatement =
    "SELECT device, count(*) FROM holdfast.acks WHERE device = ANY ($1) GROUP BY device"
  let lockZones: PostgresStatement
  /// Selects the wanted zones that exist, even if another transaction has locked them.
  static let findZones = PostgresStatement(
    wanted + "SELECT z.zone FROM holdfast.zones z JOIN wanted w ON w.zone = z.zone")
  /// The roles of the users `$2` in the zones `$1`, and of `$5` in the zones of the records whose tables and ids are `$3` and `$4`; null for none. Each
  /// zone is asked about for the users alone who have to do with it.
  static let findRoles: PostgresStatement = """
    WITH wanted AS MATERIALIZED (
      SELECT u.zone, u.name FROM unnest($1::text[], $2::text[]) AS u (zone, name) UNION
      SELECT r.zone, k.name FROM unnest($3::text[], $4::text[], $5::text[]) AS k (t, i, name)
      JOIN holdfast.records r ON r.record_table = k.t AND r.id = k.i AND r.state < 2
    )
    SELECT w.zone, w.name, m.role FROM wanted w
    LEFT JOIN holdfast.access m ON m.zone = w.zone AND m."user" = w.name
    """
  /// Locks tables against other triggers, rules and column types until the end of the transaction; not against writers.
  static func keepFromChanging(_ relations: [String]) -> PostgresStatement {
    PostgresStatement("LOCK TABLE \(relations.joined(separator: ", ")) IN ROW EXCLUSIVE MODE")
  }

  /// The places in `$1`, from 1, of the tables that keep each value as it is written: they have no trigger of a team, no rule, no part, and
  /// only types that are exact.
  static let findVerbatim = PostgresStatement(
    """
    SELECT n.place FROM unnest($1::text[]) WITH ORDINALITY n (name, place)
    CROSS JOIN LATERAL (SELECT to_regclass(n.name)::oid AS id OFFSET 0) c
    WHERE NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.id AND \(ofTeam))
      AND NOT EXISTS (SELECT FROM pg_class p WHERE p.oid = c.id AND (p.relkind <> 'r' OR p.relhassubclass))
      AND NOT EXISTS (SELECT FROM pg_rewrite r WHERE r.ev_class = c.id)
      AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.id AND a.attnum > 0 AND NOT a.attisdropped
        AND (a.attgenerated <> '' OR a.atttypid <> ALL ('{text,bigint,float8,bool,json}'::regtype[]::oid[])))
    """)
  static let findNames: PostgresStatement =
    "SELECT id, name FROM holdfast.accounts WHERE id = ANY ($1) AND erasure = 0"
  /// The history, for the first reading of a transaction.
  let findHistory: PostgresStatement
  /// In schema order.
  let records: [Records]

  /// The zones `$1`, and those of the records with tables `$2` and ids `$3`.
  private static let wanted = """
    WITH wanted AS MATERIALIZED (
      SELECT unnest($1::text[]) AS zone UNION
      SELECT r.zone FROM unnest($2::text[], $3::text[]) AS k (t, i)
      JOIN holdfast.records r ON r.record_table = k.t AND r.id = k.i AND r.state < 2
    )

    """

  init(_ schema: SyncSchema, _ layout: PostgresLayout, _ lane: PostgresStore.Lane) {
    links = schema.links.map { schema.name(of: $0) }
    findHistory = PostgresEpoch.findCurrent(timeline: layout.timeline)
    let skip = lane == .fast ? " SKIP LOCKED" : ""
    lockDevices = PostgresStatement(
      """
      SELECT \(DeviceRow.columns) FROM holdfast.devices
      WHERE number = ANY ($1) ORDER BY number FOR NO KEY UPDATE\(skip)
      """)
    lockZones = PostgresStatement(
      Self.wanted + """
        SELECT z.zone, z.seq, z.public, z.clock, z.records, z.bytes, z.left_for FROM holdfast.zones z JOIN wanted w ON w.zone = z.zone
        ORDER BY z.zone FOR NO KEY UPDATE OF z\(skip)
        """)
    records = zip(schema.tables, layout.relations).map { Self.records($0, $1, lane) }
  }

  private static func records(
    _ schema: TableSchema, _ relation: PostgresLayout.Relation, _ lane: PostgresStore.Lane
  ) -> Records {
    let table = PostgresName.literal(relation.table)
    let zone = relation.hasZone ? ["\"zone\""] : []
    let names = (["\"id\""] + zone + relation.columns.map(\.name)).joined(separator: ", ")
    let first = 2 + zone.count
    let arrays =
      ["$1::text[]"] + zone.map { _ in "$2::text[]" }
      + relation.columns.enumerated().map { "$\($0 + first)::\($1.type.postgresElement)[]" }
    let given = relation.columns.indices.map { "c\($0)" }
    let values =
      ["u.id\(relation.idCast)"] + zone.map { _ in "u.zone" }
      + zip(relation.columns, given).map { column, name in
        let value = "u.\(name)\(column.cast)"
        return column.filling.map { "coalesce(\(value), \($0))" } ?? value
      }
    let columns = relation.columns.map { ", \($0.read)" }.joined()
    let ids = "$1::text[]\(relation.idCast.isEmpty ? "" : relation.idCast + "[]")"
    let stored = "SELECT t.id::text FROM \(relation.name) t WHERE t.id = ANY (\(ids)) ORDER BY t.id"
    return Records(
      lock: PostgresStatement("\(stored) FOR NO KEY UPDATE\(lane == .fast ? " SKIP LOCKED" : "")"),
      lockDeleted: PostgresStatement("\(stored) FOR UPDATE\(lane == .fast ? " NOWAIT" : "")"),
      find: PostgresStatement(
        """
        SELECT r.id, r.zone, \(RecordPlace.stateSQL), \(RecordPlace.columnsSQL)\(columns)
        FROM holdfast.records r LEFT JOIN \(relation.name) t
        ON t.id = \(relation.liveKey) AND r.state = 0\(relation.hasZone ? " AND t.zone = r.zone" : "")
        WHERE r.record_table = \(table) AND r.id = ANY ($1)
        """),
      insert: inserting(
        """
        INSERT INTO \(relation.name) AS t (\(names)) SELECT \(values.joined(separator: ", "))
        FROM unnest(\(arrays.joined(separator: ", "))) AS u (\((["id"] + zone.map { _ in "zone" } + given).joined(separator: ", ")))
        """, into: relation),
      delete: counted("DELETE FROM \(relation.name) t WHERE t.id = ANY (\(ids))", of: relation.table),
      findWhere: relation.columns.map { findWhere($0, of: relation) },
      findSame: schema.unique.map { findSame($0, of: schema, relation) })
  }

  /// An INSERT. It returns its rows in the order of the given ones.
  private static func inserting(_ sql: String, into relation: PostgresLayout.Relation) -> PostgresStatement {
    guard relation.isRewritten else { return counted(sql, of: relation.table) }
    let first = relation.hasZone ? 3 : 2
    var (values, kept) = (["\(relation.id("t")) AS id"], ["array_agg(w.id) = $1::text[]"])
    if relation.hasZone {
      values.append("t.zone AS zone")
      kept.append("array_agg(w.zone) = $2::text[]")
    }
    if let parent = relation.parent {
      values.append("\(relation.columns[parent].bytes("t.")) AS parent")
      kept.append("array_agg(w.parent) = $\(parent + first)::text[]")
    }
    return placed(
      sql, returning: values.joined(separator: ", "), kept: kept.joined(separator: " AND "),
      of: relation.table)
  }

  private static func findWhere(_ column: PostgresLayout.Column, of relation: PostgresLayout.Relation)
    -> PostgresStatement?
  {
    if column.type.postgresElement != "text" { return nil }
    return PostgresStatement(
      """
      SELECT t.id::text, u.value FROM unnest($1::text[]) AS u (value)
      JOIN \(relation.name) t ON t.\(column.name) = u.value\(column.cast) LIMIT $2
      """)
  }

  private static func findSame(
    _ group: [String], of table: TableSchema, _ relation: PostgresLayout.Relation
  ) -> PostgresStatement {
    let same = group.enumerated().map { place, name in
      let column = relation.columns[table.index(of: name) ?? 0]
      return " AND t.\(column.name) = $\(place + 2)\(column.cast)"
    }
    return PostgresStatement(
      """
      SELECT r.id FROM \(relation.name) t
      JOIN holdfast.records r ON r.record_table = \(PostgresName.literal(relation.table)) AND r.id = \(relation.id("t"))
      WHERE r.zone = $1 AND r.state = 0\(same.joined())
      """)
  }

  /// Updates some columns of records: `$1` are the ids, `$2` the zones if the table has a zone column, then the columns.
  static func update(_ relation: PostgresLayout.Relation, columns: [Int]) -> PostgresStatement {
    let zone = relation.hasZone ? ["\"zone\" = u.zone"] : []
    let first = 2 + zone.count
    let changed = columns.map { relation.columns[$0] }
    let arrays =
      ["$1::text[]"] + zone.map { _ in "$2::text[]" }
      + changed.enumerated().map { "$\($0 + first)::\($1.type.postgresElement)[]" }
    let given = changed.indices.map { "c\($0)" }
    let settings =
      zone + zip(changed, given).map { column, name in "\(column.name) = u.\(name)\(column.cast)" }
    let sql = """
      UPDATE \(relation.name) t SET \(settings.joined(separator: ", "))
      FROM unnest(\(arrays.joined(separator: ", "))) AS u (\((["id"] + zone.map { _ in "zone" } + given).joined(separator: ", ")))
      """
    let condition = "WHERE t.id = u.id\(relation.idCast)"
    guard relation.isRewritten else { return counted("\(sql) \(condition)", of: relation.table) }
    var kept = ["\(relation.id("t")) = u.id"]
    if relation.hasZone { kept.append("t.zone = u.zone") }
    if let parent = relation.parent {
      // A column that is not written is as it was before.
      let before = columns.firstIndex(of: parent).map { "u.c\($0)" } ?? relation.columns[parent].bytes("o.")
      kept.append("\(relation.columns[parent].bytes("t.")) IS NOT DISTINCT FROM \(before)")
    }
    return placed(
      "\(sql) JOIN \(relation.name) o ON o.id = u.id\(relation.idCast) \(condition)",
      returning: "\(kept.joined(separator: " AND ")) AS kept", kept: "coalesce(bool_and(w.kept), true)",
      of: relation.table)
  }
}
