import HoldfastCore

extension RestRun {
  /// Resolves a conflict: one change set with the edit of the record's column and the choice. The other columns of a conflict never change.
  package func resolve(_ item: RestItem) throws -> RestResult {
    do { return try attempt(item) } catch let problem as Problem {
      return .failure(try failure(problem, item))
    }
  }

  private func attempt(_ item: RestItem) throws -> RestResult {
    guard case .live(let live) = try look(item.key), let choice = item.choice else {
      throw Problem(.recordUnknown)
    }
    let conflict = ConflictRecord(live)
    guard let table = stores.schema.index(of: conflict["record_table"].text ?? ""),
      let id = conflict["record_id"].text
    else { throw Problem(.recordUnknown, "The record of the conflict.") }
    try stores.ledger.scope?.require(table: stores.schema.tables[table])
    let key = Footprint.Key(table: table, id: id)
    let name = conflict["column_name"].text ?? ""
    // The winner needs neither the record nor its column.
    let isWinner = if case .winner = choice { true } else { false }
    guard let column = stores.schema.tables[table].index(of: name) else {
      if isWinner { return try close(item) }
      throw Problem(.unknownColumn, "\(stores.schema.tables[table].name) has no column \(name).")
    }
    let record: StoredRecord
    switch try look(key) {
    case .nothing:
      if isWinner { return try close(item) }
      throw Problem(.recordUnknown, "The record of the conflict.")
    case .deleted(let tombstone):
      if isWinner {
        _ = try close(item)
        return .deleted(key, tombstone)
      }
      let address = "/v1/tables/\(stores.schema.tables[table].name)/\(id.percentEncoded)/restore"
      let detail = "Bring the record back first with its columns: POST \(address)."
      return .failure(
        RestFailure(problem: Problem(.recordDeleted, detail), now: .deleted(key, tombstone)))
    case .live(let live): record = live
    }
    let definition = stores.schema.tables[table].columns[column]
    let (value, resolution) = try taken(choice, of: conflict, definition)
    let known = conflict[TableSchema.resolutionColumn]
    // A repeated choice changes nothing, even if the column was edited since.
    let isRepeat = known == .text(resolution) && (resolution != "other" || record.values[column] == value)
    if isRepeat { return try shown(key) }
    if known != .null { throw Problem(.conflictResolved, "The choice is \(known.text ?? "").") }
    let edit = RecordOperation(
      kind: .update, table: table, id: id, rev: .max, stamp: Stamp(rawValue: .max),
      settings: [.init(column: column, value: value)])
    let isDeletion = conflict["policy"] == .text("delete")
    let stays = resolution == "winner" && (isDeletion || conflict.isWinnerInRecord)
    // The log may have a value from before the column got its present rules.
    if !stays { try definition.check(value) }
    if let refused = try choose(resolution, item, with: stays ? nil : edit) { throw refused }
    return try shown(key)
  }

  /// The chosen value, and its name in the log.
  private func taken(_ choice: ConflictChoice, of conflict: ConflictRecord, _ column: ColumnSchema) throws
    -> (
      Value, String
    )
  {
    func value(_ bytes: [UInt8]) throws -> Value {
      do { return try JSONReader.read(bytes) { try column.value(from: &$0) } } catch let error as JSONError {
        throw Problem(.invalidValue, error.description)
      }
    }
    func logged(_ name: String) throws -> Value {
      try conflict[name].text.map { try value(Array($0.utf8)) } ?? .null
    }
    switch choice {
    case .winner: return (try logged("winner_value"), "winner")
    case .loser: return (try logged("loser_value"), "loser")
    case .value(let bytes):
      let own = try value(bytes)
      try column.check(own)
      if own == (try logged("loser_value")) { return (own, "loser") }
      let isKnown = conflict["policy"] != .text("delete") && !conflict.isWinnerInRecord
      let isWinner = try isKnown && own == logged("winner_value")
      return (own, isWinner ? "winner" : "other")
    }
  }

  /// Closes a conflict for its winner, and leaves its record as it is.
  ///
  /// - Returns: the conflict.
  private func close(_ item: RestItem) throws -> RestResult {
    if let refused = try choose("winner", item) { throw refused }
    return try shown(item.key)
  }

  /// Writes the choice and its edit atomically.
  private func choose(_ resolution: String, _ item: RestItem, with edit: RecordOperation? = nil) throws
    -> Problem?
  {
    guard let column = TableSchema.conflicts.index(of: TableSchema.resolutionColumn) else { return nil }
    let choice = item.operation.made(
      .update, settings: [.init(column: column, value: .text(resolution))])
    return try work.run((edit.map { [$0] } ?? []) + [choice], by: author, keeper: 0)?.problem
  }

  private func shown(_ key: Footprint.Key) throws -> RestResult {
    guard let record = try stores.tables[key.table].record(key.id) else { return .nothing }
    let creator = try work.stores.requests.creator(of: key, for: author.user)
    return .record(show(record, creator), isNew: false)
  }
}
