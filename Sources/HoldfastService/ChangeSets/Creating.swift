import HoldfastCore

/// Creates records, and restores deleted ones.
struct Creating: ChangeSetPart {
  let run: ChangeSetRun

  /// Applies a create: inserts the record, merges it with a live record, or handles its tombstone.
  func create(_ operation: RecordOperation) throws {
    if try stores.transaction.isNowhere(Footprint.Key(table: operation.table, id: operation.id)) {
      return try createNew(operation, rev: 1)
    }
    let store = stores.tables[operation.table]
    if let live = try store.record(operation.id) {
      guard try ledger.role(of: author.user, in: live.zone) != nil else { throw Problem(.recordExists) }
      Trace.took(.createMerged)
      return try Updating(run: run).merge(operation, into: live, base: 0)
    }
    guard let tombstone = try stores.tombstones.deletion(operation.id, of: store.table.name) else {
      return try createNew(operation, rev: stores.tombstones.newRev(operation.id, of: store.table.name))
    }
    guard try ledger.role(of: author.user, in: tombstone.zone) != nil else { throw Problem(.recordExists) }
    guard try isRestore(operation, of: tombstone) else {
      return try refuseAsDeleted(operation, under: tombstone)
    }
    guard let zone = try homeOrTombstone(of: operation, under: tombstone, rev: 1) else { return }
    Trace.took(.restored)
    if zone != tombstone.zone {
      try AccessRules(run: run).requireTaking(of: operation.table, from: tombstone.zone)
      stores.tombstones.becomeDeparture(operation.id, of: store.table.name, in: tombstone.zone)
    }
    try insert(operation, zone: zone, rev: Revision.after(tombstone.rev), isNew: false)
  }

  private func createNew(_ operation: RecordOperation, rev: Int64) throws {
    guard let zone = try homeOrTombstone(of: operation, under: nil, rev: rev) else { return }
    Trace.took(.created)
    try insert(operation, zone: zone, rev: rev, isNew: true)
  }

  /// Whether a create restores a deleted record. It does if it says so, or if its device has deleted the record. It also does if it is
  /// later than the deletion and its device has acked the tombstone. A later stamp alone is not enough, because the stamps of a fast clock
  /// are always later.
  private func isRestore(_ operation: RecordOperation, of tombstone: Tombstone) throws -> Bool {
    if operation.isExplicitRestore || tombstone.device == author.device { return true }
    guard stamp(of: operation) > tombstone.stamp else { return false }
    return try stores.devices.hasAcked(
      tombstone.deletedSeq ?? 0, of: tombstone.zone, device: author.device)
  }

  private func insert(_ operation: RecordOperation, zone: String, rev: Int64, isNew: Bool) throws {
    let table = schema.tables[operation.table]
    var values = table.columns.map { _ in Value.null }
    for setting in operation.settings { values[setting.column] = setting.value }
    if table.zone == .explicit { try MemberRules(run: run).completeMember(&values, in: zone) }
    let lost = try dropEnded(&values, of: operation, in: zone)
    let creation = ColumnStamp(rev: rev, stamp: stamp(of: operation), device: author.device)
    let record = StoredRecord(
      table: operation.table, id: operation.id, zone: zone, seq: try ledger.next(zone), rev: rev,
      stamps: run.text(of: creation), values: values)
    try RecordWriting(run: run).insert(record)
    try ConflictLog(run: run).log(lost, of: record.id, table: record.table, zone: zone)
    // A column that is missing here may have a default on the device.
    if isNew, rev == 1, lost.isEmpty, table.zone != .explicit, !operation.isPartial {
      run.noteCreated(record)
    }
    if table.zone == .explicit {
      Trace.took(.joined)
      if let group = values[stores.memberColumns.group].text {
        try MemberRules(run: run).spareBlockers(of: group, from: zone)
      }
      try stores.followMember(values, in: zone)
    }
    if table.zone == .root, !isNew {
      try stores.followRoot(of: zone)
      try stores.ensureOwner(of: zone, by: author)
    }
    if table.zone == .root, isNew {
      try stores.addMember(author.user, named: run.authorName(), role: .owner, to: zone, by: author)
    }
    try AccessRules(run: run).requireDependence(of: record, by: values.indices, isNew: true)
  }

  /// The zone of a record to create, by its table's zone rule. Checks the author's rights there.
  ///
  /// - Parameter tombstone: for a restore, the record's tombstone.
  func home(of operation: RecordOperation, restoring tombstone: Tombstone? = nil) throws -> String {
    let table = schema.tables[operation.table]
    let zone: String
    switch table.zone {
    case .root:
      zone = operation.id
      if tombstone == nil {
        if try ledger.exists(zone) { throw Problem(.recordExists) }
        // Service tokens have no limit of zones.
        if ledger.scope == nil { try stores.checkZoneCount(of: author.user) }
        try ledger.create(zone)
        return zone
      }
    // A restored record stays in its owner's zone, even if another member restores it.
    case .user:
      if stores.limits.mayHaveGuests, let home = try stores.store.guests.home(of: author.user) {
        throw Problem(.notAtHome, "\(table.name) is of each user alone. The home is the database \(home).")
      }
      zone = tombstone?.zone ?? author.user
    case .public(let name): zone = name
    case .parent(let column):
      zone = try parentZone(operation.table, column: column, id: operation.parent(column, table))
    case .explicit:
      zone = operation.zone ?? ""
    case .server: throw Problem(.readOnlyTable, table.name)
    }
    guard try ledger.role(of: author.user, in: zone) != nil else {
      throw Problem(.referenceMissing, "The zone of a record in \(table.name).")
    }
    try AccessRules(run: run).require(.create, of: operation.table, in: zone)
    return zone
  }

  /// The zone of the record that a parent column references.
  func parentZone(_ table: Int, column: String, id: String?) throws -> String {
    let missing = Problem(.referenceMissing, "\(schema.tables[table].name).\(column)")
    guard let id,
      let link = schema.links(of: table).first(where: {
        schema.tables[table].columns[$0.column].name == column
      })
    else { throw missing }
    guard let zone = try stores.tables[link.target].zone(of: id),
      try ledger.role(of: author.user, in: zone) != nil
    else { throw missing }
    return zone
  }

  /// Refuses an edit because the record is deleted. The edit's columns go to the conflict log, and the tombstone is sent again.
  func refuseAsDeleted(_ operation: RecordOperation, under tombstone: Tombstone) throws {
    Trace.took(operation.kind == .create ? .createDeleted : .updateDeleted)
    let table = schema.tables[operation.table]
    try AccessRules(run: run).require(
      operation.kind == .create ? .create : .update, of: operation.table, in: tombstone.zone)
    try stores.insert(
      tombstone, seq: try ledger.next(tombstone.zone), of: operation.id, in: table.name, isDeparture: false)
    let overlaps = operation.settings.filter { operation.kind == .update || $0.value != .null }.map {
      setting in
      Overlap(
        column: setting.column, policy: "delete", base: setting.base,
        winner: .init(value: nil, device: tombstone.device, stamp: tombstone.stamp),
        loser: .init(value: setting.value, device: author.device, stamp: stamp(of: operation)))
    }
    try ConflictLog(run: run).log(overlaps, of: operation.id, table: operation.table, zone: tombstone.zone)
  }
}

extension RecordOperation {
  /// The id in a parent column of this operation.
  fileprivate func parent(_ column: String, _ table: TableSchema) -> String? {
    table.index(of: column).flatMap { value(of: $0)?.text }
  }
}
