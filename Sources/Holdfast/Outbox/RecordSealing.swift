import HoldfastCore
import HoldfastSQLite

/// Writing the operations of one record, as the server will read them.
struct RecordSealing {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var zones: Zones { Zones(database: database) }
  private var sendable: SendableValues { SendableValues(database: database) }

  /// Writes the operations of one record.
  ///
  /// - Parameter unsendable: what stands, for a person, where the value of a column can't be sent.
  /// - Returns: their number, and the record as it is now; nil when it is gone.
  func seal(
    _ record: LooseRecord, clock: inout Stamp, isStrict: Bool, to writer: inout OperationWriter,
    unsendable: [Int: JSONValue] = [:]
  ) throws -> (count: Int64, record: (zone: String?, rev: Int64, values: [Value])?) {
    let table = schema.tables[record.table]
    let startsHere = record.lives.first == .create
    let endsHere = record.lives.last == .delete
    var count: Int64 = 0
    func stamp() -> Stamp {
      clock = clock.next(milliseconds: record.at)
      count += 1
      return clock
    }
    if startsHere, endsHere { return (0, nil) }
    if !startsHere, record.lives.contains(.delete) {
      // What an edit that still waits hides from the person was not known to who deleted the record.
      let known = try connection.value(
        "SELECT min(rev) FROM holdfast_edits WHERE record_table = ? AND id = ? AND kind = 'update'",
        [.text(table.name), .text(record.id)])
      let rev = min(record.rev, known?.integer ?? record.rev)
      writer.write(.delete, table: table, id: record.id, rev: rev, stamp: stamp(), settings: [])
    }
    guard !endsHere, var row = try database.storedRow(record.table, record.id) else { return (count, nil) }
    if isStrict, let fault = sendable.fault(record, row.values) { throw fault.problem }
    let values = try settled(row.values.map { Value($0) }, of: record)
    func isChanged(_ column: Int, _ base: Value) -> Bool {
      values[column] != base || unsendable[column] != nil
    }
    if record.lives.last == .create {
      if isStrict, !Identifier.isUUID(record.id) {
        throw Problem(.invalidID, "The id of a record in \(table.name).")
      }
      if row.zone == nil {
        row.zone = try database.whileApplying { try zones.complete(record.table, record.id) }
      }
      let settings = values.enumerated().map { RecordOperation.Setting(column: $0.offset, value: $0.element) }
      if isStrict { try check(settings, of: record) }
      writer.write(
        .create, table: table, id: record.id, rev: 0, stamp: stamp(), settings: settings,
        zone: table.zone == .explicit ? row.zone ?? "" : nil, unsendable: unsendable)
      return (count, (row.zone, row.rev, values))
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
    return (count, (row.zone, row.rev, values))
  }

  /// Writes JSON as the server will read it: without white space around it, and its null as NULL. Else this device would show another value than
  /// others.
  ///
  /// - Returns: the values of the record after that.
  private func settled(_ values: [Value], of record: LooseRecord) throws -> [Value] {
    let columns = schema.tables[record.table].columns
    var settled = values
    for (index, column) in columns.enumerated() { settled[index] = column.settled(values[index]) }
    let changed = columns.indices.filter { settled[$0] != values[$0] }
    if changed.isEmpty { return values }
    try database.whileApplying {
      try database.rows.update(
        record.table, record.id, TextMap(changed.map { (columns[$0].name, SQLiteValue(settled[$0])) }))
    }
    return settled
  }

  /// Checks values that are to be sent against the schema.
  private func check(_ settings: [RecordOperation.Setting], of record: LooseRecord) throws {
    for setting in settings {
      try schema.tables[record.table].columns[setting.column].checkSent(setting.value)
    }
  }

  /// Puts the loose edits of a record into a change set.
  func assign(_ record: LooseRecord, to changeSet: Int64) throws {
    try connection.run(
      "UPDATE holdfast_edits SET change_set = ? WHERE record_table = ? AND id = ? AND change_set IS NULL",
      [.integer(changeSet), .text(schema.tables[record.table].name), .text(record.id)])
  }
}
