import HoldfastPostgres
import HoldfastService

/// The settings that connections through a pooler have from their role or database, since a pooler keeps none that a client sets.
enum PoolerSettings {
  private static let find: PostgresStatement = """
    SELECT format('%I', current_user), current_setting('row_security') = 'off',
      current_setting('extra_float_digits')::int >= 1,
      coalesce((current_schemas(false))[1] <> 'holdfast', true)
    """

  /// What an operator has to run; nil if nothing is missing.
  static func remedy(for connection: PostgresConnection) throws(PostgresError) -> String? {
    let rows = try connection.queryOnce(find)
    let settings = ["row_security = off", "extra_float_digits = 1", "search_path = public"]
    let missing = settings.indices.filter { !rows.bool(0, $0 + 1) }
    guard !missing.isEmpty else { return nil }
    return missing.map { "ALTER ROLE \(rows.text(0, 0)) SET \(settings[$0]);" }.joined(separator: " ")
  }

  /// Refuses a new connection through a pooler on which records would be missing, or numbers rounded, without an error.
  static func require(on connection: PostgresConnection) throws(PostgresError) {
    guard let remedy = try remedy(for: connection) else { return }
    throw PostgresError(.cannotConnectNow, text(remedy), while: .connecting)
  }

  /// Refuses to serve through such a pooler. One that is not reachable is no reason not to start.
  static func require(through location: PostgresLocation) throws {
    guard location.direct != nil,
      let connection = try? PostgresConnection(location.url, options: location.options(.reads))
    else { return }
    defer { connection.close() }
    if let remedy = try remedy(for: connection) { throw ServerError(.refused, text(remedy)) }
  }

  private static func text(_ remedy: String) -> String {
    """
    Through the pooler, records that row-level security hides would be missing without an error, numbers rounded, or tables looked \
    for in the wrong schema. Run in PostgreSQL: \(remedy) Then RECONNECT in the pooler's console.
    """
  }
}
