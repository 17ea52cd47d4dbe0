import HoldfastPostgres
import HoldfastService

/// The triggers of a team that write tables themselves. In a transaction of the service, their writes do not reach the ledger or any
/// device: docs/POSTGRES.md, section 4. They are found by keywords in their functions, outside of texts and comments. Functions that those
/// call are not examined. Triggers of tables that are not in the schema count if the service's writes reach these through foreign keys, and
/// the triggers write tables of the schema.
struct PostgresTeamTriggers {
  /// Selects the name of each such trigger, and whether it writes a table of the schema. `OFFSET 0` keeps PostgreSQL from examining the
  /// functions of no such trigger, which are thousands. Parameter `$1`: the tables that are not in the schema.
  private static let find = PostgresStatement(
    #"""
    SELECT name, writes FROM (
    SELECT format('%s on %s', t.tgname, t.tgrelid::regclass::text) AS name, bool_or(k.is_known) AS is_known, bool_or(EXISTS (
      SELECT FROM holdfast.tables w JOIN pg_class c ON c.oid = to_regclass(w.relation)
      WHERE b.body ~* ('\m(into|update|delete\s+from|truncate(\s+table)?)\s+(only\s+)?([\w"]+\.)?"?'
        || regexp_replace(c.relname, '(\W)', '\\\1', 'g') || '"?(\W|$)'))) AS writes
    FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
    JOIN (SELECT to_regclass(h.relation) AS oid, true AS is_known FROM holdfast.tables h
      UNION SELECT to_regclass(r), false FROM unnest($1::text[]) r) k ON t.tgrelid = k.oid
    CROSS JOIN LATERAL (SELECT regexp_replace(p.prosrc, '''[^'']*''|--[^\n]*', '', 'g') AS body OFFSET 0) b
    WHERE \#(TeamTrigger.condition)
      AND b.body ~* '\m(insert|update|delete|merge|truncate|execute)\M'
    GROUP BY 1) f WHERE is_known OR writes ORDER BY 1
    """#)

  /// Selects the name of each trigger before a row of the tables `$1` that assigns one of the columns `$2` of NEW, and not only where it is null;
  /// `|` separates a table's columns.
  private static let findPlacing = PostgresStatement(
    #"""
    SELECT format('%s on %s', t.tgname, t.tgrelid::regclass::text) AS name
    FROM unnest($1::text[], $2::text[]) w (relation, columns) JOIN pg_trigger t ON t.tgrelid = to_regclass(w.relation)
    JOIN pg_proc p ON p.oid = t.tgfoid
    CROSS JOIN LATERAL (SELECT regexp_replace(p.prosrc, '''[^'']*''|--[^\n]*', '', 'g') AS body OFFSET 0) b
    WHERE \#(TeamTrigger.condition) AND t.tgtype & 3 = 3
      AND b.body ~* ('((;|\mbegin|\mthen|\melse|\mloop)\s+|\minto\s+(strict\s+)?)new\."?(' || w.columns || ')"?\s*(:?=|\mfrom\M|;)')
      AND b.body !~* ('\mnew\."?(' || w.columns || ')"?\s+is\s+null|coalesce\(\s*new\."?(' || w.columns || ')"?')
    GROUP BY 1 ORDER BY 1
    """#)

  private static func placing(
    on connection: PostgresConnection, _ actions: ReferentialActions
  ) throws(PostgresError) -> [String] {
    var parameters = PostgresParameters(array: actions.written.map(\.relation))
    parameters.append(array: actions.written.map { $0.place.joined(separator: "|") })
    return try connection.query(findPlacing, parameters).texts
  }

  private static func text(placing name: String) -> String {
    """
    The trigger \(name) sets the id of a record, or the column that decides its zone. Where it changes what a device or a program has sent, \
    that is refused. Let it change other columns of NEW, or refuse the row itself.
    """
  }

  /// A warning for each, with what to do.
  static func warnings(
    on connection: PostgresConnection, _ actions: ReferentialActions
  ) throws(PostgresError) -> [Finding] {
    let placing = try placing(on: connection, actions).map { Finding(.trigger, text(placing: $0)) }
    return try placing
      + connection.query(find, PostgresParameters(array: actions.reached)).texts.map { name in
        Finding(
          .trigger,
          """
          \(name) writes tables itself. What it writes when a device or a program changes a record here is not sent to devices. Let it \
          change NEW alone, or do it in the program that writes; `holdfast doctor --repair` feeds what it has written.
          """)
      }
  }

  /// The triggers that write tables of the schema, or move its records. They prevent an adoption.
  static func faults(
    on connection: PostgresConnection, _ actions: ReferentialActions
  ) throws(PostgresError) -> [String] {
    let rows = try connection.query(find, PostgresParameters(array: actions.reached))
    return try placing(on: connection, actions).map(text(placing:))
      + rows.indices.filter { rows.bool($0, 1) }.map { row in
        """
        The trigger \(rows.text(row, 0)) writes tables of the schema itself, which devices would not be sent. Let it change NEW alone, or \
        do it in the program that writes.
        """
      }
  }
}
