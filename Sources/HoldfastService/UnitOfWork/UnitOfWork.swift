package import HoldfastCore

/// The transaction at work, in parts that are kept or taken back by themselves: one change set each. Many commands share it.
package final class UnitOfWork {
  package let stores: RecordStores
  package var store: any StoreWriter { stores.store }
  package var transaction: Transaction { stores.transaction }
  package let environment: ServerEnvironment
  package let clock: ServiceClock
  /// That of the transaction.
  package var history: History { store.history }
  /// What was recovered in this transaction.
  var recovery = RecoveryLedger()
  /// Who makes the positions that are asked for by REST. It is made of the database's epoch: the same after a start and on each node, so that what
  /// is appended over years stays in one waypoint, and positions short. They don't meet, as each is made under the lock of its zone.
  package var replica: Position.Replica { Position.Replica(random: Fingerprint(of: history.epoch).value) }
  /// What was changed since they were taken; also by a commit that failed, as it may yet come to light.
  package var changes = ZoneChanges()
  /// The numbers of the transactions that were committed since they were taken.
  package var tally = Tally()
  /// The numbers of the open transaction.
  private var uncommitted = Tally()
  /// What ended whole transactions of the command at work, and is refused at its turn.
  private var condemned: [Int: RefusedOperation] = [:]
  /// How many parts the transaction has had.
  private var turn = 0
  /// Whether all that a transaction needs at its beginning has been read.
  private(set) var hasBegun = false
  /// When the transaction began, as it is measured.
  private var began: Int64 = 0
  private let log: @Sendable (String) -> Void

  /// - Parameters:
  ///   - rules: the team's own, which fit the schema.
  ///   - clock: shared with whoever else writes in this process.
  ///   - log: takes the reason of an unexpected failure, without a user's data.
  package init(
    _ store: any StoreWriter, _ schema: SyncSchema, rules: Rules, clock: ServiceClock,
    environment: ServerEnvironment, log: @escaping @Sendable (String) -> Void
  ) {
    self.environment = environment
    self.clock = clock
    self.log = log
    stores = RecordStores(
      schema, on: store, rules: RulesInForce(rules, log: log), limits: environment.limits,
      zoneLimits: environment.zoneLimits, workLimit: environment.changeSetWork,
      pieceLimit: environment.pieceWork, random: environment.random)
  }

  /// Begins a transaction.
  ///
  /// - Parameter isCareful: whether parts are taken back one by one, so that it is known whose fault a failure is.
  /// - Returns: the commands that are put off, as somebody else is in their way; and the stamp of what is written.
  package func begin(_ footprints: [Footprint], isCareful: Bool) throws -> (waiting: Set<Int>, now: Stamp) {
    recovery = RecoveryLedger()
    uncommitted = Tally()
    turn = 0
    hasBegun = false
    let waiting = try transaction.begin(footprints, isCareful: isCareful)
    hasBegun = true
    began = environment.measured()
    (stores.history, stores.now) = (history, clock.trusted.now())
    return (waiting, clock.advance(milliseconds: environment.now(), past: transaction.clockSeen))
  }

  /// Writes what was counted in memory, and commits.
  package func commit(at now: Stamp) throws {
    try recovery.flush(to: store.recovery)
    changes.add(stores.ledger.changes)
    try transaction.commit(at: now, announcing: changes)
    tally.add(uncommitted)
  }

  /// Counts a change set that was refused before it ran, as it could not be read.
  func count(refused problem: ProblemCode) { uncommitted.refused[problem, default: 0] += 1 }

  /// Remembers what ended the whole transaction: done again, that part is refused at its turn. Nil forgets all.
  func condemn(_ end: EndedTransaction?) {
    if let end { condemned[end.turn] = end.refusal } else { condemned = [:] }
  }

  /// Whether the transaction has lasted so long that others have waited enough.
  var hasTakenItsTime: Bool { environment.measured() - began >= environment.writeBudget.milliseconds }

  /// Whether a request of which so many change sets or items were done leaves the rest to another transaction.
  func hasDoneEnough(_ count: Int) -> Bool {
    hasTakenItsTime || count >= environment.writeBudget.changeSets
  }

  /// The device of a key.
  ///
  /// - Throws: `Problem.tokenInvalid` when its token is not good any more.
  package func device(_ key: DeviceKey) throws -> DeviceState {
    guard let device = try stores.devices.device(key), key.use.isTaken(after: device.issuedAfter) else {
      throw Problem(.tokenInvalid)
    }
    return device
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
        try transaction.undoPart()
      }
    }
    let piece = ChangeSetRun(operations, by: author, on: stores, isPiece: true, prepare: prepare)
    let refused = try perform(piece, keeper)
    return (refused, refused == nil && piece.isUnfinished)
  }

  private func perform(_ run: ChangeSetRun, _ keeper: Int64?) throws -> RefusedOperation? {
    stores.ledger.beginChangeSet(by: keeper ?? run.author.device)
    do {
      let refused = try part(at: run.current) { try run.run() }
      if let refused {
        count(refused: refused.problem.code)
      } else {
        uncommitted.applied += run.isUnfinished ? 0 : 1
        uncommitted.conflicts += run.conflictCount
      }
      return refused
    } catch let problem as Problem {
      count(refused: problem.code)
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
    try transaction.beginPart()
    do {
      try body()
      try transaction.keepPart()
      return nil
    } catch let problem as Problem {
      throw problem
    } catch {
      guard transaction.isCareful, case .rule(let code) = store.meaning(of: error) else { throw error }
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
    try transaction.undoPart()
    return RefusedOperation(index: run.current, problem: problem)
  }
}

/// A part made the database roll back the whole transaction: the others are done again without it.
struct EndedTransaction: Error {
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
