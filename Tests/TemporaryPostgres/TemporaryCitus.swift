import Foundation
import HoldfastPostgres

/// Databases on a running Citus cluster, whose coordinator HOLDFAST_TEST_CITUS names by the URL of a superuser.
public struct TemporaryCitus: Sendable {
  /// The cluster that the tests are to run on; nil when none is given.
  public static let shared: TemporaryCitus? = {
    guard let url = ProcessInfo.processInfo.environment["HOLDFAST_TEST_CITUS"], !url.isEmpty else {
      return nil
    }
    return TemporaryCitus(coordinator: url)
  }()

  /// The URL of the superuser's own database on the coordinator.
  public let coordinator: String

  /// A node of the cluster.
  public struct Node: Sendable {
    /// Its name or address.
    public let host: String
    /// Its port.
    public let port: Int64
    /// Whether it is the coordinator.
    public let isCoordinator: Bool
  }

  /// The nodes, as the superuser's own database knows them; the coordinator is the first.
  public func nodes() throws -> [Node] {
    let rows = try on(coordinator) {
      try $0.query(
        """
        SELECT nodename, nodeport::bigint, groupid = 0 FROM pg_dist_node WHERE noderole = 'primary' ORDER BY groupid
        """)
    }
    return rows.indices.map {
      Node(host: rows.text($0, 0), port: rows.int64($0, 1), isCoordinator: rows.bool($0, 2))
    }
  }

  /// Makes a database on all nodes, and the extension in it. The nodes take the role and password of the URL.
  ///
  /// - Returns: its URL on the coordinator.
  public func makeDatabase() throws -> String {
    let name = Self.newName()
    let nodes = try nodes()
    for node in nodes {
      try run(
        "SET citus.enable_create_database_propagation = off", "CREATE DATABASE \(name) TEMPLATE template0",
        at: url(node))
      // A test has few records, and each shard of each table costs files.
      try run(
        "CREATE EXTENSION citus", "ALTER DATABASE \(name) SET citus.shard_count = 4",
        at: url(node, database: name))
    }
    let database = try url(database: name)
    try on(database) { inside in
      for node in nodes {
        try inside.run(
          node.isCoordinator
            ? "SELECT citus_set_coordinator_host($1, $2::integer)" : "SELECT citus_add_node($1, $2::integer)",
          PostgresParameters(node.host, node.port))
      }
    }
    return database
  }

  /// Makes a copy of a database of all nodes, to which nobody may connect from then on.
  ///
  /// - Returns: its URL on the coordinator.
  public func makeDatabase(copying original: String) throws -> String {
    let (name, template) = (Self.newName(), try Self.database(of: original))
    for node in try nodes() {
      try run(
        "SET citus.enable_create_database_propagation = off",
        "ALTER DATABASE \(template) ALLOW_CONNECTIONS false",
        // The extension's own process is connected as well.
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '\(template)'",
        "CREATE DATABASE \(name) TEMPLATE \(template) STRATEGY file_copy",
        "ALTER DATABASE \(name) SET citus.shard_count = 4", at: url(node))
    }
    return try url(database: name)
  }

  /// Removes a database from all nodes. Each costs each node a process.
  public func drop(_ database: String) throws {
    let name = try Self.database(of: database)
    for node in try nodes() {
      try run(
        "SET citus.enable_create_database_propagation = off", "DROP DATABASE IF EXISTS \(name) WITH (FORCE)",
        at: url(node))
    }
  }

  /// Runs a statement as the superuser, in its own database on a node.
  public func execute(_ statement: String, on node: Node) throws { try run(statement, at: url(node)) }

  private static func newName() -> String { "test_" + String(UInt64.random(in: 0 ... .max), radix: 36) }

  private static func database(of url: String) throws -> String {
    guard let path = URLComponents(string: url)?.path, path.count > 1 else {
      throw TemporaryPostgresError("\(url) is no URL")
    }
    return String(path.dropFirst())
  }

  private func run(_ statements: String..., at url: String) throws {
    try on(url) { connection in for statement in statements { try connection.execute(statement) } }
  }

  private func on<Result>(_ url: String, _ body: (PostgresConnection) throws -> Result) throws -> Result {
    let connection = try PostgresConnection(url)
    defer { connection.close() }
    return try body(connection)
  }

  /// The URL of a database, on the coordinator unless a node is given.
  public func url(_ node: Node? = nil, database: String? = nil) throws -> String {
    guard var parts = URLComponents(string: coordinator) else {
      throw TemporaryPostgresError("\(coordinator) is no URL")
    }
    if let node { (parts.host, parts.port) = (node.host, Int(node.port)) }
    if let database { parts.path = "/\(database)" }
    guard let text = parts.string else { throw TemporaryPostgresError("\(coordinator) is no URL") }
    return text
  }
}
