import HoldfastCore
import HoldfastSQLite

/// Applying the changes of a zone. See PROTOCOL.md, section 6.3, step 5.
struct ZoneChanges {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var sql: [TableStatements] { database.sql }
  private var pendingDeletions: PendingDeletions { PendingDeletions(database: database) }
  private var rebase: Rebase { Rebase(database: database) }
  private var deletions: RememberedDeletions { RememberedDeletions(database: database) }
  private var comparison: ZoneComparison { ZoneComparison(database: database) }
  private var recoveredRecords: RecoveredRecords { RecoveredRecords(database: database) }

  /// Applies a page.
  func apply(_ page: ParsedPage, _ session: inout ApplySession) throws {
    try page.bytes.withUnsafeBufferPointer { bytes in
      var writers: [DeviceRecordWriter?] = Array(repeating: nil, count: schema.tables.count)
      for change in page.changes where try !isSetApart(change, of: page, bytes, &session) {
        if let writer = writers[change.table] {
          try writer.write(change)
        } else {
          let writer = try DeviceRecordWriter(
            schema.tables[change.table], sql[change.table], on: connection, zone: session.zone, page: page,
            bytes: bytes)
          writers[change.table] = writer
          try writer.write(change)
        }
      }
      for writer in writers { try writer?.finish() }
    }
  }

  /// Whether a change is no record that is written as it is: deals with it if so.
  private func isSetApart(
    _ change: ParsedPage.Change, of page: ParsedPage, _ bytes: UnsafeBufferPointer<UInt8>,
    _ session: inout ApplySession
  ) throws -> Bool {
    guard change.isDeleted || session.hasEdits || session.seen != nil else { return false }
    let (table, id) = (change.table, page.id(of: change))
    if change.isDeleted {
      session.deleted.append((table, id, session.zone, change.rev))
      return true
    }
    session.seen?[table, default: []].insert(id)
    func arriving() throws -> [Value] {
      try values(of: table, UnsafeBufferPointer(rebasing: bytes[change.columns]))
    }
    if session.isRestored,
      try recoveredRecords.noteIfLater(
        table, id, in: session.zone, than: change.rev, session.writable, values: arriving)
    {
      return true
    }
    if session.isCompared,
      try comparison.keepUnrecorded(table, id, rev: change.rev, &session, values: arriving())
    {
      return true
    }
    guard session.hasEdits, try isEdited(table, id) else { return false }
    try rebase.onto(table, id, zone: session.zone, rev: change.rev, values: arriving())
    return true
  }

  /// Takes over records that the server has exactly as this device sent them: they get their zone, and the rev of a new record.
  func take(_ created: [CreatedRecord], _ session: inout ApplySession) throws {
    Trace.took(.takenAsSent)
    for record in created {
      let (table, id) = (record.table, record.id)
      session.seen?[table, default: []].insert(id)
      if session.hasEdits, try isEdited(table, id) {
        // Below the edits that remain is what was sent.
        guard let sent = try rebase.history(table, id).base else {
          throw Inapplicable.incomplete(zone: session.zone)
        }
        let values = sql[table].columns.map { sent.values[$0].map { Value($0) } ?? .null }
        try rebase.onto(table, id, zone: session.zone, rev: 1, values: values)
        continue
      }
      try connection.run(sql[table].confirm, [.text(session.zone), .text(id)])
      if connection.changes == 0 { throw Inapplicable.incomplete(zone: session.zone) }
    }
  }

  // MARK: Records with edits

  private func isEdited(_ table: Int, _ id: String) throws -> Bool {
    let statement = try connection.statement(
      "SELECT 1 FROM holdfast_edits WHERE record_table = ? AND id = ? LIMIT 1")
    defer { statement.reset() }
    try statement.bind(schema.tables[table].name, at: 1)
    try statement.bind(id, at: 2)
    return try statement.step()
  }

  /// The values of a record that comes, in the order of its table's columns.
  private func values(of table: Int, _ columns: UnsafeBufferPointer<UInt8>) throws -> [Value] {
    let definitions = schema.tables[table].columns
    var values = definitions.map(\.absentValue)
    let form = database.serverSchema.forms[table]
    try JSONReader.read(columns) { reader in
      try reader.readObject { key, reader in
        guard let index = form.index(of: key) else { return try reader.skipValue() }
        if let value = try definitions[index].sentValue(from: &reader) { values[index] = value }
      }
    }
    return values
  }

  // MARK: Removing

  /// Removes what the tombstones of an answer name: a copy that is in another zone by now, is a later life of the record, or was
  /// created again here, stays. One that no answer has confirmed, though its create was dealt with, may have been moved here before: its zone
  /// is then not the server's.
  ///
  /// - Parameter clock: the server's; nil where no answer said what is removed.
  func removeDeleted(_ session: inout ApplySession, at clock: Stamp? = nil) throws {
    for (table, id, zone, rev) in session.deleted {
      if let clock, rev < .max {
        try deletions.remember(deletionOf: table, id, zone: zone, rev: rev, at: clock)
      }
      if session.hasEdits {
        try pendingDeletions.purge(table, id, zone: zone, rev: rev)
        if try rebase.history(table, id).endsWithCreate == true { continue }
      }
      if rev == .max, session.compared.contains(zone) {
        try comparison.keepRemoved(table, id, in: zone, &session)
      }
      try connection.run(
        "DELETE FROM \"\(schema.tables[table].name)\" WHERE \"id\" = ? AND (\"zone\" IS ? OR \"rev\" = 0) AND \"rev\" <= ?",
        [.text(id), .text(zone), .integer(rev)])
      if connection.changes > 0 { Trace.took(.removed) }
    }
    if let clock, !session.deleted.isEmpty { try deletions.purgeOld(at: clock) }
  }

  /// After zones were downloaded again: notes for removal the records that did not come, but for those that the server does not know yet.
  /// Looks once at whole tables, which have no index by zone.
  func removeUnseen(_ session: inout ApplySession) throws {
    var zones = session.takeResynced()
    if zones.isEmpty { return }
    if zones.values.contains(where: { $0.writable != nil }) {
      var deletions: TextMap<Int64> = [:]
      for (table, id, zone, rev) in session.deleted { deletions["\(table) \(id) \(zone)"] = rev }
      // A record that left another zone may have come to this one after the backup.
      func isDeleted(_ table: Int, _ id: String, _ zone: String, _ rev: Int64) -> Bool {
        (deletions["\(table) \(id) \(zone)"] ?? 0) >= rev
      }
      try recoveredRecords.noteMissing(in: &zones, isDeleted: isDeleted)
      try recoveredRecords.noteDeletions(in: zones, isDeleted: isDeleted)
    }
    let names = SQLiteValue.list(zones.keys.sorted())
    for (index, table) in schema.tables.enumerated() {
      let rows = try connection.rows(
        """
        SELECT "zone", "id", "rev" FROM "\(table.name)" AS here WHERE "zone" IN (SELECT value FROM json_each(?))
        AND NOT EXISTS (SELECT 1 FROM holdfast_edits
        WHERE record_table = '\(table.name)' AND id = here."id" AND kind = 'create')
        """, [names])
      for row in rows {
        guard let name = row[0].text, let id = row[1].text, let zone = zones[name],
          zone.seen[index]?.contains(id) != true
        else { continue }
        if zone.isCompared, row[2].integer == 0 {
          try database.edits.recordCreate(index, id)
          continue
        }
        // At the end, as for a tombstone: it may be in another zone by then, with edits on top.
        session.deleted.append((index, id, name, .max))
      }
    }
    session.compared.formUnion(zones.filter { $0.value.isCompared }.keys)
    try pendingDeletions.purge(in: zones)
  }
}
