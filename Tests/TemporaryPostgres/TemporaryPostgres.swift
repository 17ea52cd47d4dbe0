import Foundation
import HoldfastPostgres

/// A PostgreSQL cluster in a temporary folder, started by Scripts/postgres.sh, and databases in it.
///
/// It goes with the process: a watchdog stops the server and removes the folder when the process has ended, however
/// it did.
public final class TemporaryPostgres: Sendable {
  /// The cluster that all tests of this process share, started at first use; or the running server that
  /// `HOLDFAST_TEST_POSTGRES` names by the URL of a superuser.
  public static let shared: TemporaryPostgres = {
    do {
      if let url = ProcessInfo.processInfo.environment["HOLDFAST_TEST_POSTGRES"], !url.isEmpty {
        return TemporaryPostgres(url: url, folder: nil, lifeline: -1)
      }
      let server = try TemporaryPostgres()
      // Nobody kills this one, and making databases is several times as fast.
      try server.psql(server.url, "ALTER SYSTEM SET fsync = off")
      try server.psql(server.url, "SELECT pg_reload_conf()")
      return server
    } catch {
      fatalError("No PostgreSQL server could be started: \(error)")
    }
  }()

  /// Whether the tests that run on either engine are to run on PostgreSQL: HOLDFAST_TEST_STORE says `postgres`.
  public static let isChosen = ProcessInfo.processInfo.environment["HOLDFAST_TEST_STORE"] == "postgres"

  /// The URL of the superuser's own database.
  public let url: String

  private let folder: String?

  /// What the watchdog reads from; its end is the sign to stop the server. -1 for none.
  private let lifeline: Int32

  private init(url: String, folder: String?, lifeline: Int32) {
    self.url = url
    self.folder = folder
    self.lifeline = lifeline
  }

  /// Starts a cluster of its own, which a test may kill and restart; the port stays the same.
  public convenience init() throws {
    let (folder, lifeline) = try Script.postgres.makeFolder(stopping: "immediate")
    try self.init(url: Script.postgres.run("start", folder), folder: folder, lifeline: lifeline)
  }

  deinit { if lifeline >= 0 { close(lifeline) } }

  /// Stops the server and starts it again.
  ///
  /// - Parameter isCrash: whether it ends without a checkpoint, and recovers at its start.
  public func restart(isCrash: Bool = false) throws {
    _ = try Script.postgres.run("restart", ownFolder(), isCrash ? "immediate" : "fast")
  }

  /// Kills the server and all its processes, as a loss of power would end them.
  public func kill() throws { _ = try Script.postgres.run("kill", ownFolder()) }

  /// Stops the server.
  public func stop() throws { _ = try Script.postgres.run("stop", ownFolder(), "fast") }

  /// Starts the server that was stopped or killed.
  public func start() throws { _ = try Script.postgres.run("start", ownFolder()) }

  private func ownFolder() throws -> String {
    guard let folder else {
      throw TemporaryPostgresError("The server of HOLDFAST_TEST_POSTGRES is not started or stopped here.")
    }
    return folder
  }

  /// Makes a database and a role without privileges that owns it.
  ///
  /// - Returns: the URL by which that role opens it.
  public func makeDatabase() throws -> String {
    // A server that runs on keeps those of earlier runs.
    let name = "test_" + String(UInt64.random(in: 0 ... .max), radix: 36)
    let connection = try PostgresConnection(url)
    defer { connection.close() }
    try connection.execute(
      "CREATE ROLE \(name) LOGIN PASSWORD '\(name)' NOSUPERUSER NOCREATEDB NOCREATEROLE")
    // Copying template0 through the log is faster than copying its files, and new in 15.
    let strategy = connection.serverVersion >= 150_000 ? " STRATEGY wal_log" : ""
    try connection.execute("CREATE DATABASE \(name) OWNER \(name) TEMPLATE template0\(strategy)")
    return try Self.url(url, role: name, database: name)
  }

  /// Runs statements as whom the URL says, on a connection of their own.
  public func psql(_ url: String, _ sql: String) throws {
    let connection = try PostgresConnection(url)
    defer { connection.close() }
    try connection.execute(sql)
  }

  /// The URL by which a database of the shared cluster is reached through PgBouncer, in transaction mode; nil unless
  /// `HOLDFAST_TEST_POSTGRES_POOLER` is set to anything.
  public static func pooled(_ url: String) throws -> String? {
    guard let pooler = TemporaryPooler.shared else { return nil }
    guard var parts = URLComponents(string: url), let other = URLComponents(string: pooler.url) else {
      throw TemporaryPostgresError("\(url) is no URL")
    }
    (parts.host, parts.port) = (other.host, other.port)
    return parts.string
  }

  /// The same server for another role, whose password is its name, and another database.
  private static func url(_ url: String, role: String, database: String) throws -> String {
    guard var parts = URLComponents(string: url) else { throw TemporaryPostgresError("\(url) is no URL") }
    parts.user = role
    parts.password = role
    parts.path = "/\(database)"
    guard let text = parts.string else { throw TemporaryPostgresError("\(url) is no URL") }
    return text
  }
}

/// Why no server could be used.
public struct TemporaryPostgresError: Error, CustomStringConvertible {
  /// The reason in words.
  public let description: String

  init(_ description: String) { self.description = description }
}
