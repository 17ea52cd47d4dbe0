import HoldfastPostgres

/// The triggers of a team that write tables themselves. What they write in a transaction of the service is not in the ledger, and so on no
/// device: docs/POSTGRES.md, section 4.
struct PostgresTeamTriggers {
  /// The body of a function says that it writes, outside of its texts and comments. What it calls is not looked at.
  private static let find: PostgresStatement = """
    SELECT DISTINCT format('%s on %s', t.tgname, t.tgrelid::regclass::text) AS name
    FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN holdfast.tables h ON t.tgrelid = to_regclass(h.relation)
    WHERE NOT t.tgisinternal AND t.tgname NOT LIKE 'holdfast\\_%' AND t.tgenabled <> 'D'
      AND regexp_replace(p.prosrc, '''[^'']*''|--[^\\n]*', '', 'g') ~* '\\m(insert|update|delete|merge|truncate|execute)\\M'
    ORDER BY name
    """

  /// A line for each, with what to do.
  static func warnings(on connection: PostgresConnection) throws(PostgresError) -> [String] {
    try connection.query(find).texts.map { name in
      """
      trigger: \(name) writes tables itself. What it writes when a device or a program changes a record here is not sent to devices. Let it \
      change NEW alone, or do it in the program that writes; `holdfast doctor --repair` feeds what it has written.
      """
    }
  }
}
