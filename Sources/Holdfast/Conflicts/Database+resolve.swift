import HoldfastCore
import HoldfastSQLite

extension Database {
  /// The concurrent edits, oldest first; see `Store.liveConflicts`.
  public func conflicts(onlyOpen: Bool = false) throws -> [Conflict] {
    try fetch(Conflict.self, Conflict.query(onlyOpen: onlyOpen))
  }

  /// Closes a conflict: writes the value that is right, as an ordinary edit, and says that it was chosen. Call it in a `Store.write`, whose
  /// change set both are.
  ///
  /// Whoever else chooses at the same time, and comes later to the server, finds his change set in quarantine (`conflict-resolved`).
  ///
  /// The winner needs neither the record nor its column: it closes also a conflict of a record that is gone, or that this user may no longer read.
  ///
  /// - Throws: `StoreError.recordMissing` when the conflict, its record, or what a record that is to come back refers to is not on the device;
  ///   `conflictResolved` when it is closed already; `valueUnfit` when the log lacks a value that the record must have, or for a value of
  ///   one's own for a record that is deleted; `Problem` when the value does not fit the column; `SQLiteError` when a constraint forbids it.
  public func resolve(_ conflict: Conflict, taking choice: Conflict.Choice) throws {
    guard let conflict = try find(Conflict.self, id: conflict.id) else {
      throw StoreError(.recordMissing, "The conflict \(conflict.id) is not on this device any more.")
    }
    if let resolution = conflict.resolution {
      throw StoreError(
        .conflictResolved,
        "The conflict is closed already (\(resolution.rawValue)). An edit of the record changes its value.")
    }
    guard let table = schema.index(of: conflict.recordTable),
      let column = schema.tables[table].columns.first(where: { $0.name == conflict.column })
    else {
      if choice == .winner { return try close([conflict], .winner) }
      throw StoreError(
        .recordMissing, "This app's schema has no \(conflict.recordTable).\(conflict.column). Update the app."
      )
    }
    let isHere = try local.row(table, conflict.recordID) != nil
    switch choice {
    case .winner:
      if isHere, !conflict.isDeletion, !conflict.isWinnerInRecord {
        try set(column, of: conflict, to: column.value(of: conflict.winner.value), isHere)
      }
      try close([conflict], .winner)
    case .loser:
      if conflict.isDeletion, !isHere { return try bringBack(conflict, table) }
      try set(column, of: conflict, to: column.value(of: conflict.loser.value), isHere)
      try close([conflict], .loser)
    case .value(let value):
      if conflict.isDeletion, !isHere {
        throw StoreError(
          .valueUnfit, "The record was deleted: take the loser to bring it back, or the winner to leave it.")
      }
      try set(column, of: conflict, to: value, isHere)
      try close([conflict], .other)
    }
  }

  private func set(_ column: ColumnSchema, of conflict: Conflict, to value: SQLiteValue, _ isHere: Bool)
    throws
  {
    guard isHere else {
      throw StoreError(
        .recordMissing,
        "The record \(conflict.recordID) of \(conflict.recordTable) is not on this device any more. Keep the winner to close the conflict."
      )
    }
    try column.checkSent(Value(value))
    try local.connection.run(
      "UPDATE \"\(conflict.recordTable)\" SET \"\(column.name)\" = ? WHERE \"id\" = ?",
      [value, .text(conflict.recordID)])
  }

  private func close(_ conflicts: [Conflict], _ resolution: Conflict.Resolution) throws {
    for conflict in conflicts {
      try local.connection.run(
        "UPDATE conflicts SET resolution = ? WHERE id = ?", [.text(resolution.rawValue), .text(conflict.id)])
    }
  }

  /// Inserts the record of a deletion again, with all that the log has of it; what was written last counts. The log names the zone, and with it the
  /// parent that is its root; a place in a list is made at its end.
  private func bringBack(_ conflict: Conflict, _ table: Int) throws {
    let definition = schema.tables[table]
    let log = try conflicts().filter {
      $0.isDeletion && $0.recordTable == conflict.recordTable && $0.recordID == conflict.recordID
    }
    var values: TextMap<SQLiteValue> = [:]
    for edit in log {
      guard let column = definition.columns.first(where: { $0.name == edit.column }) else { continue }
      values[column.name] = try column.value(of: edit.loser.value)
    }
    if case .parent(let name) = definition.zone, values[name] == nil, let zone = conflict.zone,
      let parent = definition.columns.first(where: { $0.name == name })?.reference,
      schema.table(parent.table)?.zone == .root
    {
      values[name] = .text(zone)
    }
    let missing = definition.columns.filter { $0.required && values[$0.name] ?? .null == .null }
    let places = missing.filter { $0.type == .position }.map(\.name)
    for place in places { values[place] = .text("") }
    let lacking = missing.filter { $0.type != .position && $0.defaultValue ?? .null == .null }
    if !lacking.isEmpty {
      let names = lacking.map(\.name).joined(separator: ", ")
      throw StoreError(
        .valueUnfit,
        "The log does not have the \(names) of the deleted record, which \(definition.name) must have. Write the record again, with a value for it."
      )
    }
    if let column = try local.rows.insertAgain(
      table, conflict.recordID, zone: conflict.zone.map { .text($0) } ?? .null, values)
    {
      throw StoreError(
        .recordMissing,
        "What the deleted record refers to by \(column) is not on this device. Bring that back first.")
    }
    for place in places { try moveToEnd(conflict.recordID, of: definition.name, by: place) }
    try close(log.filter { $0.resolution == nil }, .loser)
  }
}
