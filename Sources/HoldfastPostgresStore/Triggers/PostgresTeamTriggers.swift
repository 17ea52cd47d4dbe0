import HoldfastPostgres
import HoldfastService

/// The triggers of a team that write tables themselves. In a transaction of the service, their writes do not reach the ledger or any
/// device: docs/POSTGRES.md, section 4. They are found by keywords in their functions, outside of texts and comments. Functions that those
/// call are not examined.
struct PostgresTeamTriggers {
  /// Selects the name of each such trigger, and whether it writes a table of the schema. `OFFSET 0` keeps PostgreSQL from examining the
  /// functions of no such trigger, which are thousands.
  private static let find: PostgresStatement = #"""
    SELECT format('%s on %s', t.tgname, t.tgrelid::regclass::text) AS name, bool_or(EXISTS (
      SELECT FROM holdfast.tables w JOIN pg_class c ON c.oid = to_regclass(w.relation)
      WHERE b.body ~* ('\m(into|update|delete\s+from|truncate(\s+table)?)\s+(only\s+)?([\w"]+\.)?"?'
        || regexp_replace(c.relname, '(\W)', '\\\1', 'g') || '"?(\W|$)')))
    FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN holdfast.tables h ON t.tgrelid = to_regclass(h.relation)
    CROSS JOIN LATERAL (SELECT regexp_replace(p.prosrc, '''[^'']*''|--[^\n]*', '', 'g') AS body OFFSET 0) b
    WHERE NOT t.tgisinternal AND t.tgname NOT LIKE 'holdfast\_%' AND t.tgenabled <> 'D'
      AND b.body ~* '\m(insert|update|delete|merge|truncate|execute)\M'
    GROUP BY 1 ORDER BY 1
    """#

  /// A warning for each, with what to do.
  static func warnings(on connection: PostgresConnection) throws(PostgresError) -> [Finding] {
    try connection.query(find).texts.map { name in
      Finding(
        .trigger,
        """
        \(name) writes tables itself. What it writes when a device or a program changes a record here is not sent to devices. Let it \
        change NEW alone, or do it in the program that writes; `holdfast doctor --repair` feeds what it has written.
        """)
    }
  }

  /// The triggers that write tables of the schema. They prevent an adoption.
  static func faults(on connection: PostgresConnection) throws(PostgresError) -> [String] {
    let rows = try connection.query(find)
    return rows.indices.filter { rows.bool($0, 1) }.map { row in
      """
      The trigger \(rows.text(row, 0)) writes tables of the schema itself, which devices would not be sent. Let it change NEW alone, or \
      do it in the program that writes.
      """
    }
  }
}
