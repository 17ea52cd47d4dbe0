package import HoldfastCore

/// The rules of the server over one store: applies commands, many in one transaction. One thread at a time uses it;
/// it has no threads, no clock and no randomness of its own.
package final class Service {
  /// What is done when somebody else is in the way.
  package enum Lane {
    /// Little: such a command is put off.
    case fast
    /// Much: it is tried again and again, and then answered as `busy`.
    case slow

    fileprivate var attempts: Int { self == .fast ? 2 : 10 }
  }

  package let store: any StoreWriter
  package let stores: RecordStores
  package let environment: ServerEnvironment
  package let clock: ServiceClock
  /// That of the transaction.
  package var history: History { store.history }
  /// What was recovered in this transaction.
  var recovery = RecoveryLedger()
  let restText: RestText
  /// Who makes the positions that are asked for by REST. It is made of the database's epoch: the same after a start and on each node, so that what
  /// is appended over years stays in one waypoint, and positions short. They don't meet, as each is made under the lock of its zone.
  package var replica: Position.Replica { Position.Replica(random: Fingerprint(of: history.epoch).value) }
  /// What was changed since `takeChanges`; also by a commit that failed, as it may yet come to light.
  package var changes = ZoneChanges()
  /// What ended whole transactions of the command at work, and is refused at its turn.
  private var condemned: [Int: RefusedOperation] = [:]
  /// How many parts the transaction has had.
  private var turn = 0
  /// When the transaction began, as it is measured.
  private var began: Int64 = 0
  private let lane: Lane
  private let log: @Sendable (String) -> Void

  /// - Parameters:
  ///   - rules: the team's own, which fit the schema.
  ///   - clock: shared with whoever else writes in this process.
  ///   - log: takes the reason of an unexpected failure, without a user's data.
  package init(
    _ store: any StoreWriter, _ schema: SyncSchema, _ lane: Lane, rules: Rules, clock: ServiceClock,
    environment: ServerEnvironment, log: @escaping @Sendable (String) -> Void
  ) {
    self.store = store
    self.lane = lane
    self.environment = environment
    self.clock = clock
    self.log = log
    stores = RecordStores(
      schema, on: store, rules: RulesInForce(rules, log: log), limits: environment.limits,
      zoneLimits: environment.zoneLimits, workLimit: environment.changeSetWork,
      pieceLimit: environment.pieceWork, random: environment.random)
    restText = RestText(schema)
  }

  /// Applies commands in one transaction, which is on disk when this returns.
  ///
  /// - Returns: for each command its outcome, or the problem that kept it, and it alone, from writing; nil when it is put off, as somebody
  ///   else is in its way. When the disk is full or fails, that is the problem of all, and nothing was written. Of commands at the end, never
  ///   all, nothing is said when the transaction has taken its time: they have not been looked at.
  package func apply(_ commands: [ServiceCommand]) -> [Result<Outcome, Problem>?] {
    var (attempt, isCareful, epochs) = (1, false, 0)
    condemned = [:]
    while true {
      do { return try self.attempt(commands, isCareful: isCareful) } catch let proof as HistoryWentBack {
        store.rollBack()
        epochs += 1
        do {
          // It goes back again and again: whoever does that is to be stopped, not followed.
          if epochs > 2 { throw proof }
          // Another node may have done it at the same moment.
          _ = try store.beginEpoch(
            NewEpoch(environment, because: proof.reason, isForkKnown: proof.isForkKnown), after: proof.epoch)
          Trace.took(.historyWentBack)
        } catch { return fail(commands, Problem(.busy, retryAfter: 5), error) }
      } catch let end as EndedTransaction {
        store.rollBack()
        if commands.count > 1 { return commands.flatMap { apply([$0]) } }
        condemned[end.turn] = end.refusal
      } catch {
        store.rollBack()
        switch store.meaning(of: error) {
        case .full: return fail(commands, Problem(.storageFull, retryAfter: 30), error)
        case .unavailable: return fail(commands, Problem(.busy, retryAfter: 5), error)
        case .denied:
          if commands.count > 1 { return commands.flatMap { apply([$0]) } }
          return fail(commands, Problem(.busy, retryAfter: 60), error)
        case .transient where attempt < lane.attempts: attempt += 1
        case .transient:
          if commands.count > 1 { return commands.flatMap { apply([$0]) } }
          return lane == .fast ? [nil] : fail(commands, Problem(.busy, retryAfter: 1), error)
        case .rule, .other:
          // One of them is at fault. Alone, it harms no other.
          if commands.count > 1 { return commands.flatMap { apply([$0]) } }
          guard case .rule = store.meaning(of: error), !isCareful else {
            return fail(commands, Problem(.internalError), error)
          }
          isCareful = true
        }
      }
    }
  }

  /// What the commands changed since this was asked before, for the streams of devices.
  package func takeChanges() -> ZoneChanges {
    defer { changes = ZoneChanges() }
    return changes
  }

  /// Ends the use of the store.
  package func close() {
    do { try store.close() } catch { log("The database was not closed well: \(error)") }
  }

  private func fail(_ commands: [ServiceCommand], _ problem: Problem, _ error: any Error) -> [Result<
    Outcome, Problem
  >?] {
    log("\(commands.count) \(commands.count == 1 ? "write was" : "writes were") rolled back: \(error)")
    return commands.map { _ in .failure(problem) }
  }

  private func attempt(_ commands: [ServiceCommand], isCareful: Bool) throws -> [Result<Outcome, Problem>?] {
    stores.ledger.beginBatch()
    recovery = RecoveryLedger()
    turn = 0
    let waiting = try store.begin(commands.map { $0.footprint(stores.schema) }, isCareful: isCareful)
    began = environment.measured()
    (stores.history, stores.now) = (history, clock.trusted.now())
    let now = clock.advance(milliseconds: environment.now(), past: store.clockSeen)
    var results: [Result<Outcome, Problem>?] = []
    results.reserveCapacity(commands.count)
    for (index, command) in commands.enumerated() {
      if waiting.contains(index) {
        results.append(nil)
        continue
      }
      if index > 0, hasTakenItsTime || command.isBegun { break }
      stores.ledger.author = 0
      stores.ledger.scope = command.key?.use.scope
      // A problem is thrown before the command has written anything.
      do { results.append(.success(try apply(command, at: now))) } catch let problem as Problem {
        results.append(.failure(problem))
      }
    }
    try stores.ledger.flush(at: now)
    try recovery.flush(to: store.recovery)
    changes.add(stores.ledger.changes)
    try store.commit(announcing: changes)
    return results
  }

  /// Whether the transaction has lasted so long that others have waited enough.
  var hasTakenItsTime: Bool { environment.measured() - began >= environment.writeBudget.milliseconds }

  /// Whether a request of which so many change sets or items were done leaves the rest to another transaction.
  func hasDoneEnough(_ count: Int) -> Bool {
    hasTakenItsTime || count >= environment.writeBudget.changeSets
  }

  private func apply(_ command: ServiceCommand, at now: Stamp) throws -> Outcome {
    switch command {
    case .sync(let command): return try sync(command, at: now)
    case .rest(let command): return try rest(command, at: now)
    case .signUp(let signUp): return .session(try self.signUp(signUp, at: now))
    case .signIn(let signIn): return .session(try self.signIn(signIn, at: now))
    case .signInByProvider(let signIn): return try self.signIn(signIn, at: now)
    case .copyDevice(let key, let name, let token):
      let original = try device(key)
      var session = try addDevice(to: original.user, named: name, token: token, at: now)
      session.applied = original.applied
      return .session(session)
    case .signOut(let key):
      _ = try device(key)
      try revoke(key.number)
      return .done
    case .revoke(let key, let id):
      try revoke(id, by: key)
      return .done
    case .revokeOthers(let key):
      try revokeOthers(of: device(key).user, but: key.number)
      return .done
    case .changePassword(let change):
      try changePassword(change)
      return .done
    case .erase(let key, let password):
      try erase(by: key, password: password)
      return .done
    case .invite(let key, let invitation, let token):
      try invite(invitation, token, by: key, at: now)
      return .done
    case .revokeInvitation(let key, let id, let zone):
      try revokeInvitation(id, to: zone, by: key)
      return .done
    case .accept(let key, let token): return try accept(token, by: key, at: now)
    case .membership(let key, let change): return try membership(change, by: key, at: now)
    case .keepResult(let result):
      try store.results.keep(result, at: environment.now())
      return .done
    case .notified(let zones):
      try store.zones.setNotified(zones)
      return .done
    case .keepTime(let isTrusted): return .time(try keepTime(isTrusted: isTrusted))
    case .purge(let item, let terms): return .purged(try purge(item, terms, at: now))
    case .probe:
      try store.probe(now.text)
      return .done
    }
  }

  /// Runs one change set in a savepoint of its own.
  ///
  /// - Parameters:
  ///   - keeper: the device that has the changes already, and need not be told of them: the author's, unless given; 0 for none.
  ///   - prepare: see `ChangeSetRun`.
  /// - Returns: why it was refused, nil when it was applied.
  package func run(
    _ operations: [RecordOperation], by author: Author, keeper: Int64? = nil,
    prepare: ChangeSetRun.Preparation? = nil
  ) throws -> RefusedOperation? {
    try perform(ChangeSetRun(operations, by: author, on: stores, prepare: prepare), keeper)
  }

  /// Runs one change set, or a piece of it, where so many records go along with what it deletes that others would wait too long.
  ///
  /// - Parameter isCut: whether a piece of it is done.
  /// - Returns: why it was refused, nil when it was not; and whether something of it is left to do, by the same call in another transaction.
  func runPiece(
    _ operations: [RecordOperation], by author: Author, keeper: Int64? = nil, isCut: Bool,
    prepare: ChangeSetRun.Preparation? = nil
  ) throws -> (refused: RefusedOperation?, isUnfinished: Bool) {
    if !isCut {
      let whole = ChangeSetRun(operations, by: author, on: stores, mayBeCut: true, prepare: prepare)
      do { return (try perform(whole, keeper), false) } catch is LongDeletion {
        try store.undoPart()
        stores.ledger.rollBackChangeSet()
      }
    }
    let piece = ChangeSetRun(operations, by: author, on: stores, isPiece: true, prepare: prepare)
    let refused = try perform(piece, keeper)
    return (refused, refused == nil && piece.isUnfinished)
  }

  private func perform(_ run: ChangeSetRun, _ keeper: Int64?) throws -> RefusedOperation? {
    stores.ledger.beginChangeSet(by: keeper ?? run.author.device)
    do {
      return try part(at: run.current) { try run.run() }
    } catch let problem as Problem {
      return try refuse(run, problem)
    }
  }

  /// Does a part of the transaction, in a savepoint of its own, and keeps it.
  ///
  /// - Parameter operation: which operation is at work.
  /// - Returns: why it was refused before and is now, as it ended the whole transaction; nil when it is done.
  /// - Throws: `Problem` when it is refused; the caller takes it back.
  package func part(at operation: @autoclosure () -> Int = 0, _ body: () throws -> Void) throws
    -> RefusedOperation?
  {
    turn += 1
    if let refusal = condemned[turn] { return refusal }
    try store.beginPart()
    do {
      try body()
      try store.keepPart()
      return nil
    } catch let problem as Problem {
      throw problem
    } catch {
      guard store.blamesParts, case .rule(let code) = store.meaning(of: error) else { throw error }
      // A trigger or check that a team added in SQL. To fail would block the device's queue for ever.
      log("A change set broke a rule of the database: \(error)")
      let problem = Problem(.invalidOperation, "A rule of the server's database forbids it (\(code)).")
      if store.hasEnded {
        throw EndedTransaction(turn: turn, refusal: RefusedOperation(index: operation(), problem: problem))
      }
      throw problem
    }
  }

  private func refuse(_ run: ChangeSetRun, _ problem: Problem) throws -> RefusedOperation {
    if let transition = Transition(refusal: problem.code) { Trace.took(transition) }
    try store.undoPart()
    stores.ledger.rollBackChangeSet()
    return RefusedOperation(index: run.current, problem: problem)
  }
}

/// A part made the database roll back the whole transaction: the others are done again without it.
private struct EndedTransaction: Error {
  /// Which part, from 1 on.
  let turn: Int
  let refusal: RefusedOperation
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
