import HoldfastPostgres
import HoldfastPostgresStore
import HoldfastSQLiteStore
import HoldfastService

extension DatabaseLocation {
  /// What tells this database from a copy of it: the cluster and the number of a PostgreSQL database, the machine and the path of a data
  /// directory.
  func identity() throws -> String {
    switch self {
    case .directory(let path):
      return "sqlite \(AuditAuthor.machine) \(RealPath(path)?.text ?? path)"
    case .postgres(let location):
      let connection = try PostgresConnection(
        location.direct ?? location.url, options: location.options(.administers))
      defer { connection.close() }
      let database = try connection.query(
        "SELECT oid::text, has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE') FROM pg_database WHERE datname = current_database()"
      )
      let system =
        database.bool(0, 1)
        ? try connection.query("SELECT system_identifier::text FROM pg_control_system()").text(0, 0) : ""
      return "postgres \(system) \(database.text(0, 0))"
    }
  }
}
