import HoldfastCore
import HoldfastSQLite

/// Edits that no trigger recorded: another program had dropped the triggers, or rebuilt a table without them. See PROTOCOL.md, section 6.7.
struct ZoneComparison {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var rebase: Rebase { Rebase(database: database) }
  private var quarantine: Quarantine { Quarantine(database: database) }

  private static let operationsOfSet = 1000

  /// Whether a zone is compared with the server's when it comes.
  func isComparing() throws -> Bool {
    try database.count("SELECT EXISTS (SELECT 1 FROM holdfast_zones WHERE resync = 'compared')") == 1
  }

  /// Compares an arriving record with the one here. What differs of the same revision was edited here, and becomes an edit on top of it. What differs
  /// of another revision may be others' edits, or this device's: it is noted for quarantine.
  ///
  /// - Parameter values: in the order of the table's columns.
  /// - Returns: whether the record was written.
  func keepUnrecorded(
    _ table: Int, _ id: String, rev: Int64, _ session: inout ApplySession, values: [Value]
  ) throws -> Bool {
    guard let known = try rebase.history(table, id).base else { return false }
    let definition = schema.tables[table]
    let differing = definition.columns.indices.compactMap {
      index -> (RecordOperation.Setting, SQLiteValue)? in
      let column = definition.columns[index].name
      let here = known.values[column] ?? .null
      let isOther = Value(here) != values[index]
      // Of the server's own records people write the choice alone, once.
      guard isOther, definition.zone != .server || column == "resolution" && values[index] == .null else {
        return nil
      }
      return (RecordOperation.Setting(column: index, value: Value(here), base: values[index]), here)
    }
    if differing.isEmpty { return false }
    guard known.rev == rev || known.rev == 0 && rev == 1 else {
      session.unrecorded.append(
        UnrecordedOperation(
          kind: .update, table: table, id: id, rev: rev, zone: nil, settings: differing.map(\.0)))
      return false
    }
    try rebase.onto(table, id, zone: session.zone, rev: rev, values: values)
    if try database.row(table, id) == nil { return true }
    let edited = TextSet(try database.edits.of(table, id).filter { $0.kind == .update }.map(\.column))
    for (setting, here) in differing {
      let column = definition.columns[setting.column].name
      if edited.contains(column) { continue }
      try connection.run(
        "UPDATE \"\(definition.name)\" SET \"\(column)\" = ? WHERE \"id\" = ?", [here, .text(id)])
      try database.edits.recordUpdate(
        of: column, table, id, base: SQLiteValue(values[setting.column]), rev: rev)
    }
    return true
  }

  /// Notes a record for quarantine that has not come with its zone, before it is removed.
  func keepRemoved(_ table: Int, _ id: String, in zone: String, _ session: inout ApplySession) throws {
    let definition = schema.tables[table]
    guard definition.zone != .server, let here = try database.row(table, id), here.zone == zone else {
      return
    }
    session.unrecorded.append(
      UnrecordedOperation(
        kind: .create, table: table, id: id, rev: 0, zone: definition.zone == .explicit ? zone : nil,
        settings: here.values.enumerated().map {
          RecordOperation.Setting(column: $0.offset, value: $0.element)
        }))
  }

  /// Takes what was noted into quarantine.
  ///
  /// - Returns: how many change sets that is.
  func quarantineUnrecorded(_ session: ApplySession) throws -> Int {
    var (lacking, rest, count) = (LackingRecords(), session.unrecorded[...], 0)
    let stamp = try database.state().clock
    while !rest.isEmpty {
      var writer = OperationWriter()
      for operation in rest.prefix(Self.operationsOfSet) {
        writer.write(
          operation.kind, table: schema.tables[operation.table], id: operation.id, rev: operation.rev,
          stamp: stamp, settings: operation.settings, zone: operation.zone)
      }
      try quarantine.add(
        first: -1, body: writer.finish(), operation: -1,
        problem: Problem(
          .changeSetUncertain,
          "Another program had removed the triggers of this file. The device's records were then other than the server's."
        ).document, RolledBack(), &lacking)
      rest = rest.dropFirst(Self.operationsOfSet)
      count += 1
    }
    return count
  }
}
