import HoldfastCore
import HoldfastSQLite

/// Making a change set of loose edits.
struct Sealing {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var recreatedRecords: RecreatedRecords { RecreatedRecords(database: database) }
  private var rebase: Rebase { Rebase(database: database) }
  private var recordSealing: RecordSealing { RecordSealing(database: database) }
  private var sendable: SendableValues { SendableValues(database: database) }
  private var unsendableRecords: UnsendableRecords { UnsendableRecords(database: database) }

  /// The greatest size of a change set, in bytes. The server takes requests of twice that.
  static let changeSetSize = 8 << 20
  /// From this size on the edits of foreign writers, whose transactions are not known, go into several change sets.
  private static let foreignSetSize = 1 << 20
  private static let foreignSetOperations: Int64 = 1000

  /// Makes one change set of the edits of the library's own transaction, with what undoes them; must run in it.
  ///
  /// - Parameters:
  ///   - isUndoable: whether it is a person's, who may undo it.
  ///   - undone: the number of the transaction that this one undoes.
  ///   - origin: that of a change set that is carried from another database's file.
  /// - Returns: whether it can be undone.
  /// - Throws: `Problem` for a value that the schema forbids; `StoreError.changeSetTooLarge`.
  @discardableResult
  func sealOwn(
    isUndoable: Bool = true, undoing undone: Int64? = nil, carrying origin: String? = nil
  ) throws -> Bool {
    let loose = try looseEdits()
    if loose.records.isEmpty { return false }
    try clearInside()
    var isKept = false
    try sealing(loose) { ordered, state in
      isKept = try sealOwn(ordered, loose, &state, isUndoable, undone, origin)
    }
    return isKept
  }

  /// Makes change sets of the edits that foreign writers have left; must run in the transaction that saw them. Many edits become several sets. A
  /// record that the server is likely to refuse is a set of its own, refused by name; one that can't be sent goes to quarantine.
  ///
  /// - Returns: whether there was anything to seal.
  @discardableResult
  func sealForeign() throws -> Bool {
    // Each write looks here, and nearly never finds anything.
    let isAny = try database.count(
      "SELECT EXISTS (SELECT 1 FROM holdfast_edits WHERE \(DeviceTables.isLoose)) OR \(Self.hasInside)")
    if isAny == 0 { return false }
    try clearInside()
    let loose = try looseEdits()
    if loose.records.isEmpty { return false }
    var unsendable: [(body: [UInt8], problem: Problem)] = []
    let hasSealed = try sealing(loose) { ordered, state in
      Trace.took(.looseSealed)
      var sendable = try SendingOrder(database: database).parentsFirst(ordered)
      unsendable = try unsendableRecords.take(from: &sendable, clock: &state.clock)
      try sealForeign(sendable, &state)
      // Of records that were created and deleted again, and of tables that are unknown here.
      try connection.run(
        "DELETE FROM holdfast_edits WHERE n >= ? AND change_set IS NULL", [.integer(loose.first)])
    }
    try unsendableRecords.quarantine(unsendable)
    return hasSealed
  }

  /// Seals loose edits by `body`, which gets them in the order of their operations, and leaves none.
  ///
  /// - Returns: whether there was anything to seal.
  @discardableResult
  private func sealing(
    _ loose: LooseEdits, _ body: (_ ordered: [LooseRecord], inout DeviceState) throws -> Void
  ) throws -> Bool {
    let before = try database.state()
    var state = before
    try body(try inOrder(loose.records), &state)
    if state.nextNumber > before.nextNumber { return true }
    // No change set has the clock. One at its end stands still.
    if state.clock != before.clock {
      try connection.run("UPDATE holdfast_local SET clock = ?", [.integer(state.clock.rawValue)])
    }
    return false
  }

  private static let hasInside =
    "EXISTS (SELECT 1 FROM holdfast_replaced) OR EXISTS (SELECT 1 FROM holdfast_cascaded)"

  /// Empties the tables in which triggers keep what they need during a statement.
  private func clearInside() throws {
    if try database.count("SELECT \(Self.hasInside)") == 1 {
      try connection.execute("DELETE FROM holdfast_replaced; DELETE FROM holdfast_cascaded")
    }
  }

  /// The order in which the server comes to what is here, whatever came first here. A deletion takes along what refers to the record at
  /// that moment, so all deletions come last, in their order: what was moved away stays.
  private func inOrder(_ loose: [LooseRecord]) throws -> [LooseRecord] {
    let live = try loose.filter { $0.deletion == nil }.compactMap { try recreatedRecords.asUpdate($0) }
    let deleted = loose.filter { $0.deletion != nil }
    return live + deleted.sorted { ($0.deletion ?? 0) < ($1.deletion ?? 0) }
  }

  private func sealOwn(
    _ ordered: [LooseRecord], _ loose: LooseEdits, _ state: inout DeviceState, _ isUndoable: Bool,
    _ undone: Int64?, _ origin: String?
  ) throws -> Bool {
    var count: Int64 = 0
    var writer = OperationWriter()
    var changes = UndoneChanges()
    for record in ordered {
      let sealed = try recordSealing.seal(record, clock: &state.clock, isStrict: true, to: &writer)
      count += sealed.count
      // A choice between two edits is for good.
      if isUndoable, schema.tables[record.table].zone != .server {
        let now = sealed.record.map { rebase.state(record.table, $0) }
        changes.add(schema.tables[record.table].name, record, now: now)
      }
    }
    if count > operationLimit(ordered) || writer.count > Self.changeSetSize {
      throw StoreError(
        .changeSetTooLarge,
        "The transaction made \(count) edits of \(writer.count) bytes; write at most \(SyncRequest.operationLimit) and 8 MiB at once. A transaction that only deletes may delete \(SyncRequest.deletionLimit) records, if at most \(SyncRequest.operationLimit) of them are not below others: delete some of what is below a record first, in transactions of their own."
      )
    }
    if count == 0 {
      try connection.run("DELETE FROM holdfast_edits WHERE n >= ?", [.integer(loose.first)])
      return false
    }
    try connection.run(
      "UPDATE holdfast_edits SET change_set = ? WHERE n >= ?",
      [.integer(state.nextNumber), .integer(loose.first)])
    if changes.areTooMany { try UndoTable(connection: connection).removeAll() }
    let undo = changes.finish()
    try enqueue(
      writer.finish(), count: count, state: &state, at: ordered.map(\.at).max() ?? 0, changes: undo,
      undoing: undone, carrying: origin)
    return undo != nil
  }

  private func sealForeign(_ loose: [LooseRecord], _ state: inout DeviceState) throws {
    let areAlone = try loose.map(sendable.isDoubtful)
    let below = countsBelow(loose)
    var (count, together): (Int64, Int) = (0, 0)
    var writer = OperationWriter()
    for (index, record) in loose.enumerated() {
      let operations = try recordSealing.seal(record, clock: &state.clock, isStrict: false, to: &writer).count
      count += operations
      if operations > 0 { try recordSealing.assign(record, to: state.nextNumber) }
      together = max(together - 1, below[index])
      let isLast = index == loose.count - 1 || areAlone[index + 1]
      let next = isLast ? 0 : Int64(below[index + 1])
      let isFull = count + next >= Self.foreignSetOperations || writer.count >= Self.foreignSetSize
      let isAtLimit = count >= SyncRequest.deletionLimit || writer.count >= Self.changeSetSize - (64 << 10)
      if count > 0, together == 0 && (isFull || areAlone[index]) || isLast || isAtLimit {
        try enqueue(writer.finish(), count: count, state: &state, at: record.at)
        writer = OperationWriter()
        count = 0
      }
    }
  }

  /// How many deletions behind each one go with it. They stay in its change set: if the server refuses that, none of them is done.
  private func countsBelow(_ loose: [LooseRecord]) -> [Int] {
    var counts = loose.map { _ in 0 }
    var first: Int?
    var deleted = DeletedRecords(schema)
    for (index, record) in loose.enumerated() where record.deletion != nil {
      if let first, deleted.areAbove(record) {
        counts[first] += 1
      } else {
        (first, deleted) = (index, DeletedRecords(schema))
      }
      deleted.insert(record)
    }
    return counts
  }

  /// How many operations a change set of these records may have. The server deletes what is below a record bit by bit, so that these are not counted.
  private func operationLimit(_ loose: [LooseRecord]) -> Int {
    guard loose.count > SyncRequest.operationLimit, loose.allSatisfy({ $0.deletion != nil }) else {
      return SyncRequest.operationLimit
    }
    var deleted = DeletedRecords(schema)
    for record in loose { deleted.insert(record) }
    let alone = loose.count { !deleted.areAbove($0) }
    return alone > SyncRequest.operationLimit ? SyncRequest.operationLimit : SyncRequest.deletionLimit
  }

  /// - Parameter changes: what undoes it; nil for nothing.
  private func enqueue(
    _ body: [UInt8], count: Int64, state: inout DeviceState, at milliseconds: Int64, changes: [UInt8]? = nil,
    undoing undone: Int64? = nil, carrying origin: String? = nil
  ) throws {
    let chain = body.withUnsafeBufferPointer { state.chain.chained(with: $0) }
    // A number is never given twice, as an app may hold it when its transaction is gone from here.
    if changes != nil { state.lastUndo += 1 }
    try connection.run(
      """
      INSERT INTO holdfast_outbox (first, last, chain_before, chain, clock, undo, at, undoes, body, changes, origin)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .integer(state.nextNumber), .integer(state.nextNumber + count - 1), .text(state.chain.text),
        .text(chain.text), .integer(state.clock.rawValue), .integer(state.lastUndo), .integer(milliseconds),
        undone.map { .integer($0) } ?? .null, .blob(body), changes.map { .blob($0) } ?? .null,
        origin.map { .text($0) } ?? .null,
      ])
    state.nextNumber += count
    state.chain = chain
  }

  /// The edits that are in no change set yet, by record.
  private func looseEdits() throws -> LooseEdits {
    var loose = LooseEdits()
    // By bytes: texts that are equal to Unicode may be the ids of two records.
    var places: [[UInt8]: Int] = [:]
    let row = try connection.statement(
      """
      SELECT record_table, id, kind, column_name, base, rev, at, n FROM holdfast_edits
      WHERE \(DeviceTables.isLoose) ORDER BY n
      """)
    defer { row.reset() }
    while try row.step() {
      if loose.first == 0 { loose.first = row.integer(7) }
      guard let table = schema.index(of: row.text(0)) else { continue }
      let key = row.withText(1) { Array("\(table).".utf8) + $0 }
      let place: Int
      if let known = places[key] {
        place = known
      } else {
        place = loose.records.count
        places[key] = place
        loose.records.append(LooseRecord(table: table, id: row.text(1), at: row.integer(6)))
      }
      let edit = Edit(
        n: row.integer(7), changeSet: nil, kind: Edit.Kind(rawValue: row.text(2)) ?? .update,
        column: row.text(3), base: row.value(4), rev: row.integer(5), at: row.integer(6))
      loose.records[place].add(edit, schema.tables[table].index(of: edit.column))
    }
    return loose
  }
}

/// The edits that are in no change set yet.
private struct LooseEdits {
  /// The number of the first.
  var first: Int64 = 0
  var records: [LooseRecord] = []
}
