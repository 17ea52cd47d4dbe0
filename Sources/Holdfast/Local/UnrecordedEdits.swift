import HoldfastCore
import HoldfastSQLite

/// What a record was here, where the server has it otherwise.
struct UnrecordedOperation {
  let kind: RecordOperation.Kind
  let table: Int
  let id: String
  let rev: Int64
  /// The zone of a record whose creator says it.
  let zone: String?
  let settings: [RecordOperation.Setting]
}

/// Edits that no trigger recorded: another program had dropped the triggers, or rebuilt a table without them. See PROTOCOL.md, section 6.7.
extension LocalDatabase {
  private static let operationsOfSet = 1000

  /// Makes good for what the file lacks of its tables, indexes and triggers, and for edits that may not have been recorded meanwhile. Call in a
  /// transaction that writes.
  ///
  /// - Throws: `StoreError.databaseIsBroken` when a column is gone.
  func restoreForm() throws {
    let difference = try DeviceForm(schema).difference(of: connection)
    if let lost = difference.lost {
      throw StoreError(
        .databaseIsBroken,
        "Another program has rebuilt the table \(lost.table) without \(lost.column). Move the file away, open a new one, sign in, and call rescue(from:) with the old one."
      )
    }
    for statement in difference.statements { try connection.execute(statement) }
    if !difference.hasUnrecordedEdits { return }
    try whileApplying {
      try recordUpdatesOfWaiting()
      for table in schema.tables.indices where schema.tables[table].zone != .server {
        try recordCreates(table)
      }
    }
    try connection.execute("DELETE FROM holdfast_pages")
    try connection.run(
      "UPDATE holdfast_zones SET ack = '', sent = 0, resync = iif(resync = 2, 2, 5) WHERE ack IS NOT NULL")
  }

  /// Whether a zone is compared with the server's when it comes.
  func isComparing() throws -> Bool {
    try count("SELECT EXISTS (SELECT 1 FROM holdfast_zones WHERE resync = 5)") == 1
  }

  // MARK: Without the server

  /// Records that have no zone and no creation: the trigger that gives both was not there.
  private func recordCreates(_ index: Int) throws {
    let table = schema.tables[index]
    let isNew = "NEW.\"rev\" = 0 AND NEW.\"zone\" IS NULL"
    try connection.run(
      """
      INSERT INTO holdfast_edits (record_table, id, kind, column_name, base, rev, at)
      SELECT '\(table.name)', NEW."id", 'create', '', NULL, 0, \(DeviceTables.now) FROM "\(table.name)" AS NEW WHERE \(isNew)
      AND NOT EXISTS (SELECT 1 FROM holdfast_edits WHERE record_table = '\(table.name)' AND id = NEW."id" AND kind = 'create')
      """)
    if table.zone == .explicit { return }
    let zone = DeviceTables(schema: schema).zone(of: table)
    try connection.run("UPDATE \"\(table.name)\" AS NEW SET \"zone\" = \(zone) WHERE \(isNew)")
  }

  /// Columns that have another value than the change set says that waits to be sent. Where edits combine, the server's part can't be told from
  /// the device's: these are compared when they come.
  private func recordUpdatesOfWaiting() throws {
    var waiting: TextMap<(table: Int, id: String, values: [Int: SQLiteValue])> = [:]
    for row in try connection.rows("SELECT body FROM holdfast_outbox ORDER BY first") {
      for operation in QuarantinedOperation.all(row[0].blob ?? []) {
        guard let table = schema.index(called: operation.table) else { continue }
        let key = "\(table) \(operation.id)"
        if operation.kind == .delete { waiting[key] = nil }
        for (name, value) in operation.columns {
          guard let index = schema.tables[table].index(called: name) else { continue }
          let column = schema.tables[table].columns[index]
          guard !column.policy.combines, let value = try? column.value(of: value) else { continue }
          waiting[key, default: (table, operation.id, [:])].values[index] = value
        }
      }
    }
    for (_, record) in waiting.sorted(by: { $0.key < $1.key }) {
      guard let here = try row(record.table, record.id) else { continue }
      let edits = try edits(record.table, record.id)
      for (index, value) in record.values.sorted(by: { $0.key < $1.key }) {
        let column = schema.tables[record.table].columns[index].name
        let isRecorded = edits.contains { $0.changeSet == nil && ($0.column == column || $0.kind == .create) }
        // A null of a create says nothing: the server may have filled the column in.
        if isRecorded || edits.isEmpty || value == .null || SQLiteValue(here.values[index]) == value {
          continue
        }
        try recordUpdate(of: column, record.table, record.id, base: value, rev: here.rev)
      }
    }
  }

  /// Records the creation of a record that is here.
  func recordCreate(_ table: Int, _ id: String) throws {
    try recordEdit("create", "", table, id, base: .null, rev: 0)
  }

  private func recordUpdate(of column: String, _ table: Int, _ id: String, base: SQLiteValue, rev: Int64)
    throws
  {
    try recordEdit("update", column, table, id, base: base, rev: rev)
  }

  // MARK: With what the server has

  /// Compares an arriving record with the one here. What differs of the same revision was edited here, and becomes an edit on top of it. What differs
  /// of another revision may be others' edits, or this device's: it is noted for quarantine.
  ///
  /// - Parameter values: in the order of the table's columns.
  /// - Returns: whether the record was written.
  func keepUnrecorded(
    _ table: Int, _ id: String, rev: Int64, _ session: inout ApplySession, values: [Value]
  ) throws -> Bool {
    guard let known = try history(table, id).base else { return false }
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
    try rebase(table, id, zone: session.zone, rev: rev, values: values)
    if try row(table, id) == nil { return true }
    let edited = TextSet(try edits(table, id).filter { $0.kind == .update }.map(\.column))
    for (setting, here) in differing {
      let column = definition.columns[setting.column].name
      if edited.contains(column) { continue }
      try connection.run(
        "UPDATE \"\(definition.name)\" SET \"\(column)\" = ? WHERE \"id\" = ?", [here, .text(id)])
      try recordUpdate(of: column, table, id, base: SQLiteValue(values[setting.column]), rev: rev)
    }
    return true
  }

  /// Notes a record for quarantine that has not come with its zone, before it is removed.
  func keepRemoved(_ table: Int, _ id: String, in zone: String, _ session: inout ApplySession) throws {
    let definition = schema.tables[table]
    guard definition.zone != .server, let here = try row(table, id), here.zone == zone else { return }
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
    let stamp = try state().clock
    while !rest.isEmpty {
      var writer = OperationWriter()
      for operation in rest.prefix(Self.operationsOfSet) {
        writer.write(
          operation.kind, table: schema.tables[operation.table], id: operation.id, rev: operation.rev,
          stamp: stamp, settings: operation.settings, zone: operation.zone)
      }
      try quarantine(
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
