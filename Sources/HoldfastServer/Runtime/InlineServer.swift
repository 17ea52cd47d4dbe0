public import HoldfastCore
public import HoldfastHTTP
package import HoldfastSQLiteStore
public import HoldfastService

/// The server without threads and sockets: each request, including its writes, completes before the call returns. Simulations and tests use
/// it with their own clock and randomness.
public final class InlineServer {
  /// The schema that is served.
  public let schema: SyncSchema
  private let lock: DataDirectoryLock?
  let service: Service
  /// Applies the commands that the fast lane defers; nil if the database has no other writers.
  private let slow: Service?
  let api: API
  private var hub: EventHub
  private var ended: [Int] = []
  private var farewells: [(stream: Int, bytes: [UInt8])] = []

  /// Opens a database.
  ///
  /// - Parameters:
  ///   - location: the location of the database; a missing directory is created.
  ///   - schema: the schema to serve; nil uses the one stored in the database.
  ///   - removals: what happens to tables and columns that `schema` lacks.
  ///   - rules: the team's resolvers and validators.
  ///   - environment: clock, randomness and passwords.
  ///   - identityProvider: the provider whose JWTs are accepted; nil for none.
  ///   - allowsSignUp: whether anyone may create an account with a password; nil means yes, unless there is an identity provider.
  ///   - directory: the directory that the database has joined; nil for none.
  ///   - notice: receives messages about the database's history, such as a new epoch.
  ///   - log: receives the reasons of unexpected failures.
  /// - Throws: `ServerError` if the directory or the schema is unusable, `SQLiteError` if the database is.
  public convenience init(
    _ location: DatabaseLocation, schema: SyncSchema?, removals: Removals = .refuse, rules: Rules = Rules(),
    environment: ServerEnvironment,
    identityProvider: IdentityProviderConfiguration? = nil, allowsSignUp: Bool? = nil,
    directory: DirectoryConfiguration? = nil, notice: @escaping @Sendable (String) -> Void = { _ in },
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) throws {
    if let schema { try rules.check(against: schema) }
    let (database, lock) = try location.serve(
      schema: schema, removals: removals, DatabaseService(environment: environment, log: notice))
    let snapshots = try Snapshots(
      database, folder: location.snapshotFolder, limit: 4 << 30, random: environment.random)
    let known = try Directory.opened(database, location, directory, log)
    try self.init(
      database, lock: lock, snapshots, rules, environment, log,
      identityProvider.map { IdentityProvider($0, log: log) }, allowsSignUp, known)
  }

  /// Opens a database file without directories and other processes, on a simulated disk.
  ///
  /// - Parameters:
  ///   - exists: whether the file exists.
  ///   - history: the history file beside the database.
  ///   - removals: what happens to tables and columns that `schema` lacks.
  package convenience init(
    file: String, exists: Bool, history: any HistoryFile, schema: SyncSchema?, removals: Removals = .refuse,
    environment: ServerEnvironment, log: @escaping @Sendable (String) -> Void
  ) throws {
    let database = try SQLiteDatabase(
      file: file, exists: exists, schema: schema, removals: removals,
      keeper: HistoryKeeper(history, environment, log: log), random: environment.random)
    try self.init(database, lock: nil, nil, Rules(), environment, log, nil, nil, nil)
  }

  private init(
    _ database: any ServerDatabase, lock: DataDirectoryLock?, _ snapshots: Snapshots?,
    _ rules: Rules, _ environment: ServerEnvironment, _ log: @escaping @Sendable (String) -> Void,
    _ provider: IdentityProvider?, _ allowsSignUp: Bool?, _ directory: Directory?
  ) throws {
    var environment = environment
    environment.limits.mayHaveGuests = directory != nil
    self.lock = lock
    self.schema = database.schema
    try rules.check(against: database.schema)
    let store = try database.store()
    let clock = try ServiceClock(of: store, environment)
    service = Service(
      store, database.schema, .fast, rules: rules, clock: clock,
      environment: environment,
      log: log)
    slow = try database.slowStore().map {
      Service(
        $0, database.schema, .slow, rules: rules, clock: clock,
        environment: environment,
        log: log)
    }
    let api = API(
      database, clock: clock, environment: environment, snapshots: snapshots, provider: provider,
      directory: directory, allowsSignUp: allowsSignUp, log: log)
    self.api = api
    let text = EventText(
      run: hexadecimal(environment.random(8)), heartbeat: .seconds(25))
    let routes = EventRoutes(api: api)
    hub = EventHub(text, routes.source)
  }

  /// Answers one request.
  public func respond(to request: HTTPRequest) -> HTTPResponse { respond(to: [request])[0] }

  /// Answers concurrent requests. Their writes share one transaction.
  public func respond(to requests: [HTTPRequest]) -> [HTTPResponse] {
    let steps = requests.map { request in
      var step = api.handle(request)
      while true {
        switch step {
        case .password(let work), .signUp(let work), .build(let work), .fetch(_, let work), .read(let work),
          .look(_, let work):
          step = work()
        case .first(let command, let next): step = next(apply([command])[0])
        case .answer, .write, .events: return step
        }
      }
    }
    let commands = steps.compactMap { if case .write(let command, _) = $0 { command } else { nil } }
    var results = apply(commands)
    results.reverse()
    return steps.map { step in
      switch step {
      case .answer(let response): response
      case .write(_, let answer):
        answer(results.popLast() ?? .failure(Problem(.internalError)))
      case .password, .signUp, .build, .fetch, .read, .look, .first, .events:
        .problem(Problem(.internalError))
      }
    }
  }

  private func apply(_ commands: [ServiceCommand]) -> [Result<Outcome, Problem>] {
    var results = commands.map { _ in Result<Outcome, Problem>.failure(Problem(.internalError)) }
    var waiting = Array(commands.enumerated())[...]
    while !waiting.isEmpty {
      let outcomes = service.apply(waiting.map(\.element))
      let done = waiting.prefix(outcomes.count)
      waiting = waiting.dropFirst(outcomes.count)
      for ((place, command), outcome) in zip(done, outcomes) {
        let result = (outcome ?? slow?.applyInTurns(command)) ?? .failure(Problem(.busy, retryAfter: 1))
        if case .success(.unfinished(let progress)) = result {
          waiting.append((place, command.goingOn(from: progress)))
        } else {
          results[place] = result
        }
      }
    }
    ended += hub.moved(service.takeChanges())
    if let slow { ended += hub.moved(slow.takeChanges()) }
    return results
  }

  /// Runs one round for the directory; docs/DIRECTORY.md, section 5.
  package func followDirectory() throws {
    guard let directory = api.directory else { return }
    let round = DirectoryRound(
      directory: directory, database: api.database, now: { [api] in api.clock.trusted.now() })
    _ = try round.run { try? apply([$0])[0].get() }
    try round.tidy()
  }

  /// Runs one retention pass; docs/RETENTION.md, section 2.
  @discardableResult
  public func purge(_ retention: Retention = Retention()) throws -> Purged {
    let terms = RetentionTerms(retention, in: api.database.history, at: try time().time)
    let purged = try RetentionPass(
      find: { kind, place in
        try self.api.database.read { try $0.found(kind, after: place, terms, in: self.schema) }
      },
      purge: { item in
        guard case .success(.purged(let purged)) = self.apply([.purge(item, terms)])[0] else {
          return nil
        }
        return purged
      }
    ).run()
    try api.snapshots?.removeErased()
    return purged
  }

  /// Advances the clock of ages, as each retention pass does.
  package func keepTime() throws { _ = try time() }

  private func time() throws -> TimeStep {
    guard case .time(let step) = try apply([.keepTime(isTrusted: false)])[0].get() else {
      throw Problem(.internalError)
    }
    return step
  }

  // MARK: Event streams

  /// Answers `GET /v1/events` with a stream.
  ///
  /// - Parameter number: the stream's number, never used before.
  /// - Returns: its first event, or the answer that refuses the stream.
  package func open(_ request: HTTPRequest, stream number: Int) -> Result<[UInt8], RefusedStream> {
    var step = api.handle(request)
    if case .first(let command, let next) = step { step = next(apply([command])[0]) }
    if case .look(_, let work) = step { step = work() }
    switch step {
    case .events(let device, let lastEventID):
      let (hello, older) = hub.open(number, token: device.token, lastEventID: lastEventID)
      if let older {
        farewells.append((older, EventText.replaced))
        ended.append(older)
      }
      return hello.map { .success($0) } ?? .failure(RefusedStream(answer: .problem(Problem(.tokenInvalid))))
    case .answer(let answer): return .failure(RefusedStream(answer: answer))
    case .write, .password, .signUp, .build, .fetch, .read, .look, .first:
      return .failure(RefusedStream(answer: .problem(Problem(.internalError))))
    }
  }

  /// The refusal of a stream.
  package struct RefusedStream: Error {
    package let answer: HTTPResponse
  }

  /// Removes a stream that its client has closed.
  package func close(stream number: Int) { hub.close(number) }

  /// The events since the last call.
  package func takeEvents() -> [(stream: Int, bytes: [UInt8])] {
    defer { farewells = [] }
    return farewells + hub.takeEvents(.max).map { ($0.stream, $0.bytes) }
  }

  /// The heartbeats of all streams.
  package func heartbeats() -> [(stream: Int, bytes: [UInt8])] {
    (0..<EventHub.slots).flatMap { slot in
      ended += hub.endExpired(slot: slot)
      return hub.heartbeats(slot: slot).map { ($0.stream, $0.bytes) }
    }
  }

  /// The streams that the server has ended since the last call.
  package func takeEnded() -> [Int] {
    defer { ended = [] }
    return ended
  }
}
