import HoldfastCore
import HoldfastSQLite

/// What came of taking change sets back.
struct RolledBack {
  /// The records that were deleted here and are back: some may be gone on the server, and the device was not to be told while it had none.
  var back: [LocalDatabase.CreatedRecord] = []
  /// The change sets of which a later one deleted a record.
  var deletedBehind: Set<Int64> = []
}

/// Taking edits back: what a refused change set did here is undone, and it waits in quarantine. See PROTOCOL.md, section 6.4.
extension LocalDatabase {
  /// The edits of a record, oldest first.
  func edits(_ table: Int, _ id: String) throws -> [Edit] {
    try connection.rows(
      """
      SELECT n, change_set, kind, column_name, base, rev, at FROM holdfast_edits WHERE record_table = ? AND id = ?
      ORDER BY n
      """, [.text(schema.tables[table].name), .text(id)]
    ).compactMap {
      guard let kind = Edit.Kind(rawValue: $0[2].text ?? "") else { return nil }
      return Edit(
        n: $0[0].integer ?? 0, changeSet: $0[1].integer, kind: kind, column: $0[3].text ?? "", base: $0[4],
        rev: $0[5].integer ?? 0, at: $0[6].integer ?? 0)
    }
  }

  /// The steps from the server's record to the one here.
  func history(_ table: Int, _ id: String) throws -> RecordHistory {
    RecordHistory(
      try edits(table, id), current: try row(table, id).map { state(table, $0) }, policies: policies[table])
  }

  /// A record with its values by the names of the columns.
  func state(_ table: Int, _ record: (zone: String?, rev: Int64, values: [Value])) -> RecordState {
    RecordState(
      zone: record.zone.map { .text($0) } ?? .null, rev: record.rev,
      values: TextMap(
        zip(sql[table].columns, record.values.map { SQLiteValue($0) })))
  }

  /// Takes the steps of a history again from a beginning, and keeps what comes of it.
  func replay(_ history: RecordHistory, from beginning: RecordState?, _ table: Int, _ id: String) throws {
    Trace.took(.replayed)
    let sealed = try sealedColumns(of: history.combiningSets, table, id)
    let (record, edits) = history.replayed(from: beginning, sealed: sealed)
    try connection.run(
      "DELETE FROM holdfast_edits WHERE record_table = ? AND id = ?",
      [.text(schema.tables[table].name), .text(id)])
    for edit in edits {
      try recordEdit(
        edit.kind.rawValue, edit.column, table, id, base: edit.base, rev: edit.rev, at: edit.at,
        of: edit.changeSet.map { .integer($0) } ?? .null)
    }
    guard let record else { return try connection.run(sql[table].delete, [.text(id)]) }
    let values = schema.tables[table].columns.map {
      record.values[$0.name] ?? SQLiteValue($0.defaultValue ?? .null)
    }
    try connection.run(sql[table].replace, [record.zone, .text(id), .integer(record.rev)] + values)
  }

  /// Takes the edits of refused change sets back, all at once: what is left does not depend on an order among them. The triggers must
  /// be at rest.
  func rollBack(_ changeSets: [Int64]) throws -> RolledBack {
    var taken = RolledBack()
    var records: [(table: Int, id: String)] = []
    for changeSet in changeSets {
      let rows = try connection.rows(
        "SELECT DISTINCT record_table, id FROM holdfast_edits WHERE change_set = ? ORDER BY record_table, id",
        [.integer(changeSet)])
      for row in rows {
        if let table = schema.index(of: row[0].text ?? ""), let id = row[1].text {
          records.append((table, id))
        }
      }
    }
    for (table, id) in records {
      var history = try history(table, id)
      let beginning = history.base
      let wasThere = try row(table, id) != nil
      let edits = try edits(table, id)
      if let deletion = edits.last(where: { $0.kind == .delete }) {
        taken.deletedBehind.formUnion(edits.prefix { $0.n < deletion.n }.compactMap(\.changeSet))
      }
      history.drop(changeSets)
      try replay(history, from: beginning, table, id)
      if !wasThere { taken.back.append(CreatedRecord(table: table, id: id)) }
    }
    return taken
  }

  /// Records edited here whose parent has gone: one that was created here goes too, a reference that was changed here returns
  /// to its base. Their change sets stay, and the server decides them. Records under one that is deleted here are hidden.
  func settleOrphans() throws {
    var again = true
    while again {
      again = try hideBelowDeletions()
      for row in try connection.rows("SELECT DISTINCT record_table, id FROM holdfast_edits") {
        guard let table = schema.index(of: row[0].text ?? ""), let id = row[1].text else { continue }
        for link in schema.links(of: table) where link.isInZone {
          again = try settleOrphan(link, id) || again
        }
      }
    }
  }

  /// Removes copies of the server's records whose parent is not here and waits for nobody: the server has removed them too, or moved
  /// them, and says so in a part that is still to come. Looks at whole tables.
  func removeOrphans() throws {
    var again = true
    while again {
      again = false
      for link in schema.links where link.isInZone {
        let (child, parent) = (schema.tables[link.table], schema.tables[link.target].name)
        let column = child.columns[link.column]
        try connection.run(
          """
          \(column.required ? "DELETE FROM \"\(child.name)\"" : "UPDATE \"\(child.name)\" SET \"\(column.name)\" = NULL")
          WHERE "\(column.name)" IS NOT NULL AND "\(column.name)" NOT IN (SELECT "id" FROM "\(parent)")
          """)
        if connection.changes > 0 { again = true }
      }
    }
  }

  private func settleOrphan(_ link: SyncSchema.Link, _ id: String) throws -> Bool {
    let (child, parent) = (schema.tables[link.table], schema.tables[link.target])
    let column = child.columns[link.column].name
    let isOrphan = try connection.value(
      """
      SELECT 1 FROM "\(child.name)" AS child WHERE child."id" = ? AND child."\(column)" IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM "\(parent.name)" AS parent WHERE parent."id" = child."\(column)")
      """, [.text(id)])
    guard isOrphan != nil else { return false }
    Trace.took(.orphanSettled)
    let edits = try edits(link.table, id)
    if edits.contains(where: { $0.kind == .create }) {
      try connection.run(sql[link.table].delete, [.text(id)])
      return true
    }
    guard let edit = edits.first(where: { $0.column == column }) else { return false }
    let now = try connection.value(
      "SELECT \"\(column)\" FROM \"\(child.name)\" WHERE \"id\" = ?", [.text(id)])
    if now == edit.base { return false }
    try connection.run(
      "UPDATE \"\(child.name)\" SET \"\(column)\" = ? WHERE \"id\" = ?", [edit.base, .text(id)])
    return true
  }
}
