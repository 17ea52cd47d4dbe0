import HoldfastCore

/// The conflict log: records of `conflicts`, and the user's choice between their values.
struct ConflictLog: ChangeSetPart {
  let run: ChangeSetRun

  /// The maximum size in bytes of a winner's value that is copied to the log although its record has it. Larger values are copied only if
  /// the loser's is at least as large. Otherwise a small losing edit could enlarge the log by much more than its own size.
  private static let copied = 256

  /// Writes conflicts as records of `conflicts`, in the zone of their record.
  func log(_ overlaps: [Overlap], of id: String, table: Int, zone: String) throws {
    for overlap in overlaps { try log(overlap, of: id, table: table, zone: zone) }
  }

  private func log(_ overlap: Overlap, of id: String, table: Int, zone: String) throws {
    let column = schema.tables[table].columns[overlap.column]
    let (winner, loser) = (
      try stores.devices.owner(of: overlap.winner.device),
      try stores.devices.owner(of: overlap.loser.device)
    )
    let (kept, lost) = (json(overlap.winner.value, column), json(overlap.loser.value, column))
    run.work.addLogged(kept, lost)
    run.conflictCount += 1
    let size = kept.text?.utf8.count ?? 0
    let isCopied =
      !overlap.isWinnerInRecord || size <= Self.copied || size <= lost.text?.utf8.count ?? 0
    func time(_ side: Overlap.Side) -> Value { .text(Timestamp.text(milliseconds: side.stamp.milliseconds)) }
    let facts: TextMap<Value> = [
      "record_table": .text(schema.tables[table].name), "record_id": .text(id),
      "column_name": .text(column.name),
      "policy": .text(overlap.policy), "base": json(overlap.base, column),
      "winner_value": isCopied ? kept : .null, "loser_value": lost, "winner_user": text(winner?.user),
      "winner_device": text(winner?.id), "winner_at": isCopied ? time(overlap.winner) : .null,
      "loser_user": text(loser?.user), "loser_device": text(loser?.id), "loser_at": time(overlap.loser),
    ]
    let creation = ColumnStamp(rev: 1, stamp: author.clock, device: 0)
    try stores.insert(
      StoredRecord(
        table: stores.conflicts, id: stores.newID(at: author.clock), zone: zone, seq: ledger.next(zone),
        rev: 1,
        stamps: RecordStamps(creation: creation).text,
        values: TableSchema.conflicts.columns.map { facts[$0.name] ?? .null }))
  }

  // MARK: Choosing

  /// Stores which value of a conflict a user chose. The first choice is final.
  func choose(_ operation: RecordOperation, in live: StoredRecord) throws {
    let conflict = ConflictRecord(live)
    guard let choice = operation.settings.first?.value else { return Trace.took(.updateChangedNothing) }
    // The table may be gone. The choice then requires the role for `members`.
    let table = schema.index(of: conflict["record_table"].text ?? "") ?? stores.members
    try AccessRules(run: run).require(.update, of: table, in: live.zone, why: ": to choose")
    let known = conflict[TableSchema.resolutionColumn]
    if choice == known { return Trace.took(.updateChangedNothing) }
    if known != .null { throw Problem(.conflictResolved, "The choice is \(known.text ?? "").") }
    Trace.took(.conflictResolved)
    var merge = RecordMerge(live)
    let facts: TextMap<Value> = [
      TableSchema.resolutionColumn: choice, "resolved_by": .text(author.user),
      "resolved_at": .text(Timestamp.text(milliseconds: author.clock.milliseconds)),
    ]
    for (index, column) in TableSchema.conflicts.columns.enumerated() {
      guard let value = facts[column.name] else { continue }
      merge.set(index, named: column.name, to: value, by: stamp(of: operation), of: author.device)
    }
    try Updating(run: run).write(merge, over: live)
  }

  private func text(_ text: String?) -> Value { text.map { .text($0) } ?? .null }

  /// The JSON of a value; null for a missing or unknown value.
  private func json(_ value: Value?, _ column: ColumnSchema) -> Value {
    guard let value, value != .null else { return .null }
    var writer = JSONWriter(capacity: 64)
    writer.value(value, of: column)
    return .text(String(decoding: writer.bytes, as: UTF8.self))
  }
}
