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
    let template = NSTemporaryDirectory() + "holdfast-pg-XXXXXX"
    var path = Array(template.utf8CString)
    guard mkdtemp(&path) != nil else { throw TemporaryPostgresError("mkdtemp failed for \(template)") }
    let folder = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let lifeline = try Self.watch(folder)
    try self.init(url: Self.script("start", folder), folder: folder, lifeline: lifeline)
  }

  deinit { if lifeline >= 0 { close(lifeline) } }

  /// Stops the server and starts it again.
  ///
  /// - Parameter isCrash: whether it ends without a checkpoint, and recovers at its start.
  public func restart(isCrash: Bool = false) throws {
    _ = try Self.script("restart", ownFolder(), isCrash ? "immediate" : "fast")
  }

  /// Kills the server and all its processes, as a loss of power would end them.
  public func kill() throws { _ = try Self.script("kill", ownFolder()) }

  /// Stops the server.
  public func stop() throws { _ = try Self.script("stop", ownFolder(), "fast") }

  /// Starts the server that was stopped or killed.
  public func start() throws { _ = try Self.script("start", ownFolder()) }

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

  /// The same server for another role, whose password is its name, and another database.
  private static func url(_ url: String, role: String, database: String) throws -> String {
    guard var parts = URLComponents(string: url) else { throw TemporaryPostgresError("\(url) is no URL") }
    parts.user = role
    parts.password = role
    parts.path = "/\(database)"
    guard let text = parts.string else { throw TemporaryPostgresError("\(url) is no URL") }
    return text
  }

  /// Starts a shell that stops the server and removes the folder when its input ends: when the descriptor given
  /// back is closed, or this process is gone.
  private static func watch(_ folder: String) throws -> Int32 {
    let lifeline = try Subprocess.pipe()
    let script = "trap '' INT TERM HUP; cat; \"$0\" stop \"$1\" immediate; rm -rf \"$1\""
    _ = try Subprocess(["/bin/bash", "-c", script, scriptPath, folder], input: lifeline.reading, output: nil)
    close(lifeline.reading)
    return lifeline.writing
  }

  private static let scriptPath = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Scripts/postgres.sh")
    .path

  /// Runs Scripts/postgres.sh and gives what it printed.
  private static func script(_ arguments: String...) throws -> String {
    let output = try Subprocess.pipe()
    let process = try Subprocess([scriptPath] + arguments, input: nil, output: output.writing)
    close(output.writing)
    let bytes = FileHandle(fileDescriptor: output.reading, closeOnDealloc: true).readDataToEndOfFile()
    guard process.wait() == 0 else {
      throw TemporaryPostgresError("postgres.sh \(arguments.joined(separator: " ")) failed")
    }
    return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}

/// Why no server could be used.
public struct TemporaryPostgresError: Error, CustomStringConvertible {
  /// The reason in words.
  public let description: String

  init(_ description: String) { self.description = description }
}
