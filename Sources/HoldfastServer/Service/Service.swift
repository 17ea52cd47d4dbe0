import HoldfastCore
import HoldfastSQLite

/// The rules of the server over one connection: applies commands, many in one transaction. One thread at a time uses it;
/// it has no threads, no clock and no randomness of its own.
final class Service {
  let connection: Connection
  let stores: RecordStores
  let environment: ServerEnvironment
  let clock: ServiceClock
  let devices: Devices
  /// What was changed since `takeMoves`; also by a commit that failed, as it may yet come to light.
  var moves = Moves()
  private let beginSet: Statement
  private let endSet: Statement
  private let undoSet: Statement
  private let log: @Sendable (String) -> Void

  /// - Parameter log: takes the reason of an unexpected failure, without a user's data.
  init(_ database: ServerDatabase, environment: ServerEnvironment, log: @escaping @Sendable (String) -> Void)
    throws
  {
    connection = try database.writer()
    self.environment = environment
    self.log = log
    stores = try RecordStores(database.schema, on: connection, random: environment.random)
    devices = try Devices(on: connection)
    let latest = try connection.value("SELECT max(clock) FROM holdfast_devices")?.integer ?? 0
    clock = ServiceClock(Stamp(rawValue: latest))
    beginSet = try connection.statement("SAVEPOINT change_set")
    endSet = try connection.statement("RELEASE change_set")
    undoSet = try connection.statement("ROLLBACK TO change_set")
  }

  /// Applies commands in one transaction, which is on disk when this returns.
  ///
  /// - Returns: for each command its outcome, or the problem that kept it, and it alone, from writing. When the disk is
  ///   full or fails, that is the problem of all, and nothing was written.
  func apply(_ commands: [Command]) -> [Result<Outcome, Problem>] {
    do {
      return try attempt(commands)
    } catch let error as SQLiteError where error.code.primary == .full {
      return fail(commands, Problem(.storageFull, retryAfter: 30), error)
    } catch let error as SQLiteError where error.code.primary.isOfTheDisk {
      return fail(commands, Problem(.busy, retryAfter: 5), error)
    } catch {
      if commands.count == 1 { return fail(commands, Problem(.internalError), error) }
      // One of them is at fault. Alone, it harms no other.
      return commands.flatMap { apply([$0]) }
    }
  }

  /// What the commands changed since this was asked before, for the streams of devices.
  func takeMoves() -> Moves {
    defer { moves = Moves() }
    return moves
  }

  /// Takes the write-ahead log into the database and closes it.
  func close() {
    do { try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") } catch {
      log("The last checkpoint failed: \(error)")
    }
    connection.close()
  }

  private func fail(_ commands: [Command], _ problem: Problem, _ error: any Error) -> [Result<
    Outcome, Problem
  >] {
    log("\(commands.count) commands were rolled back: \(error)")
    return commands.map { _ in .failure(problem) }
  }

  private func attempt(_ commands: [Command]) throws -> [Result<Outcome, Problem>] {
    let now = clock.advance(milliseconds: environment.now())
    stores.ledger.beginBatch()
    return try connection.transaction(.immediate) {
      var results: [Result<Outcome, Problem>] = []
      results.reserveCapacity(commands.count)
      for command in commands {
        stores.ledger.author = 0
        // A problem is thrown before the command has written anything.
        do { results.append(.success(try apply(command, at: now))) } catch let problem as Problem {
          results.append(.failure(problem))
        }
      }
      try stores.ledger.flush()
      moves.add(stores.ledger.moves)
      return results
    }
  }

  private func apply(_ command: Command, at now: Stamp) throws -> Outcome {
    switch command {
    case .sync(let command):
      try sync(command, at: now)
      return .done
    case .signUp(let signUp): return .session(try self.signUp(signUp, at: now))
    case .signIn(let signIn): return .session(try self.signIn(signIn, at: now))
    case .copyDevice(let key, let name, let token):
      guard let device = try devices.device(key) else { throw Problem(.tokenInvalid) }
      return .session(try addDevice(to: device.user, named: name, token: token, at: now))
    case .signOut(let key):
      guard try devices.device(key) != nil else { throw Problem(.tokenInvalid) }
      try devices.forgetToken(key.number)
      moves.devices.insert(key.number)
      return .done
    case .probe:
      try connection.run(
        "INSERT OR REPLACE INTO holdfast_meta (key, value) VALUES ('probe', ?)", [.text(now.text)])
      return .done
    }
  }

  /// Runs one change set in a savepoint of its own.
  ///
  /// - Returns: why it was refused, nil when it was applied.
  func run(_ operations: [Operation], by author: Author) throws -> RefusedOperation? {
    let run = ChangeSetRun(operations, by: author, on: stores)
    stores.ledger.beginChangeSet(by: author.device)
    try beginSet.run()
    do {
      try run.run()
      try endSet.run()
      return nil
    } catch let problem as Problem {
      return try refuse(run, problem)
    } catch let error as SQLiteError where error.code.primary == .constraint {
      // A trigger or check that a team added in SQL. To fail would block the device's queue for ever.
      log("A change set broke a rule of the database: \(error)")
      return try refuse(run, Problem(.invalidOperation, "A rule of the server's database forbids it."))
    }
  }

  private func refuse(_ run: ChangeSetRun, _ problem: Problem) throws -> RefusedOperation {
    if let transition = Transition(refusal: problem.code) { Trace.took(transition) }
    try undoSet.run()
    try endSet.run()
    stores.ledger.rollBackChangeSet()
    return RefusedOperation(index: run.current, problem: problem)
  }
}

extension SQLiteError.Code {
  /// Whether the code speaks of the file system or a lock, not of what was asked.
  fileprivate var isOfTheDisk: Bool {
    self == .ioError || self == .readOnly || self == .cantOpen || self == .busy || self == .outOfMemory
  }
}

extension Transition {
  /// The refusal with a code, if it is one of those that are counted.
  fileprivate init?(refusal code: ProblemCode) {
    switch code {
    case .recordExists: self = .recordExists
    case .recordUnknown: self = .recordUnknown
    case .referenceMissing: self = .referenceMissing
    case .referenceRestricted: self = .restricted
    case .roleInsufficient: self = .roleInsufficient
    case .uniqueTaken: self = .uniqueTaken
    case .lastOwner: self = .lastOwner
    default: return nil
    }
  }
}
