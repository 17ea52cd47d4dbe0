package import HoldfastCore

/// A transaction in progress. Each change set is a part of it that is kept or rolled back separately. Many commands share one transaction.
package final class UnitOfWork {
  package let stores: RecordStores
  package var store: any StoreWriter { stores.store }
  package var transaction: Transaction { stores.transaction }
  package let environment: ServerEnvironment
  /// The service's clock.
  package let clock: ServiceClock
  /// The history of the transaction.
  package var history: History { store.history }
  /// The recoveries of this transaction.
  var recovery = RecoveryLedger()
  /// The replica of positions that the server creates for REST requests. It derives from the epoch, so it is the same after a restart and
  /// on each node. Appended positions then stay in one waypoint, and short. They never collide, because the server creates each under the
  /// lock of its zone.
  package var replica: Position.Replica { Position.Replica(random: Fingerprint(of: history.epoch).value) }
  /// The zone changes since the caller last took them. They include those of a failed commit, which may have taken effect.
  package var changes = ZoneChanges()
  /// The numbers of the transactions that were committed since they were taken.
  package var tally = Tally()
  /// The numbers of the open transaction.
  private var uncommitted = Tally()
  /// Parts that ended a whole transaction of the current command, by turn. Each is refused when its turn comes again.
  private var condemned: [Int: RefusedOperation] = [:]
  /// The number of parts so far.
  private var turn = 0
  /// Whether the transaction has fetched its footprints.
  private(set) var hasBegun = false
  /// The measured time at which the transaction began.
  private var began: Int64 = 0
  private let log: @Sendable (String) -> Void

  /// - Parameters:
  ///   - rules: the team's rules. They must fit the schema.
  ///   - clock: shared with the other writers of this process.
  ///   - log: receives the reason of an unexpected failure, without user data.
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
  /// - Parameter isCareful: whether each part uses a savepoint, so that a failure is attributed to one part.
  /// - Returns: the indexes of the deferred commands, which another transaction blocks; and the stamp of this transaction's writes.
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

  /// Writes the counts that are kept in memory, and commits.
  package func commit(at now: Stamp) throws {
    try recovery.flush(to: store.recovery)
    changes.add(stores.ledger.changes)
    try transaction.commit(at: now, announcing: changes)
    tally.add(uncommitted)
  }

  /// Counts a change set that was refused before it ran, as it could not be read.
  func count(refused problem: ProblemCode) { uncommitted.refused[problem, default: 0] += 1 }

  /// Stores which part ended the whole transaction. In the next attempt that part is refused at its turn. Nil clears all.
  func condemn(_ end: EndedTransaction?) {
    if let end { condemned[end.turn] = end.refusal } else { condemned = [:] }
  }

  /// Whether the transaction has used up its time budget.
  var hasTakenItsTime: Bool { environment.measured() - began >= environment.writeBudget.milliseconds }

  /// Whether a request with `count` finished change sets or items leaves the rest to another transaction.
  func hasDoneEnough(_ count: Int) -> Bool {
    hasTakenItsTime || count >= environment.writeBudget.changeSets
  }

  /// The device of a key.
  ///
  /// - Throws: `Problem.tokenInvalid` if its token is no longer valid.
  package func device(_ key: DeviceKey) throws -> DeviceState {
    guard let device = try stores.devices.device(key), key.use.isTaken(after: device.issuedAfter) else {
      throw Problem(.tokenInvalid)
    }
    return device
  }

  /// Runs one change set in its own savepoint.
  ///
  /// - Parameters:
  ///   - keeper: the device that already has the changes and needs no notification: the author's by default; 0 for none.
  ///   - prepare: see `ChangeSetRun`.
  /// - Returns: the reason if the change set was refused; nil if it was applied.
  package func run(
    _ operations: [RecordOperation], by author: Author, keeper: Int64? = nil,
    prepare: ChangeSetRun.Preparation? = nil
  ) throws -> RefusedOperation? {
    try perform(ChangeSetRun(operations, by: author, on: stores, prepare: prepare), keeper)
  }

  /// Runs one change set. If its deletions cascade to too many records for one transaction, runs only a piece of it.
  ///
  /// - Parameters:
  ///   - cut: what earlier transactions have done of it; nil for nothing.
  ///   - mayBeCut: whether it may run in pieces.
  ///   - origin: that of a set that is carried from another database; nil for others.
  func runPiece(
    _ operations: [RecordOperation], by author: Author, keeper: Int64? = nil, after cut: CutDeletion?,
    mayBeCut: Bool = true, origin: String? = nil, prepare: ChangeSetRun.Preparation? = nil
  ) throws -> PieceResult {
    if cut == nil {
      let whole = ChangeSetRun(operations, by: author, on: stores, mayBeCut: mayBeCut, prepare: prepare)
      do {
        let refused = try perform(whole, keeper, origin)
        return PieceResult(refused: refused, created: refused == nil ? whole.created : nil)
      } catch is LongDeletion {
        try transaction.undoPart()
      }
    }
    let piece = ChangeSetRun(operations, by: author, on: stores, isPiece: true, after: cut, prepare: prepare)
    let refused = try perform(piece, keeper, origin)
    return PieceResult(refused: refused, cut: refused == nil && piece.isUnfinished ? piece.cut : nil)
  }

  private func perform(_ run: ChangeSetRun, _ keeper: Int64?, _ origin: String? = nil) throws
    -> RefusedOperation?
  {
    stores.ledger.beginChangeSet(by: keeper ?? run.author.device)
    do {
      let refused = try part(at: run.current) {
        guard let origin else { return try run.run() }
        try CarriedOrigins(stores: stores, time: clock.trusted.written()).once(origin, by: run.author.user) {
          try run.run()
          return !run.isUnfinished
        }
      }
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

  /// Runs a part of the transaction in its own savepoint, and keeps it.
  ///
  /// - Parameter operation: the index of the current operation.
  /// - Returns: the reason if the part ended the whole transaction before and is refused now; nil if it is done.
  /// - Throws: `Problem` if the part is refused; the caller rolls it back.
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
      // A trigger or check that a team added in SQL. A failure would block the device's queue forever, so the change set is refused.
      log("A change set broke a rule of the database: \(error)")
      let problem = Problem(.invalidOperation, "A rule of the server's database forbids it (\(code)).")
      if store.hasEnded {
        throw EndedTransaction(turn: turn, refusal: RefusedOperation(index: operation(), problem: problem))
      }
      throw problem
    }
  }

  /// Runs a command that is no change set as a part, which is undone where it is refused.
  ///
  /// - Throws: `Problem`.
  func whole<Result>(_ body: () throws -> Result) throws -> Result {
    var result: Result?
    let refused: RefusedOperation?
    do { refused = try part { result = try body() } } catch let problem as Problem {
      try transaction.undoPart()
      throw problem
    }
    guard refused == nil, let result else { throw refused?.problem ?? Problem(.internalError) }
    return result
  }

  private func refuse(_ run: ChangeSetRun, _ problem: Problem) throws -> RefusedOperation {
    if let transition = Transition(refusal: problem.code) { Trace.took(transition) }
    try transaction.undoPart()
    return RefusedOperation(index: run.current, problem: problem)
  }
}

/// What became of a change set, or of a piece of it.
struct PieceResult {
  /// The reason if it was refused.
  var refused: RefusedOperation?
  /// How far it is, if another transaction must run the rest.
  var cut: CutDeletion?
  /// What it created, if it did nothing else.
  var created: CreatedSet?
}

/// A part made the database roll back the whole transaction. The other parts run again without it.
struct EndedTransaction: Error {
  /// The part's turn, from 1.
  let turn: Int
  let refusal: RefusedOperation
}

extension Transition {
  /// The transition of a refusal code, if the tests count it.
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
