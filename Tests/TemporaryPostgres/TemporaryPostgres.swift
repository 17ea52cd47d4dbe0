import Foundation
import HoldfastPostgres
import Synchronization

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
      // Nobody kills this one, and making databases is several times as fast in memory, unwritten. Autovacuum would start a process for
      // each of hundreds of databases once a minute.
      let server = try TemporaryPostgres(in: memory ?? NSTemporaryDirectory())
      for setting in ["fsync = off", "full_page_writes = off", "autovacuum = off", "max_wal_size = '8GB'"] {
        try server.psql(server.url, "ALTER SYSTEM SET \(setting)")
      }
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

  /// The superuser's connection on which databases are made: another one for each would cost as much as half of that.
  private let maker = Mutex<PostgresConnection?>(nil)

  private init(url: String, folder: String?, lifeline: Int32) {
    self.url = url
    self.folder = folder
    self.lifeline = lifeline
  }

  /// Starts a cluster of its own, which a test may kill and restart; the port stays the same.
  public convenience init() throws { try self.init(in: NSTemporaryDirectory()) }

  private convenience init(in base: String) throws {
    let (folder, lifeline) = try Script.postgres.makeFolder(in: base, stopping: "immediate")
    try self.init(url: Script.postgres.run("start", folder), folder: folder, lifeline: lifeline)
  }

  /// A folder of the memory's file system with room for the databases of all tests, 8 MiB each; nil where there is none.
  private static var memory: String? {
    let folder = "/dev/shm"
    var space = statvfs()
    guard access(folder, W_OK) == 0, statvfs(folder, &space) == 0 else { return nil }
    return UInt64(space.f_bavail) * UInt64(space.f_frsize) >= 8 << 30 ? folder : nil
  }

  /// Starts a standby of a server, which follows it as long as they are connected.
  public convenience init(standbyOf other: TemporaryPostgres) throws {
    let (folder, lifeline) = try Script.postgres.makeFolder(stopping: "immediate")
    try self.init(
      url: Script.postgres.run("standby", folder, other.url), folder: folder, lifeline: lifeline)
  }

  /// Makes a standby a server of its own.
  public func promote() throws { _ = try Script.postgres.run("promote", ownFolder()) }

  /// Copies the files of the stopped server.
  public func keep() throws { _ = try Script.postgres.run("keep", ownFolder()) }

  /// Puts the files that were copied in the place of those of the stopped server.
  public func putBack() throws { _ = try Script.postgres.run("put-back", ownFolder()) }

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
  /// - Parameter encoding: the encoding of its texts; nil for the cluster's.
  /// - Returns: the URL by which that role opens it.
  public func makeDatabase(encoding: String? = nil) throws -> String {
    let name = Self.newName()
    return try makeDatabase(
      name, owner: name, template: "template0",
      options: encoding.map { "ENCODING '\($0)' LC_COLLATE 'C' LC_CTYPE 'C'" } ?? "",
      after: "CREATE ROLE \(name) LOGIN PASSWORD '\(name)' NOSUPERUSER NOCREATEDB NOCREATEROLE")
  }

  /// Makes a database that the role `holdfast` owns, whose `search_path` begins with the schema `holdfast` where there is one.
  ///
  /// - Returns: the URL by which that role opens it.
  public func makeDatabaseOfRoleHoldfast() throws -> String {
    try makeDatabase(
      Self.newName(), owner: "holdfast", template: "template0",
      after: """
        DO $$ BEGIN
          CREATE ROLE holdfast LOGIN PASSWORD 'holdfast' NOSUPERUSER NOCREATEDB NOCREATEROLE;
        EXCEPTION WHEN duplicate_object THEN NULL; END $$
        """)
  }

  /// Makes a copy of a database that `makeDatabase()` made and nobody is connected to, for the same role.
  ///
  /// - Returns: the URL by which that role opens it.
  public func makeDatabase(copying original: String) throws -> String {
    guard let role = URLComponents(string: original)?.user else {
      throw TemporaryPostgresError("\(original) names no role")
    }
    return try makeDatabase(Self.newName(), owner: role, template: role)
  }

  private func makeDatabase(
    _ name: String, owner: String, template: String, options: String = "", after first: String? = nil
  ) throws -> String {
    try maker.withLock { kept in
      let connection = try kept.flatMap { $0.isUsable ? $0 : nil } ?? PostgresConnection(url)
      kept = connection
      if let first { try connection.execute(first) }
      // Copying files takes half the work of copying through the log, which 15 would do; earlier ones know no other way.
      let strategy = connection.serverVersion >= 150_000 ? " STRATEGY file_copy" : ""
      try connection.execute(
        "CREATE DATABASE \(name) OWNER \(owner) TEMPLATE \(template)\(strategy) \(options)")
    }
    return try Self.url(url, role: owner, database: name)
  }

  /// The URL by which the superuser opens a database that `makeDatabase()` made.
  public func superuserURL(of database: String) throws -> String {
    guard var parts = URLComponents(string: url), let path = URLComponents(string: database)?.path else {
      throw TemporaryPostgresError("\(database) is no URL")
    }
    parts.path = path
    guard let text = parts.string else { throw TemporaryPostgresError("\(database) is no URL") }
    return text
  }

  /// A server that runs on keeps those of earlier runs.
  private static func newName() -> String { "test_" + String(UInt64.random(in: 0 ... .max), radix: 36) }

  /// Runs statements as whom the URL says, on a connection of their own.
  public func psql(_ url: String, _ sql: String) throws {
    let connection = try PostgresConnection(url)
    defer { connection.close() }
    try connection.execute(sql)
  }

  /// The roles that have the settings which a pooler's connections need.
  private static let poolerRoles = Mutex<[String]>([])

  /// Whether `pooled` gives URLs.
  public static var isPooled: Bool { TemporaryPooler.shared != nil }

  /// The URL by which a database of the shared cluster is reached through PgBouncer, in transaction mode; nil unless
  /// `HOLDFAST_TEST_POSTGRES_POOLER` is set to anything.
  public static func pooled(_ url: String) throws -> String? {
    guard let pooler = TemporaryPooler.shared else { return nil }
    let pooled = try pooler.url(of: url)
    try poolerRoles.withLock { roles in
      let role = URLComponents(string: url)?.user ?? ""
      if roles.contains(role) { return }
      try shared.psql(url, "ALTER ROLE CURRENT_USER SET row_security = off")
      roles.append(role)
    }
    return pooled
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
