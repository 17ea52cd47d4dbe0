public import HoldfastCore
public import HoldfastHTTP

/// The same server without threads and sockets: each request is answered, writes and all, before the call returns. For
/// simulations and tests, which bring their own clock and randomness.
public final class InlineServer {
  /// The schema that is served.
  public let schema: Schema
  private let lock: DataDirectoryLock?
  let service: Service
  private let api: API

  /// Opens a database.
  ///
  /// - Parameters:
  ///   - location: where the database is; a directory is made when it is missing.
  ///   - schema: the schema to serve; nil takes the one that is in the database.
  ///   - environment: clock, randomness and passwords.
  ///   - log: takes the reasons of unexpected failures.
  /// - Throws: `ServerError` when the directory or the schema can't be used, `SQLiteError` when the database can't.
  public convenience init(
    _ location: DatabaseLocation, schema: Schema?, environment: ServerEnvironment,
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) throws {
    let lock = try location.lock()
    let database = try location.open(schema: schema, random: environment.random)
    try self.init(database, lock: lock, environment, log)
  }

  /// Opens a database file where there are no directories and no other processes: on a simulated disk.
  ///
  /// - Parameter exists: whether the file is there.
  package convenience init(
    file: String, exists: Bool, schema: Schema?, environment: ServerEnvironment,
    log: @escaping @Sendable (String) -> Void
  ) throws {
    let database = try SQLiteDatabase(
      file: file, exists: exists, schema: schema, random: environment.random)
    try self.init(database, lock: nil, environment, log)
  }

  private init(
    _ database: any ServerDatabase, lock: DataDirectoryLock?, _ environment: ServerEnvironment,
    _ log: @escaping @Sendable (String) -> Void
  ) throws {
    self.lock = lock
    self.schema = database.schema
    let store = try database.store()
    let clock = ServiceClock(try store.latestClock())
    service = Service(store, database.schema, clock: clock, environment: environment, log: log)
    api = API(database, clock: clock, environment: environment, log: log)
  }

  /// Answers one request.
  public func respond(to request: HTTPRequest) -> HTTPResponse { respond(to: [request])[0] }

  /// Answers requests that come at the same time: those that write share one transaction.
  public func respond(to requests: [HTTPRequest]) -> [HTTPResponse] {
    let steps = requests.map { request in
      var step = api.handle(request)
      while case .password(let work) = step { step = work() }
      return step
    }
    let commands = steps.compactMap { if case .write(let command, _) = $0 { command } else { nil } }
    var results = commands.isEmpty ? [] : service.apply(commands)
    results.reverse()
    return steps.map { step in
      switch step {
      case .answer(let response): response
      case .write(_, let answer):
        answer((results.popLast() ?? nil) ?? .failure(Problem(.busy, retryAfter: 1)))
      case .password: .problem(Problem(.internalError))
      }
    }
  }
}
