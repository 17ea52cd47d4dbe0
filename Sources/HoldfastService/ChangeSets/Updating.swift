import HoldfastCore

/// Updates records, column by column.
struct Updating: ChangeSetPart {
  let run: ChangeSetRun

  /// Applies an update.
  func update(_ operation: RecordOperation) throws {
    let store = stores.tables[operation.table]
    if let live = try store.record(operation.id) {
      guard try ledger.role(of: author.user, in: live.zone) != nil else { throw Problem(.recordUnknown) }
      if operation.table == stores.conflicts { return try ConflictLog(run: run).choose(operation, in: live) }
      return try merge(operation, into: live, base: operation.rev)
    }
    guard let tombstone = try stores.tombstones.deletion(operation.id, of: store.table.name),
      try ledger.role(of: author.user, in: tombstone.zone) != nil
    else { throw Problem(.recordUnknown) }
    // A choice for a purged conflict is ignored.
    if operation.table != stores.conflicts {
      try Creating(run: run).refuseAsDeleted(operation, under: tombstone)
    }
  }

  /// Merges an edit into a live record: an update, or a create of an existing record.
  func merge(_ operation: RecordOperation, into live: StoredRecord, base rev: Int64) throws {
    let table = schema.tables[live.table]
    try AccessRules(run: run).require(.update, of: live.table, in: live.zone)
    if table.zone == .explicit { try MemberRules(run: run).checkMember(operation, live) }
    let rev = run.seen(rev, of: live)
    var merge = RecordMerge(live)
    for setting in operation.settings {
      if table.zone == .explicit, setting.column != stores.memberColumns.role { continue }
      // A create lists all columns. A null in it is not an edit.
      if operation.kind == .create, setting.value == .null { continue }
      let column = table.columns[setting.column]
      // Two devices have created the record, and each has counted from the default value.
      let isCounted =
        operation.kind == .create && column.policy == .counter && !isAgain(operation, live)
      let base = setting.base ?? (isCounted ? column.defaultValue ?? .null : nil)
      let edit = ColumnEdit(
        value: setting.value, base: base, rev: rev, stamp: stamp(of: operation), device: author.device,
        isSequential: !author.isPresent)
      try decide(setting.column, column, edit, &merge)
    }
    try Creating(run: run).dropEnded(&merge, of: operation, over: live)
    try write(merge, over: live)
  }

  /// Whether the create is a repeat of the one that created the record, sent by a copy of its device. True if unknown.
  private func isAgain(_ operation: RecordOperation, _ live: StoredRecord) -> Bool {
    guard let creation = RecordStamps(live.stamps)?.creation else { return true }
    return creation.stamp == stamp(of: operation) || creation.isRecovered
  }

  /// Writes a merged record, unless nothing changed.
  func write(_ merge: RecordMerge, over live: StoredRecord) throws {
    // If the result of an edit differs from the value on its device, the record is sent again. The device may have read it before.
    if merge.changed.isEmpty, !merge.isTouched { return Trace.took(.updateChangedNothing) }
    if !merge.changed.isEmpty { Trace.took(.updated) }
    let zone = try write(merge.next, changed: merge.changed, from: live)
    try ConflictLog(run: run).log(merge.overlaps, of: live.id, table: live.table, zone: zone)
  }

  /// - Parameter proven: the author's role, if it differs from the current one.
  /// - Returns: the zone in which the record is now.
  func write(
    _ changed: StoredRecord, changed columns: [Int], from live: StoredRecord,
    as proven: @autoclosure () throws -> Role? = nil
  ) throws -> String {
    var record = changed
    let table = schema.tables[record.table]
    if case .parent(let name) = table.zone, let parent = table.index(of: name), columns.contains(parent) {
      let zone = try Creating(run: run).parentZone(record.table, column: name, id: record.values[parent].text)
      if zone != live.zone {
        try Moving(run: run).move(record, from: live, to: zone)
        return zone
      }
    }
    try AccessRules(run: run).requireDependence(of: record, by: columns, isNew: false, as: proven())
    record.seq = try ledger.next(record.zone)
    try RecordWriting(run: run).replace(record, over: live)
    if table.zone == .explicit {
      try stores.followMember(record.values, in: record.zone)
      run.ownerLosses.append((record.zone, record.values[stores.memberColumns.user].text, run.current))
    }
    return record.zone
  }
}
