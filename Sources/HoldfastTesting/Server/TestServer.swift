public import HoldfastCore
import HoldfastConcurrency
import HoldfastSQLite
public import HoldfastService

/// The server of a test: the rules of the real one, over a database in memory.
///
/// ```swift
/// world.server.refuse("items", because: "No more milk.") { $0["title"] == "Milk" }
/// world.server.stop()
/// ```
///
/// Every method returns when the server has done what it says. Any thread may call it.
///
/// @unchecked Sendable: what is not constant is touched under the lock alone.
public final class TestServer: @unchecked Sendable {
  /// An earlier state of the server's database, which `restore(_:)` returns to.
  ///
  /// @unchecked Sendable: the connection only keeps the database in memory, and the server uses it under its lock.
  public struct Backup: @unchecked Sendable {
    fileprivate let path: String
    fileprivate let connection: SQLiteConnection
  }

  /// The server is stopped.
  struct Stopped: Error, CustomStringConvertible {
    var description: String { "The test's server is stopped." }
  }

  private let lock = Lock()
  private let environment: ServerEnvironment
  private let rules: Rules
  private let refusals = Refusals()
  /// What the names of this server's databases begin with: no other server of the process has it.
  private let name: String
  private let log = ServerLog()
  private var schema: SyncSchema
  private var databases = 0
  /// The database, and a connection that keeps it while no server runs.
  private var path = ""
  private var keeper: SQLiteConnection?
  private var process: ServerProcess?

  /// - Throws: `ServerError` when the rules do not fit the schema.
  init(schema: SyncSchema, rules: Rules, clock: TestClock, random: SeededRandom, name: String) throws {
    self.schema = schema
    self.rules = rules
    self.name = name
    var environment = ServerEnvironment(
      now: { clock.look() }, random: { random.bytes($0) },
      passwords: PasswordHashing(hash: { "hashed " + $0 }, verify: { "hashed " + $0 == $1 }, decoy: "none"))
    // However long a test stays offline, its sessions last, as an app's would that is used in between.
    environment.limits.sessionIdle = .seconds(10_000 * 365 * 86_400)
    environment.limits.sessionLifetime = environment.limits.sessionIdle
    self.environment = environment
    path = nextPath()
    keeper = try SQLiteConnection(path: path)
    process = try open(exists: false, schema)
  }

  deinit { process?.stop() }

  // MARK: Running

  /// Whether it answers.
  public var isRunning: Bool { lock.hold { process != nil } }

  /// Stops it: devices are offline until it starts again. What it confirmed stays.
  public func stop() {
    lock.hold {
      process?.stop()
      process = nil
    }
  }

  /// Starts it again.
  ///
  /// - Throws: `ServerError` when the schema can't be served.
  public func start() throws { try restart() }

  /// Stops it and starts it again, as after an update.
  ///
  /// - Parameter new: what it serves from now on; nil for what it served before.
  /// - Throws: `ServerError` when the schema can't be served; the server is stopped then.
  public func restart(schema new: SyncSchema? = nil) throws {
    try lock.hold {
      process?.stop()
      process = nil
      process = try open(exists: true, new ?? schema)
      schema = new ?? schema
    }
  }

  /// Why requests failed that should not have, without a user's data.
  public var failures: [String] { log.lines }

  // MARK: Refusing

  /// Refuses from now on each change set that makes or changes such a record, with the code `validationFailed`: it goes into the device's
  /// quarantine.
  ///
  /// - Parameters:
  ///   - table: the name of the table.
  ///   - detail: what the person is told.
  ///   - matches: which records; all unless given.
  public func refuse(
    _ table: String, because detail: String,
    _ matches: @escaping @Sendable (RuledRecord) -> Bool = { _ in true }
  ) {
    refusals.add(.init(table: table, detail: detail, matches: matches))
  }

  /// Refuses nothing any more but what the team's own rules do.
  public func acceptAll() { refusals.removeAll() }

  // MARK: Time passing

  /// Purges what no device needs any more. A device that was away for longer than `retention.devices` resyncs its zones when it returns:
  /// docs/RETENTION.md.
  ///
  /// - Throws: `Problem` when the server is stopped or fails.
  public func purge(_ retention: Retention = Retention()) throws {
    try lock.hold {
      guard let process else { throw Problem(.busy, "\(Stopped())") }
      try process.purge(retention)
    }
  }

  // MARK: Restoring

  /// Copies the database as it is now.
  public func backup() throws -> Backup {
    try lock.hold {
      let copy = try copied(from: path, keeper)
      return Backup(path: copy.path, connection: copy.connection)
    }
  }

  /// Puts a backup in place of the database and starts: devices then upload what the backup is missing. See docs/RESTORING.md.
  public func restore(_ backup: Backup) throws {
    try lock.hold {
      process?.stop()
      process = nil
      let copy = try copied(from: backup.path, backup.connection)
      (path, keeper) = (copy.path, copy.connection)
      let restored = try open(exists: true, schema)
      try restored.beginEpoch()
      // The history is read at the opening.
      restored.stop()
      process = try open(exists: true, schema)
    }
  }

  /// Answers a request.
  ///
  /// - Throws: `Stopped`.
  func answer(_ request: ServerRequest) throws -> ServerAnswer {
    try lock.hold {
      guard let process else { throw Stopped() }
      return ServerRoutes(process: process).answer(request)
    }
  }

  private func open(exists: Bool, _ schema: SyncSchema) throws -> ServerProcess {
    let tables = schema.tables.filter { !$0.isBuiltIn }.map(\.name)
    return try ServerProcess(
      path: path, exists: exists, schema: schema, rules: refusals.added(to: rules, of: tables),
      environment: environment, log: { [log] in log.add($0) })
  }

  private func nextPath() -> String {
    databases += 1
    return "memory:/\(name)-\(databases)"
  }

  /// A copy of a database in memory, and a connection that keeps it.
  private func copied(
    from path: String, _ connection: SQLiteConnection?
  ) throws -> (path: String, connection: SQLiteConnection) {
    let target = nextPath()
    let keeper = try SQLiteConnection(path: target)
    try (connection ?? SQLiteConnection(path: path)).backup(to: target)
    return (target, keeper)
  }
}
