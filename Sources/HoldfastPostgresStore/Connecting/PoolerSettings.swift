import HoldfastPostgres
import HoldfastService

/// The settings that connections through a pooler have from their role or database, since a pooler keeps none that a client sets.
enum PoolerSettings {
  private static let wanted = ["row_security = off", "extra_float_digits = 1", "search_path = public"]

  private static let find: PostgresStatement = """
    SELECT format('%I', current_user), current_setting('row_security') = 'off',
      current_setting('extra_float_digits')::int >= 1,
      coalesce((current_schemas(false))[1] <> 'holdfast', true)
    """
  /// The same for the settings with which a connection begins.
  private static let findInitial: PostgresStatement = """
    SELECT format('%I', current_user), bool_and(s.reset_val = 'off') FILTER (WHERE s.name = 'row_security'),
      bool_and(s.reset_val::int >= 1) FILTER (WHERE s.name = 'extra_float_digits'), true
    FROM pg_settings s WHERE s.name IN ('row_security', 'extra_float_digits')
    """

  /// Refuses a new connection through a pooler on which records would be missing, or numbers rounded, without an error.
  static func require(on connection: PostgresConnection) throws(PostgresError) {
    if let text = try text(of: find, on: connection) {
      throw PostgresError(.cannotConnectNow, text, while: .connecting)
    }
  }

  /// Refuses to serve through such a pooler.
  ///
  /// - Parameter connection: to the database itself, of the same role.
  static func require(initially connection: PostgresConnection) throws {
    if let text = try text(of: findInitial, on: connection) { throw ServerError(.refused, text) }
  }

  /// What an operator has to run; nil if nothing is missing.
  private static func text(of find: PostgresStatement, on connection: PostgresConnection)
    throws(PostgresError) -> String?
  {
    let rows = try connection.queryOnce(find)
    let missing = wanted.indices.filter { !rows.bool(0, $0 + 1) }
    if missing.isEmpty { return nil }
    let remedy = missing.map { "ALTER ROLE \(rows.text(0, 0)) SET \(wanted[$0]);" }.joined(separator: " ")
    return """
      Through the pooler, records that row-level security hides would be missing without an error, numbers rounded, or tables looked \
      for in the wrong schema. Run in PostgreSQL: \(remedy) Then RECONNECT in the pooler's console.
      """
  }
}
