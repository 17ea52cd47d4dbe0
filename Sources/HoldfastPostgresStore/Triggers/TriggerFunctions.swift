import HoldfastPostgres

/// The functions in the schema `holdfast` as the database has them. `meta` keeps their fingerprint. A function that is dropped or replaced
/// takes no trigger with it if triggers only call it, and then each writer in SQL fails.
enum TriggerFunctions {
  private static let mark = """
    SELECT md5(coalesce(string_agg(concat_ws('|', p.proname, pg_get_function_identity_arguments(p.oid), p.prosrc, p.proconfig::text,
      p.prosecdef::text, p.provolatile), E'\\n' ORDER BY p.proname, pg_get_function_identity_arguments(p.oid)), ''))
    FROM pg_proc p WHERE p.pronamespace = 'holdfast'::regnamespace
    """
  private static let compare = PostgresStatement(
    "SELECT m.value <> (\(mark)) FROM holdfast.meta m WHERE m.key = 'functions'")
  private static let store = PostgresStatement(
    """
    INSERT INTO holdfast.meta (key, value) SELECT 'functions', (\(mark))
    ON CONFLICT (key) DO UPDATE SET value = excluded.value
    """)

  /// Whether they are not those that were installed last.
  static func areOthers(on connection: PostgresConnection) throws(PostgresError) -> Bool {
    let rows = try connection.query(compare)
    return !rows.isEmpty && rows.bool(0, 0)
  }

  /// Stores them as they are now.
  static func keep(on connection: PostgresConnection) throws(PostgresError) {
    try connection.run(store)
  }
}
