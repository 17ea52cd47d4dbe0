import HoldfastCore
import HoldfastSQLite

/// What is remembered while one answer is applied.
struct ApplySession {
  /// Whether the device has any edit that is not confirmed; without one nothing can be dirty.
  let hasEdits: Bool
  /// The zone being applied.
  private(set) var zone = ""
  /// In a zone that is downloaded anew, the records that came, by table; else nil.
  var seen: [Int: Set<String>]?
  /// The files of the staged pages that were applied.
  var usedPages: [String] = []
  /// The bytes being read, and what writes the records of each table.
  fileprivate var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
  fileprivate var writers: [RecordWriter?] = []
  /// Tombstones, which are dealt with when all records of the answer are there.
  var deleted: [(table: Int, id: String, zone: String, rev: Int64)] = []

  init(hasEdits: Bool) { self.hasEdits = hasEdits }

  mutating func begin(zone: String, isFresh: Bool) {
    self.zone = zone
    seen = isFresh ? [:] : nil
  }
}

/// One change as it is read off the wire.
private struct Change {
  var table: Int?
  var id = ""
  var rev: Int64 = 0
  var isDeleted = false
  var isWritten = false
  var columns: UnsafeBufferPointer<UInt8>?
}

/// Applying the changes of a zone. See PROTOCOL.md, section 6.3, step 5.
extension LocalDatabase {
  /// Applies an array of changes as it came over the wire.
  func applyChanges(_ bytes: UnsafeBufferPointer<UInt8>, _ session: inout ApplySession) throws {
    session.bytes = UnsafeRawBufferPointer(bytes)
    session.writers = Array(repeating: nil, count: schema.tables.count)
    try JSONReader.read(bytes) { reader in
      try reader.readArray { reader in
        try applyChange(&reader, &session)
      }
    }
    for writer in session.writers { try writer?.finish() }
  }

  private func applyChange(_ reader: inout JSONReader, _ session: inout ApplySession) throws {
    var change = Change()
    try reader.readObject { key, reader in
      switch key {
      case "table": change.table = try reader.readStringBytes { tableIndex(named: $0) }
      case "id": change.id = try reader.readString()
      case "rev": change.rev = try reader.readInt64()
      case "deleted": change.isDeleted = try reader.readBool()
      case "columns":
        // Nearly always everything else is known by now, and the columns go straight into the statement.
        if let table = change.table, change.rev > 0, try !(session.hasEdits && isEdited(table, change.id)) {
          try writer(table, &session).write(id: change.id, rev: change.rev, from: &reader)
          change.isWritten = true
        } else {
          change.columns = try reader.readRawValue()
        }
      default: try reader.skipValue()
      }
    }
    // A table that this app does not know yet is left out; the zone is fetched anew when it does.
    guard let table = change.table else { return }
    if change.isDeleted {
      session.deleted.append((table, change.id, session.zone, change.rev))
      return
    }
    session.seen?[table, default: []].insert(change.id)
    if change.isWritten { return }
    guard let columns = change.columns else {
      throw Problem(.invalidRequest, "A change of the server's answer has no columns.")
    }
    if session.hasEdits, try isEdited(table, change.id) {
      try rebase(table, change.id, zone: session.zone, rev: change.rev, columns: columns)
    } else {
      let writer = try writer(table, &session)
      try JSONReader.read(columns) { try writer.write(id: change.id, rev: change.rev, from: &$0) }
    }
  }

  private func writer(_ table: Int, _ session: inout ApplySession) throws -> RecordWriter {
    if let writer = session.writers[table] { return writer }
    let writer = try RecordWriter(
      schema.tables[table], sql[table], on: connection, zone: session.zone, reading: session.bytes)
    session.writers[table] = writer
    return writer
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

  /// Takes over the server's record under this device's edits: a dirty column keeps its value, and the base of its oldest
  /// edit becomes the server's value.
  private func rebase(
    _ table: Int, _ id: String, zone: String, rev: Int64, columns: UnsafeBufferPointer<UInt8>
  ) throws {
    let here = try row(table, id)
    // A page that waited is older than what another zone has brought since.
    if let here, here.zone != zone, here.rev > rev, try !isFresh(here.zone) { return }
    try unhide(table, id)
    let definitions = schema.tables[table].columns
    var values = definitions.map { $0.defaultValue ?? .null }
    try JSONReader.read(columns) { reader in
      try reader.readObject { key, reader in
        guard let index = definitions.firstIndex(where: { key.matches($0.name) }) else {
          return try reader.skipValue()
        }
        values[index] = try OperationReader.value(of: definitions[index], from: &reader)
      }
    }
    Trace.took(.rebased)
    let edits = try edits(table, id)
    var rebased: Set<String> = []
    for edit in edits where !edit.column.isEmpty && rebased.insert(edit.column).inserted {
      guard let index = definitions.firstIndex(where: { $0.name == edit.column }) else { continue }
      try connection.run(
        "UPDATE holdfast_edits SET base = ? WHERE n = ?", [SQLiteValue(values[index]), .integer(edit.n)])
    }
    for edit in edits where edit.kind == "delete" && edit.column.isEmpty {
      try connection.run(
        "UPDATE holdfast_edits SET base = ?, rev = ? WHERE n = ?",
        [.text(zone), .integer(rev), .integer(edit.n)])
    }
    // The record is gone here, and waits for the server to agree.
    if edits.last(where: { $0.column.isEmpty })?.kind == "delete" { return }
    if let here {
      for (index, column) in definitions.enumerated() where rebased.contains(column.name) {
        values[index] = here.values[index]
      }
    }
    try connection.run(
      sql[table].upsert, [.text(id), .text(zone), .integer(rev)] + values.map { SQLiteValue($0) })
  }

  private func isFresh(_ zone: String?) throws -> Bool {
    try zone.flatMap {
      try connection.value("SELECT fresh FROM holdfast_zones WHERE zone = ?", [.text($0)])
    }?.integer == 1
  }

  // MARK: Removing

  /// Removes what the tombstones of an answer name: a copy that is in another zone by now, is a later life of the record, or was
  /// created anew here, stays.
  func removeDeleted(_ session: ApplySession) throws {
    for (table, id, zone, rev) in session.deleted {
      if session.hasEdits {
        try forgetDeletion(table, id, zone: zone, rev: rev)
        if try edits(table, id).last(where: { $0.column.isEmpty })?.kind == "create" { continue }
      }
      try connection.run(
        "DELETE FROM \"\(schema.tables[table].name)\" WHERE \"id\" = ? AND \"zone\" IS ? AND \"rev\" <= ?",
        [.text(id), .text(zone), .integer(rev)])
      if connection.changes > 0 { Trace.took(.removed) }
    }
  }

  /// After a zone was downloaded anew: removes the records that did not come, but for those that the server does not know yet.
  func removeUnseen(_ session: ApplySession) throws {
    guard let seen = session.seen else { return }
    Trace.took(.resetDone)
    for (index, table) in schema.tables.enumerated() {
      let ids = try connection.rows(
        """
        SELECT "id" FROM "\(table.name)" AS here WHERE "zone" = ? AND NOT EXISTS (SELECT 1 FROM holdfast_edits
        WHERE record_table = '\(table.name)' AND id = here."id" AND kind = 'create')
        """, [.text(session.zone)])
      for id in ids.compactMap({ $0[0].text }) where seen[index]?.contains(id) != true {
        try connection.run(sql[index].delete, [.text(id)])
      }
    }
    try forgetDeletions(in: session.zone, but: seen)
  }
}
