import HoldfastCore
import HoldfastSQLite

/// Making a change set of loose edits.
extension LocalDatabase {
  /// The greatest size of a change set, in bytes. The server takes requests of twice that.
  static let changeSetSize = 8 << 20
  /// From this size on the edits of foreign writers, whose transactions are not known, go into several change sets.
  private static let foreignSetSize = 1 << 20
  private static let foreignSetOperations: Int64 = 1000

  /// Makes a change set of all edits that are in none yet; must run in the transaction that saw them.
  ///
  /// - Parameter isStrict: whether values that the schema forbids, and too many edits, throw, as for the library's own
  ///   transactions. Else they come from a foreign writer, and many edits become several change sets. A record with a forbidden value is a set
  ///   of its own, which the server refuses by name; one that can't be sent goes to quarantine.
  /// - Returns: whether there was anything to seal.
  /// - Throws: `Problem` for a forbidden value; `StoreError.changeSetTooLarge`.
  @discardableResult
  func seal(isStrict: Bool) throws -> Bool {
    var loose = try looseRecords()
    if loose.isEmpty { return false }
    try connection.execute("DELETE FROM holdfast_replaced; DELETE FROM holdfast_cascaded")
    let before = try state()
    var state = before
    var unsendable: [(body: [UInt8], problem: Problem)] = []
    if !isStrict {
      Trace.took(.looseSealed)
      unsendable = try self.unsendable(in: &loose, clock: &state.clock)
      var others: [LooseRecord] = []
      for record in loose {
        if try isDoubtful(record) {
          try sealForeign([record], &state)
        } else {
          others.append(record)
        }
      }
      loose = others
    }
    try isStrict ? sealOwn(loose, &state) : sealForeign(loose, &state)
    // Of records that were created and deleted again, and of tables that are unknown here.
    try connection.run("DELETE FROM holdfast_edits WHERE change_set IS NULL")
    if state.clock != before.clock {
      try connection.run(
        "UPDATE holdfast_local SET next_number = ?, chain = ?, clock = ?",
        [.integer(state.nextNumber), .text(state.chain.text), .integer(state.clock.rawValue)])
    }
    try quarantine(unsendable: unsendable)
    return state.nextNumber > before.nextNumber
  }

  private func sealOwn(_ loose: [LooseRecord], _ state: inout DeviceState) throws {
    var count: Int64 = 0
    var writer = OperationWriter()
    for record in loose { count += try seal(record, clock: &state.clock, isStrict: true, to: &writer) }
    if count > SyncRequest.operationLimit || writer.count > Self.changeSetSize {
      throw StoreError(
        .changeSetTooLarge,
        "The transaction made \(count) edits of \(writer.count) bytes; write at most \(SyncRequest.operationLimit) and 8 MiB at once."
      )
    }
    if count == 0 { return }
    try connection.run(
      "UPDATE holdfast_edits SET change_set = ? WHERE change_set IS NULL", [.integer(state.nextNumber)])
    try enqueue(writer.finish(), count: count, state: &state)
  }

  private func sealForeign(_ loose: [LooseRecord], _ state: inout DeviceState) throws {
    var count: Int64 = 0
    var writer = OperationWriter()
    for (index, record) in loose.enumerated() {
      let operations = try seal(record, clock: &state.clock, isStrict: false, to: &writer)
      count += operations
      if operations > 0 { try assign(record, to: state.nextNumber) }
      let isFull = count >= Self.foreignSetOperations || writer.count >= Self.foreignSetSize
      if count > 0, isFull || index == loose.count - 1 {
        try enqueue(writer.finish(), count: count, state: &state)
        writer = OperationWriter()
        count = 0
      }
    }
  }

  /// Puts the loose edits of a record into a change set.
  func assign(_ record: LooseRecord, to changeSet: Int64) throws {
    try connection.run(
      "UPDATE holdfast_edits SET change_set = ? WHERE record_table = ? AND id = ? AND change_set IS NULL",
      [.integer(changeSet), .text(schema.tables[record.table].name), .text(record.id)])
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

  /// The loose edits of one record, in order.
  struct LooseRecord {
    let table: Int
    let id: String
    var at: Int64
    /// What happened to the record as a whole, in order.
    var lives: [RecordOperation.Kind] = []
    /// Rev of a deletion.
    var rev: Int64 = 0
    /// The columns updated, with the rev they were based on, and the base of their first edit here.
    var updates: [(column: Int, rev: Int64, base: Value)] = []
  }

  private func looseRecords() throws -> [LooseRecord] {
    var records: [LooseRecord] = []
    // By bytes: texts that are equal to Unicode may be the ids of two records.
    var places: [[UInt8]: Int] = [:]
    let row = try connection.statement(
      "SELECT record_table, id, kind, column_name, base, rev, at FROM holdfast_edits WHERE change_set IS NULL ORDER BY n"
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
      records[place].at = row.integer(6)
      let column = row.text(3)
      switch row.text(2) {
      case "create": records[place].lives.append(.create)
      case "delete":
        if column.isEmpty {
          records[place].lives.append(.delete)
          records[place].rev = row.integer(5)
        }
      case "covered": continue
      default:
        if let index = schema.tables[table].index(of: column),
          !records[place].updates.contains(where: { $0.column == index })
        {
          records[place].updates.append((index, row.integer(5), row.columnValue(4)))
        }
      }
    }
    return records
  }

  /// Writes the operations of one record; gives their number.
  ///
  /// - Parameter unsendable: what stands, for a person, where the value of a column can't be sent.
  func seal(
    _ record: LooseRecord, clock: inout Stamp, isStrict: Bool, to writer: inout OperationWriter,
    unsendable: [Int: JSONValue] = [:]
  ) throws -> Int64 {
    let table = schema.tables[record.table]
    let startsHere = record.lives.first == .create
    let endsHere = record.lives.last == .delete
    var count: Int64 = 0
    func stamp() -> Stamp {
      clock = clock.next(milliseconds: record.at)
      count += 1
      return clock
    }
    if startsHere, endsHere { return 0 }
    if !startsHere, record.lives.contains(.delete) {
      // What an edit that still waits hides from the person was not known to who deleted the record.
      let known = try connection.value(
        "SELECT min(rev) FROM holdfast_edits WHERE record_table = ? AND id = ? AND kind = 'update'",
        [.text(table.name), .text(record.id)])
      let rev = min(record.rev, known?.integer ?? record.rev)
      writer.write(.delete, table: table, id: record.id, rev: rev, stamp: stamp(), settings: [])
    }
    if endsHere { return count }
    if isStrict, let fault = try self.unsendable(record) { throw fault.problem }
    guard let (zone, _, values) = try row(record.table, record.id) else { return count }
    func isChanged(_ column: Int, _ base: Value) -> Bool {
      values[column] != base || unsendable[column] != nil
    }
    if record.lives.last == .create {
      if isStrict, !Identifier.isUUID(record.id) {
        throw Problem(.invalidID, "The id of a record in \(table.name).")
      }
      if zone == nil { _ = try whileApplying { try completeZone(record.table, record.id) } }
      let settings = values.enumerated().map { RecordOperation.Setting(column: $0.offset, value: $0.element) }
      if isStrict { try check(settings, of: record) }
      writer.write(
        .create, table: table, id: record.id, rev: 0, stamp: stamp(), settings: settings,
        zone: table.zone == .explicit ? zone ?? "" : nil, unsendable: unsendable)
      return count
    }
    for update in record.updates where !isChanged(update.column, update.base) {
      // Changed and changed back: nothing is sent, and nothing must stand on top of what the server says.
      try connection.run(
        "DELETE FROM holdfast_edits WHERE change_set IS NULL AND record_table = ? AND id = ? AND kind = 'update' AND column_name = ?",
        [.text(table.name), .text(record.id), .text(table.columns[update.column].name)])
    }
    // Columns known since different revs are different operations: each says what its editor knew.
    for rev in Set(record.updates.map(\.rev)).sorted() {
      let settings = record.updates.filter { $0.rev == rev && isChanged($0.column, $0.base) }
        .map { RecordOperation.Setting(column: $0.column, value: values[$0.column], base: $0.base) }
      if settings.isEmpty { continue }
      if isStrict { try check(settings, of: record) }
      writer.write(
        .update, table: table, id: record.id, rev: rev, stamp: stamp(), settings: settings,
        unsendable: unsendable)
    }
    return count
  }

  /// Checks values that are to be sent against the schema.
  private func check(_ settings: [RecordOperation.Setting], of record: LooseRecord) throws {
    for setting in settings { try schema.tables[record.table].columns[setting.column].check(setting.value) }
  }

  /// Gives a record that was written before its parent, or before the first sign-in, its zone.
  @discardableResult
  func completeZone(_ table: Int, _ id: String) throws -> String? {
    guard let record = try row(table, id) else { return nil }
    if let zone = record.zone { return zone }
    guard case .parent(let name) = schema.tables[table].zone,
      let link = schema.links(of: table).first(where: { schema.tables[table].columns[$0.column].name == name }
      ),
      case .text(let parent) = record.values[link.column], let zone = try completeZone(link.target, parent)
    else { return nil }
    try connection.run(
      "UPDATE \"\(schema.tables[table].name)\" SET \"zone\" = ? WHERE \"id\" = ?", [.text(zone), .text(id)])
    return zone
  }

  /// A record as it is here, or nil.
  func row(_ table: Int, _ id: String) throws -> (zone: String?, rev: Int64, values: [Value])? {
    let row = try connection.statement(sql[table].select)
    defer { row.reset() }
    try row.bind(id, at: 1)
    guard try row.step() else { return nil }
    let values = (0..<sql[table].columns.count).map { row.columnValue($0 + 2) }
    return (row.isNull(0) ? nil : row.text(0), row.integer(1), values)
  }
}
