import HoldfastCore

extension ChangeSetRun {
  /// An update: merges column by column.
  func update(_ operation: Operation) throws {
    let store = stores.tables[operation.table]
    if let live = try store.record(operation.id) {
      guard let role = try ledger.role(of: author.user, in: live.zone) else { throw Problem(.recordUnknown) }
      return try merge(operation, into: live, role: role, base: operation.rev)
    }
    guard let tombstone = try stores.tombstones.deletion(operation.id, of: store.table.name),
      try ledger.role(of: author.user, in: tombstone.zone) != nil
    else { throw Problem(.recordUnknown) }
    try bury(operation, under: tombstone)
  }

  /// Merges an edit into a live record: an update, or a create of what is there already.
  func merge(_ operation: Operation, into live: Record, role: Role, base rev: Int64) throws {
    let table = schema.tables[live.table]
    if role < table.roles.update {
      throw Problem(.roleInsufficient, "\(table.name) takes the role \(table.roles.update).")
    }
    if table.zone == .explicit { try checkMember(operation, live) }
    var record = live
    var stamps =
      RecordStamps(live.stamps) ?? RecordStamps(creation: ColumnStamp(rev: live.rev, stamp: .zero, device: 0))
    var overlaps: [Overlap] = []
    var changed: [Int] = []
    for setting in operation.settings {
      if table.zone == .explicit, setting.column != stores.memberRole { continue }
      // A create lists all columns; a null among them says nothing.
      if operation.kind == .create, setting.value == .null { continue }
      let column = table.columns[setting.column]
      let (current, last) = (live.values[setting.column], stamps[column.name])
      let edit = ColumnEdit(
        value: setting.value, base: setting.base, rev: rev, stamp: stamp(of: operation), device: author.device
      )
      let mine = Overlap.Side(value: edit.value, device: edit.device, stamp: edit.stamp)
      let theirs = Overlap.Side(value: current, device: last.device, stamp: last.stamp)
      let policy = column.policy.rawValue
      let outcome = ColumnMerge.decide(current: current, last: last, edit: edit, policy: column.policy)
      switch outcome {
      case .unchanged: continue
      case .lost:
        Trace.took(.mergeLost)
        overlaps.append(
          Overlap(column: setting.column, policy: policy, base: setting.base, winner: theirs, loser: mine))
      case .applied, .won:
        record.values[setting.column] = setting.value
        stamps[column.name] = ColumnStamp(rev: live.rev + 1, stamp: edit.stamp, device: edit.device)
        changed.append(setting.column)
        if outcome == .won {
          Trace.took(.mergeWon)
          overlaps.append(
            Overlap(column: setting.column, policy: policy, base: setting.base, winner: mine, loser: theirs))
        }
      }
    }
    // A record whose edit lost is sent again as well: the device that lost may have read it already.
    if changed.isEmpty, overlaps.isEmpty { return Trace.took(.updateChangedNothing) }
    if !changed.isEmpty { Trace.took(.updated) }
    record.rev += 1
    record.stamps = stamps.text
    try write(record, changed: changed, from: live)
    try log(overlaps, of: record.id, table: record.table, zone: record.zone)
  }

  private func write(_ changed: Record, changed columns: [Int], from live: Record) throws {
    var record = changed
    let table = schema.tables[record.table]
    if case .parent(let name) = table.zone, let parent = table.index(of: name), columns.contains(parent) {
      let zone = try parentZone(record.table, column: name, id: record.values[parent].text)
      if zone != live.zone { return try move(record, to: zone) }
    }
    record.seq = try ledger.next(record.zone)
    try stores.tables[record.table].update(record)
    if table.zone == .explicit {
      ledger.changedMember(record.values[stores.memberUser].text)
      ownerLosses.append((record.zone, current))
    }
    for link in schema.links(of: record.table) where columns.contains(link.column) {
      try check(link, of: record)
    }
  }
}
