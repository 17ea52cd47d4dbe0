import HoldfastPostgres
import HoldfastService

/// The triggers of a team that write tables themselves. What they write in a transaction of the service is not in the ledger, and so on no
/// device: docs/POSTGRES.md, section 4. They are found by the words of their functions, outside of texts and comments. What those call is not
/// looked at.
struct PostgresTeamTriggers {
  /// What a trigger is called, and whether it names a table of the schema where it writes.
  private static let find: PostgresStatement = #"""
    SELECT format('%s on %s', t.tgname, t.tgrelid::regclass::text) AS name, bool_or(EXISTS (
      SELECT FROM holdfast.tables w JOIN pg_class c ON c.oid = to_regclass(w.relation)
      WHERE b.body ~* ('\m(into|update|delete\s+from|truncate(\s+table)?)\s+(only\s+)?([\w"]+\.)?"?'
        || regexp_replace(c.relname, '(\W)', '\\\1', 'g') || '"?(\W|$)')))
    FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN holdfast.tables h ON t.tgrelid = to_regclass(h.relation)
    CROSS JOIN LATERAL (SELECT regexp_replace(p.prosrc, '''[^'']*''|--[^\n]*', '', 'g') AS body) b
    WHERE NOT t.tgisinternal AND t.tgname NOT LIKE 'holdfast\_%' AND t.tgenabled <> 'D'
      AND b.body ~* '\m(insert|update|delete|merge|truncate|execute)\M'
    GROUP BY 1 ORDER BY 1
    """#

  /// A line for each, with what to do.
  static func warnings(on connection: PostgresConnection) throws(PostgresError) -> [String] {
    try connection.query(find).texts.map { name in
      """
      trigger: \(name) writes tables itself. What it writes when a device or a program changes a record here is not sent to devices. Let it \
      change NEW alone, or do it in the program that writes; `holdfast doctor --repair` feeds what it has written.
      """
    }
  }

  /// Those that write tables of the schema: with them tables are not adopted.
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
