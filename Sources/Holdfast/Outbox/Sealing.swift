import HoldfastCore
import HoldfastSQLite

/// Making a change set of loose edits.
struct Sealing {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var recreatedRecords: RecreatedRecords { RecreatedRecords(database: database) }
  private var recordSealing: RecordSealing { RecordSealing(database: database) }
  private var sendable: SendableValues { SendableValues(database: database) }
  private var unsendableRecords: UnsendableRecords { UnsendableRecords(database: database) }

  /// The greatest size of a change set, in bytes. The server takes requests of twice that.
  static let changeSetSize = 8 << 20
  /// From this size on the edits of foreign writers, whose transactions are not known, go into several change sets.
  private static let foreignSetSize = 1 << 20
  private static let foreignSetOperations: Int64 = 1000

  /// Makes one change set of the edits of the library's own transaction; must run in it.
  ///
  /// - Parameter loose: all edits that are in no change set yet.
  /// - Returns: the number of its first operation.
  /// - Throws: `Problem` for a value that the schema forbids; `StoreError.changeSetTooLarge`.
  func sealOwn(_ loose: [LooseRecord]) throws -> Int64 {
    if !loose.isEmpty { try clearInside() }
    var first: Int64 = 0
    _ = try sealing(loose) { ordered, state in
      first = state.nextNumber
      try sealOwn(ordered, &state)
    }
    return first
  }

  /// Makes change sets of the edits that foreign writers have left; must run in the transaction that saw them. Many edits become several sets. A
  /// record that the server is likely to refuse is a set of its own, refused by name; one that can't be sent goes to quarantine.
  ///
  /// - Returns: whether there was anything to seal.
  @discardableResult
  func sealForeign() throws -> Bool {
    try clearInside()
    var unsendable: [(body: [UInt8], problem: Problem)] = []
    let hasSealed = try sealing(looseRecords()) { ordered, state in
      Trace.took(.looseSealed)
      var loose = try SendingOrder(database: database).parentsFirst(ordered)
      unsendable = try unsendableRecords.take(from: &loose, clock: &state.clock)
      try sealForeign(loose, &state)
    }
    try unsendableRecords.quarantine(unsendable)
    return hasSealed
  }

  /// Seals loose edits by `body`, which gets them in the order of their operations, and leaves none.
  private func sealing(
    _ loose: [LooseRecord], _ body: (_ ordered: [LooseRecord], inout DeviceState) throws -> Void
  ) throws -> Bool {
    if loose.isEmpty { return false }
    let before = try database.state()
    var state = before
    try body(try inOrder(loose), &state)
    // Of records that were created and deleted again, and of tables that are unknown here.
    try connection.run("DELETE FROM holdfast_edits WHERE change_set IS NULL")
    // A clock at its end stands still.
    if state.clock != before.clock || state.nextNumber != before.nextNumber {
      try connection.run(
        "UPDATE holdfast_local SET next_number = ?, chain = ?, clock = ?",
        [.integer(state.nextNumber), .text(state.chain.text), .integer(state.clock.rawValue)])
    }
    return state.nextNumber > before.nextNumber
  }

  /// Empties the tables in which triggers keep what they need during a statement.
  private func clearInside() throws {
    // Without WHERE, SQLite writes the root of a table that is empty, too: three pages of each transaction.
    try connection.run("DELETE FROM holdfast_replaced WHERE true")
    try connection.run("DELETE FROM holdfast_cascaded WHERE true")
  }

  /// The order in which the server comes to what is here, whatever came first here. A deletion takes along what refers to the record at
  /// that moment, so all deletions come last, in their order: what was moved away stays.
  private func inOrder(_ loose: [LooseRecord]) throws -> [LooseRecord] {
    let live = try loose.filter { $0.deletion == nil }.compactMap { try recreatedRecords.asUpdate($0) }
    let deleted = loose.filter { $0.deletion != nil }
    return live + deleted.sorted { ($0.deletion ?? 0) < ($1.deletion ?? 0) }
  }

  private func sealOwn(_ loose: [LooseRecord], _ state: inout DeviceState) throws {
    var count: Int64 = 0
    var writer = OperationWriter()
    for record in loose {
      count += try recordSealing.seal(record, clock: &state.clock, isStrict: true, to: &writer)
    }
    if count > operationLimit(loose) || writer.count > Self.changeSetSize {
      throw StoreError(
        .changeSetTooLarge,
        "The transaction made \(count) edits of \(writer.count) bytes; write at most \(SyncRequest.operationLimit) and 8 MiB at once. A transaction that only deletes may delete \(SyncRequest.deletionLimit) records, if at most \(SyncRequest.operationLimit) of them are not below others: delete some of what is below a record first, in transactions of their own."
      )
    }
    if count == 0 { return }
    try connection.run(
      "UPDATE holdfast_edits SET change_set = ? WHERE change_set IS NULL", [.integer(state.nextNumber)])
    try enqueue(writer.finish(), count: count, state: &state)
  }

  private func sealForeign(_ loose: [LooseRecord], _ state: inout DeviceState) throws {
    let areAlone = try loose.map(sendable.isDoubtful)
    let below = countsBelow(loose)
    var (count, together): (Int64, Int) = (0, 0)
    var writer = OperationWriter()
    for (index, record) in loose.enumerated() {
      let operations = try recordSealing.seal(record, clock: &state.clock, isStrict: false, to: &writer)
      count += operations
      if operations > 0 { try recordSealing.assign(record, to: state.nextNumber) }
      together = max(together - 1, below[index])
      let isLast = index == loose.count - 1 || areAlone[index + 1]
      let next = isLast ? 0 : Int64(below[index + 1])
      let isFull = count + next >= Self.foreignSetOperations || writer.count >= Self.foreignSetSize
      let isAtLimit = count >= SyncRequest.deletionLimit || writer.count >= Self.changeSetSize - (64 << 10)
      if count > 0, together == 0 && (isFull || areAlone[index]) || isLast || isAtLimit {
        try enqueue(writer.finish(), count: count, state: &state)
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

  private func enqueue(_ body: [UInt8], count: Int64, state: inout DeviceState) throws {
    let chain = body.withUnsafeBufferPointer { state.chain.chained(with: $0) }
    try connection.run(
      "INSERT INTO holdfast_outbox (first, last, chain_before, chain, body) VALUES (?, ?, ?, ?, ?)",
      [
        .integer(state.nextNumber), .integer(state.nextNumber + count - 1), .text(state.chain.text),
        .text(chain.text), .blob(body),
      ])
    state.nextNumber += count
    state.chain = chain
  }

  /// The edits that are in no change set yet, by record.
  func looseRecords() throws -> [LooseRecord] {
    var records: [LooseRecord] = []
    // By bytes: texts that are equal to Unicode may be the ids of two records.
    var places: [[UInt8]: Int] = [:]
    let row = try connection.statement(
      "SELECT record_table, id, kind, column_name, base, rev, at, n FROM holdfast_edits WHERE change_set IS NULL ORDER BY n"
    )
    defer { row.reset() }
    while try row.step() {
      guard let table = schema.index(of: row.text(0)) else { continue }
      let key = row.withText(1) { Array("\(table).".utf8) + $0 }
      let place: Int
      if let known = places[key] {
        place = known
      } else {
        place = records.count
        places[key] = place
        records.append(LooseRecord(table: table, id: row.text(1), at: row.integer(6)))
      }
      let edit = Edit(
        n: row.integer(7), changeSet: nil, kind: Edit.Kind(rawValue: row.text(2)) ?? .update,
        column: row.text(3), base: row.value(4), rev: row.integer(5), at: row.integer(6))
      records[place].add(edit, schema.tables[table].index(of: edit.column))
    }
    return records
  }
}
