import Foundation
import HoldfastPostgres

/// Databases on a running Citus cluster, whose coordinator HOLDFAST_TEST_CITUS names by the URL of a superuser.
public enum TemporaryCitus {
  /// Makes a database on all nodes, and the extension in it. The nodes take the role and password of the URL.
  ///
  /// - Returns: its URL on the coordinator; nil when no cluster is given.
  public static func makeDatabase() throws -> String? {
    guard let url = ProcessInfo.processInfo.environment["HOLDFAST_TEST_CITUS"], !url.isEmpty else {
      return nil
    }
    let name = "test_" + String(UInt64.random(in: 0 ... .max), radix: 36)
    let coordinator = try PostgresConnection(url)
    defer { coordinator.close() }
    let nodes = try coordinator.query(
      "SELECT nodename, nodeport::bigint, groupid = 0 FROM pg_dist_node WHERE noderole = 'primary'")
    try coordinator.execute("SET citus.enable_create_database_propagation = off")
    try coordinator.execute("CREATE DATABASE \(name)")
    let database = try self.url(url, database: name)
    let inside = try PostgresConnection(database)
    defer { inside.close() }
    try inside.execute("CREATE EXTENSION citus")
    for row in nodes.indices where nodes.bool(row, 2) {
      try inside.run(
        "SELECT citus_set_coordinator_host($1, $2::integer)",
        PostgresParameters(nodes.text(row, 0), nodes.int64(row, 1)))
    }
    for row in nodes.indices where !nodes.bool(row, 2) {
      let (host, port) = (nodes.text(row, 0), nodes.int64(row, 1))
      try run(
        "SET citus.enable_create_database_propagation = off", "CREATE DATABASE \(name)",
        at: self.url(url, host: host, port: port))
      try run("CREATE EXTENSION citus", at: self.url(url, host: host, port: port, database: name))
      try inside.run("SELECT citus_add_node($1, $2::integer)", PostgresParameters(host, port))
    }
    return database
  }

  private static func run(_ statements: String..., at url: String) throws {
    let connection = try PostgresConnection(url)
    defer { connection.close() }
    for statement in statements { try connection.execute(statement) }
  }

  private static func url(
    _ url: String, host: String? = nil, port: Int64? = nil, database: String? = nil
  ) throws -> String {
    guard var parts = URLComponents(string: url) else { throw TemporaryPostgresError("\(url) is no URL") }
    if let host { parts.host = host }
    if let port { parts.port = Int(port) }
    if let database { parts.path = "/\(database)" }
    guard let text = parts.string else { throw TemporaryPostgresError("\(url) is no URL") }
    return text
  }
}
