package import HoldfastCore

/// The author and the time of a change.
package struct Author {
  /// The server's number of the device; 0 for the server itself.
  package let device: Int64
  /// The user's id.
  package let user: String
  /// The time of the service's clock. Later stamps of the change are lowered to it.
  package let clock: Stamp
  /// Whether the author saw the current records: a REST client, not a device that was offline.
  var isPresent = false

  package init(device: Int64, user: String, clock: Stamp, isPresent: Bool = false) {
    (self.device, self.user, self.clock, self.isPresent) = (device, user, clock, isPresent)
  }
}

/// A reference that did not hold when it was written. It must hold at the end of the set.
struct OpenReference {
  let operation: Int
  let link: SyncSchema.Link
  let id: String
  /// Whether to check the references to the record, instead of the record's own.
  var isInbound = false
}

/// A record that goes along with another one, into another zone or by a deletion.
struct Follower {
  /// The place of a record or of its tombstone.
  typealias Place = (zone: String, seq: Int64)

  let table: Int
  let id: String
  let before: Place
  let after: Place
  let isDeletion: Bool
}

/// A conflict to log: the winning and the losing edit of a column. The log entry is written after the record.
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
  /// Whether the record already has the winner's value and keeps it.
  var isWinnerInRecord = false
}

/// Applies one change set inside a savepoint. PROTOCOL.md, section 5, has the rules.
///
/// A thrown `Problem` refuses the set. `current` is then the failed operation; the caller rolls back.
package final class ChangeSetRun {
  /// Prepares an operation right before it is applied, and returns the operation to apply instead.
  package typealias Preparation = (Int, RecordOperation) throws -> RecordOperation

  package let stores: RecordStores
  package let author: Author
  package let operations: [RecordOperation]
  /// Whether it only deletes.
  let isDeletion: Bool
  /// The index of the current operation.
  package private(set) var current = 0
  /// How many conflicts it wrote to the conflict log.
  var conflictCount = 0
  var openReferences: [OpenReference] = []
  /// The owners that zones lose, each with the operation.
  var ownerLosses: [(zone: String, user: String?, operation: Int)] = []
  /// The records that have moved or were deleted; nil if nobody asks for them.
  var followers: [Follower]?
  /// The records with new unique values, each with the last operation that set them.
  var uniqueWritten: [Footprint.Key: Int] = [:]
  /// The created and changed records, each with its first operation; for the team's validators.
  package var written: [Footprint.Key: Int] = [:]
  /// The work of the change set so far.
  var work: ChangeSetWork {
    get { stores.work }
    set { stores.work = newValue }
  }
  /// The records of `uniqueWritten` that shared a value with another record at the last check, or are not checked yet.
  var uniqueInDoubt: Set<Footprint.Key> = []
  /// Whether the records are deleted because a user is erased. References do not restrict such deletions.
  let isErasing: Bool
  /// Whether a large deletion may be split over several transactions.
  let mayBeCut: Bool
  /// Whether this transaction runs one piece of a large deletion.
  private(set) var isPiece: Bool
  /// Whether this transaction does one piece of a recovered deletion.
  var removesInPieces = false
  /// How far the pieces of the deletion are, and what the first one has checked.
  var cut: CutDeletion?
  /// What it created, as long as each operation so far created one record, exactly as it says.
  private var createdSoFar: CreatedSet?
  /// What it created, if it did nothing else.
  var created: CreatedSet? { createdSoFar.flatMap { $0.seqs.count == operations.count ? $0 : nil } }
  /// Whether another transaction must continue.
  package var isUnfinished = false
  private let prepare: Preparation?
  /// How far each operation is.
  private var progress: [Progress]
  private var creates: [Footprint.Key: Int]?
  private var deletes: TextMap<Int64>?
  /// The author's name: nil until it was asked for, and an empty one for an author without a name.
  private var knownName: String?
  /// Those of the record that was created last: the next of a request of REST has the same.
  private var lastStamps: (creation: ColumnStamp, text: String)?

  package var schema: SyncSchema { stores.schema }
  package var ledger: ZoneLedger { stores.ledger }

  package init(
    _ operations: [RecordOperation], by author: Author, on stores: RecordStores, isErasing: Bool = false,
    mayBeCut: Bool = false, isPiece: Bool = false, after cut: CutDeletion? = nil,
    prepare: Preparation? = nil
  ) {
    self.mayBeCut = mayBeCut
    self.isPiece = isPiece
    self.cut = cut
    self.operations = operations
    // A run without operations is of recovered records. Whether it is a deletion only, its records tell.
    isDeletion = operations.isEmpty ? mayBeCut : operations.allSatisfy { $0.kind == .delete }
    self.isErasing = isErasing
    self.prepare = prepare
    self.author = author
    self.stores = stores
    progress = Array(repeating: .ahead, count: operations.count)
    stores.work = ChangeSetWork()
  }

  /// Applies all operations, then checks the rules that hold for the set as a whole.
  ///
  /// - Throws: `Problem` if the set is refused; errors of the store.
  package func run() throws {
    if isPiece, try !runPiece() {
      isUnfinished = true
      return try stores.transaction.settle { false }
    }
    for index in operations.indices { try run(index) }
    // Nothing refuses a deletion of which pieces are committed.
    if isPiece { return try stores.transaction.settle { false } }
    try ReferenceRules(run: self).checkOpenReferences()
    try RecordWriting(run: self).checkUnique()
    try checkOwners()
    try validate()
    // Service tokens have no such limits.
    if author.device != 0, ledger.scope == nil {
      current = max(0, operations.count - 1)
      try ledger.requireRoom(stores.zoneLimits)
      try stores.requireRoom(of: author.user)
    }
    try stores.transaction.settle { false }
  }

  /// Deletes what is below the named records, up to the limit of one transaction.
  ///
  /// - Returns: whether the named records come next.
  private func runPiece() throws -> Bool {
    let isFirst = cut == nil
    if isFirst { cut = try Deleting(run: self).decide() }
    isPiece = cut != nil
    if !isPiece { return true }
    guard try Deleting(run: self).removeBelowNamed(isFirst: isFirst) else {
      try Deleting(run: self).keepZones()
      return false
    }
    try Deleting(run: self).prefetchNamed(operations.indices)
    return true
  }

  /// Called when one operation has written everything.
  package func settle() throws {
    try stores.transaction.settle(unless: RecordWriting(run: self).hasUniqueClash)
  }

  private enum Progress {
    case ahead
    /// It waits for others that it needs first.
    case waiting
    case applied
  }

  /// A later create of this set that an operation needs first.
  private struct Need {
    let index: Int
    /// Whether it decides the operation's zone.
    let isParent: Bool
  }

  /// Applies an operation, and before it the later creates of this set that it needs: a device may write a child before its parent.
  ///
  /// Each of those may need others in its turn. A device decides how long such a chain is, so it is kept here and not on the thread's stack.
  private func run(_ index: Int) throws {
    if progress[index] != .ahead { return }
    progress[index] = .waiting
    var chain = [(index: index, needs: try needs(of: index))]
    while let waiting = chain.last {
      guard let need = waiting.needs.last else {
        chain.removeLast()
        try apply(waiting.index)
        continue
      }
      chain[chain.count - 1].needs.removeLast()
      switch progress[need.index] {
      case .ahead:
        Trace.took(.broughtForward)
        progress[need.index] = .waiting
        chain.append((need.index, try needs(of: need.index)))
      case .waiting where need.isParent:
        // A circle: a parent refers to its child. The parent has what itself needs for a zone, and waits for the child alone.
        try apply(need.index)
      case .waiting, .applied: break
      }
    }
  }

  private func apply(_ index: Int) throws {
    if progress[index] == .applied { return }
    progress[index] = .applied
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
  }

  /// The later creates of records that an operation refers to and that do not exist yet, the first one last: its parent or the root of a
  /// member's zone, then what its references with a delete rule name. Without them, such a reference would count as one to a deleted record.
  private func needs(of index: Int) throws -> [Need] {
    let operation = operations[index]
    if operations.count == 1 || operation.kind == .delete { return [] }
    let table = schema.tables[operation.table]
    var needs: [Need] = []
    if table.zone == .explicit, operation.kind == .create, let zone = operation.zone {
      for root in schema.tables.indices where schema.tables[root].zone == .root {
        if let create = laterCreate(of: root, zone), try !ledger.exists(zone) {
          needs.append(Need(index: create, isParent: true))
        }
      }
    }
    for link in schema.links(of: operation.table) {
      let isParent = table.zone == .parent(table.columns[link.column].name)
      guard isParent || !author.isPresent && link.onDelete != .restrict,
        let id = operation.value(of: link.column)?.text, let create = laterCreate(of: link.target, id),
        try stores.tables[link.target].zone(of: id) == nil
      else { continue }
      needs.insert(Need(index: create, isParent: isParent), at: isParent ? needs.endIndex : 0)
    }
    return needs
  }

  /// The create of a record in this set, if it is not applied yet.
  func laterCreate(of table: Int, _ id: String) -> Int? {
    if creates == nil {
      var found: [Footprint.Key: Int] = [:]
      for (index, operation) in operations.enumerated() where operation.kind == .create {
        found[Footprint.Key(table: operation.table, id: operation.id)] = index
      }
      creates = found
    }
    guard let index = creates?[Footprint.Key(table: table, id: id)], progress[index] != .applied else {
      return nil
    }
    return index
  }

  /// The base rev of this set's delete of a record; nil if the set does not delete it.
  func deletedRev(_ table: Int, _ id: String) -> Int64? {
    if deletes == nil {
      deletes = [:]
      for operation in operations where operation.kind == .delete {
        deletes?["\(operation.table) \(operation.id)"] = operation.rev
      }
    }
    return deletes?["\(table) \(id)"]
  }

  /// The rev of a record that a REST client saw. One that the record has not reached yet is of another history, and says nothing.
  func seen(_ rev: Int64, of record: StoredRecord) -> Int64 {
    author.isPresent && rev != .max && rev > record.rev ? 0 : rev
  }

  /// The operation's stamp. A stamp in the future is lowered to the time of arrival.
  package func stamp(of operation: RecordOperation) -> Stamp { min(operation.stamp, author.clock) }

  /// Attributes a problem that was found at the end of the set to an operation.
  func blame(_ operation: Int, _ problem: Problem) -> Problem {
    current = operation
    return problem
  }

  /// Notes a record that an operation created, exactly as it says.
  func noteCreated(_ record: StoredRecord) {
    if createdSoFar == nil {
      createdSoFar = CreatedSet(zone: record.zone, seq: record.seq)
    } else if createdSoFar?.add(zone: record.zone, seq: record.seq) == false {
      createdSoFar = nil
    }
  }

  /// The name of the author, which each membership of a new root record has.
  func authorName() throws -> String {
    if let knownName { return knownName }
    let name = try stores.store.accounts.name(ofID: author.user) ?? ""
    knownName = name
    return name
  }

  /// The stamps of a record that is created.
  func text(of creation: ColumnStamp) -> String {
    if let lastStamps, lastStamps.creation == creation { return lastStamps.text }
    let text = RecordStamps(creation: creation).text
    lastStamps = (creation, text)
    return text
  }

  private func checkOwners() throws {
    var checked: TextSet = []
    for (zone, user, operation) in ownerLosses {
      if let user, user == zone, try stores.isOwnZone(zone),
        try stores.memberList.ownRole(of: user, in: zone) != .owner
      {
        throw blame(operation, MemberRules.ownZone)
      }
      if let user, user != author.user, author.device != 0, try stores.recoverer(of: zone) == user,
        try stores.memberList.ownRole(of: user, in: zone) != .owner
      {
        throw blame(
          operation,
          Problem(.lastOwner, "Who has proved the latest moment of the zone stays its owner for now."))
      }
      if !checked.insert(zone).inserted { continue }
      // A public zone needs no owner. If the zone's root record is deleted, every member may leave.
      if try !stores.memberList.hasOwner(zone), try !ledger.isPublic(zone), try stores.isLive(zone) {
        throw blame(operation, Problem(.lastOwner))
      }
    }
  }
}

/// A group of rules, applied to a change set.
protocol ChangeSetPart {
  var run: ChangeSetRun { get }
}

extension ChangeSetPart {
  var author: Author { run.author }
  var stores: RecordStores { run.stores }
  var schema: SyncSchema { run.schema }
  var ledger: ZoneLedger { run.ledger }

  /// The operation's stamp. A stamp in the future is lowered to the time of arrival.
  func stamp(of operation: RecordOperation) -> Stamp { run.stamp(of: operation) }
}

extension RecordOperation {
  /// The value that the operation sets a column to; nil if it does not set the column.
  package func value(of column: Int) -> Value? { settings.first { $0.column == column }?.value }
}

extension Value {
  /// The text of a text value.
  package var text: String? { if case .text(let text) = self { text } else { nil } }
}
