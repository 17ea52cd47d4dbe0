package import HoldfastCore

/// Who makes a change, and when.
package struct Author {
  /// The server's number of the device; 0 is the server itself.
  package let device: Int64
  /// The user's id.
  package let user: String
  /// The service's clock: no stamp of the change counts as later.
  package let clock: Stamp
  /// Whether the change was made just now, with the records as they are in visible: by REST, not by a device that was offline.
  var isPresent = false

  package init(device: Int64, user: String, clock: Stamp, isPresent: Bool = false) {
    (self.device, self.user, self.clock, self.isPresent) = (device, user, clock, isPresent)
  }
}

/// A reference that did not hold when it was written, and may by the end of the set.
struct OpenReference {
  let operation: Int
  let link: SyncSchema.Link
  let id: String
  /// Whether all that refers to the record is looked at, not what the record refers to.
  var isInbound = false
}

/// An edit whose loser is to be looked up: written behind the record that it is about.
struct Overlap {
  struct Side {
    var value: Value?
    var device: Int64
    var stamp: Stamp
  }
  let column: Int
  let policy: String
  let base: Value?
  let winner: Side
  let loser: Side
  /// Whether the record has the winner's value, and keeps it.
  var isWinnerInRecord = false
}

/// Applies one change set inside a savepoint. Source of the rules: PROTOCOL.md, section 5.
///
/// What it throws as `Problem` refuses the set, and `current` is the operation at fault; the caller rolls back.
package final class ChangeSetRun {
  /// Looks at an operation when its turn has come, by its index, and gives what is to be applied in its place.
  package typealias Preparation = (Int, RecordOperation) throws -> RecordOperation

  package let stores: RecordStores
  package let author: Author
  package let operations: [RecordOperation]
  /// The index of the operation at work.
  package private(set) var current = 0
  var openReferences: [OpenReference] = []
  /// Zones in which an owner went, with the operation that did it.
  var ownerLosses: [(zone: String, operation: Int)] = []
  /// The records whose unique values are new, each with the operation that gave them last.
  var uniqueWritten: [Footprint.Key: Int] = [:]
  /// The records that were made or changed, each with the operation that did it first; for the team's validators.
  package var written: [Footprint.Key: Int] = [:]
  /// What was done so far.
  var work: ChangeSetWork {
    get { stores.work }
    set { stores.work = newValue }
  }
  /// The records among `uniqueWritten` that had a value of another when they were looked at, and those that were not looked at yet.
  var uniqueInDoubt: Set<Footprint.Key> = []
  /// Whether records go because a user does, so that no reference to them is an obstacle.
  let isErasing: Bool
  /// Whether a deletion of many records may be done in several transactions.
  let mayBeCut: Bool
  /// Whether this transaction does as much of a deletion as one is to do.
  private(set) var isPiece: Bool
  /// Whether something is left for another transaction.
  package var isUnfinished = false
  private let prepare: Preparation?
  private var isDone: [Bool]
  private var creates: TextMap<Int>?
  private var deletes: TextMap<Int64>?
  /// Those of the record that was created last: the next of a request of REST has the same.
  private var lastStamps: (creation: ColumnStamp, text: String)?

  package var schema: SyncSchema { stores.schema }
  package var ledger: ZoneLedger { stores.ledger }

  package init(
    _ operations: [RecordOperation], by author: Author, on stores: RecordStores, isErasing: Bool = false,
    mayBeCut: Bool = false, isPiece: Bool = false, prepare: Preparation? = nil
  ) {
    self.mayBeCut = mayBeCut
    self.isPiece = isPiece
    self.operations = operations
    self.isErasing = isErasing
    self.prepare = prepare
    self.author = author
    self.stores = stores
    isDone = Array(repeating: false, count: operations.count)
    stores.work = ChangeSetWork()
  }

  /// Applies all operations, then checks what holds only for the set as a whole.
  ///
  /// - Throws: `Problem` when the set is refused; what the store throws.
  package func run() throws {
    if isPiece { isPiece = try Deleting(run: self).isCertain() }
    for index in operations.indices {
      try run(index)
      // What holds for the set as a whole is looked at with its last piece.
      if isUnfinished { return try stores.transaction.settle { false } }
    }
    try ReferenceRules(run: self).checkOpenReferences()
    try RecordWriting(run: self).checkUnique()
    try checkOwners()
    try validate()
    // A program of the operator's has no limit.
    if author.device != 0, ledger.scope == nil {
      current = max(0, operations.count - 1)
      try ledger.requireRoom(stores.zoneLimits)
    }
    try stores.transaction.settle { false }
  }

  /// Says that one operation has written all that it writes.
  package func settle() throws {
    try stores.transaction.settle(unless: RecordWriting(run: self).hasUniqueClash)
  }

  private func run(_ index: Int) throws {
    if isDone[index] { return }
    isDone[index] = true
    let outer = current
    current = index
    if work.microseconds > stores.workLimit, !isPiece {
      throw Problem(
        .changeSetTooLarge,
        "Those before this one are as much work as one transaction may be: write the others in another.")
    }
    work.addOperation()
    let operation = try prepare?(index, operations[index]) ?? operations[index]
    switch operation.kind {
    case .create: try Creating(run: self).create(operation)
    case .update: try Updating(run: self).update(operation)
    case .delete: try Deleting(run: self).delete(operation)
    }
    try settle()
    current = outer
  }

  /// Applies a later create of this set at once, when a record before it needs it: a device may write a child before its
  /// parent.
  ///
  /// - Returns: whether there was one.
  func bringForward(_ table: Int, _ id: String) throws -> Bool {
    if operations.count == 1 { return false }
    if creates == nil {
      creates = [:]
      for (index, operation) in operations.enumerated() where operation.kind == .create {
        creates?["\(operation.table) \(operation.id)"] = index
      }
    }
    guard let index = creates?["\(table) \(id)"], index > current, !isDone[index] else { return false }
    Trace.took(.broughtForward)
    try run(index)
    return true
  }

  /// The rev that this set's delete of a record was based on; nil when the set has none.
  func deletedRev(_ table: Int, _ id: String) -> Int64? {
    if deletes == nil {
      deletes = [:]
      for operation in operations where operation.kind == .delete {
        deletes?["\(operation.table) \(operation.id)"] = operation.rev
      }
    }
    return deletes?["\(table) \(id)"]
  }

  /// The operation's stamp; one from the future counts as the time of arrival.
  package func stamp(of operation: RecordOperation) -> Stamp { min(operation.stamp, author.clock) }

  /// Makes a problem of the end of the set one of its operation.
  func blame(_ operation: Int, _ problem: Problem) -> Problem {
    current = operation
    return problem
  }

  /// The stamps of a record that is created.
  func text(of creation: ColumnStamp) -> String {
    if let lastStamps, lastStamps.creation == creation { return lastStamps.text }
    let text = RecordStamps(creation: creation).text
    lastStamps = (creation, text)
    return text
  }

  private func checkOwners() throws {
    for (zone, operation) in ownerLosses {
      // A public zone needs no owner, and of a zone whose root is deleted everybody may take leave.
      if try !stores.memberList.hasOwner(zone), try !ledger.isPublic(zone), try stores.isLive(zone) {
        throw blame(operation, Problem(.lastOwner))
      }
      if let owner = try stores.recoverer(of: zone), owner != author.user, author.device != 0,
        try stores.memberList.ownRole(of: owner, in: zone) != .owner
      {
        throw blame(
          operation,
          Problem(.lastOwner, "Who has proved the latest moment of the zone stays its owner for now."))
      }
    }
  }
}

/// A part of the rules, at work for a change set.
protocol ChangeSetPart {
  var run: ChangeSetRun { get }
}

extension ChangeSetPart {
  var author: Author { run.author }
  var stores: RecordStores { run.stores }
  var schema: SyncSchema { run.schema }
  var ledger: ZoneLedger { run.ledger }

  /// The operation's stamp; one from the future counts as the time of arrival.
  func stamp(of operation: RecordOperation) -> Stamp { run.stamp(of: operation) }
}

extension RecordOperation {
  /// The value that the operation sets a column to; nil when it does not set it.
  package func value(of column: Int) -> Value? { settings.first { $0.column == column }?.value }
}

extension Value {
  /// The text of a text.
  package var text: String? { if case .text(let text) = self { text } else { nil } }
}
