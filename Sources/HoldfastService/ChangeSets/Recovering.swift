import HoldfastCore

/// Accepts the records that a device recovers: docs/RESTORING.md, section 4.
struct Recovering: ChangeSetPart {
  let run: ChangeSetRun

  /// Returns the recovery entry of a record in a zone; nil if there is none.
  typealias Entries = (_ zone: String) throws -> RecoveryEntry?

  /// Whether everything that the database had when the epoch began belongs to both histories. If unknown, some of it may be edits since the
  /// fork. Values on either side that give way are then logged.
  private var isForkKnown: Bool { stores.store.history.isForkKnown }

  /// Accepts a record or deletion from the lost history.
  ///
  /// - Returns: the resulting seq of the record or its tombstone. 0 if the item was merged with edits since the restore; nil if there is
  ///   nothing to do.
  func take(_ item: RecoveredRecord, entry: Entries) throws -> Int64? {
    let seq = try settle(item, entry)
    if !item.isDeletion { try announceDeparture(of: item) }
    return seq
  }

  private func settle(_ item: RecoveredRecord, _ entry: Entries) throws -> Int64? {
    if let live = try stores.tables[item.table].record(item.id) {
      // A device that sees only one zone cannot distinguish a departure from a deletion.
      if item.isDeletion, live.zone != item.zone, item.rev <= live.rev { return nil }
      let known = try entry(live.zone)
      let isUntouched = try isUntouched(live.seq, live.zone, known)
      // Somebody may have moved it since the restore.
      let base = try known?.base ?? entry(item.zone)?.base
      // Records that are in the backup need no recovery.
      let isOlder = item.rev < (isUntouched ? live.rev : base ?? live.rev)
      if isOlder, isForkKnown || item.isDeletion { return nil }
      try require(item.isDeletion ? .delete : .update, of: item, in: live.zone, live)
      if isUntouched, item.rev <= live.rev {
        // A device that did not receive the rev of its own edit has newer values under the previous rev.
        try ConflictLog(run: run).log(
          overlaps(of: item, against: live), of: live.id, table: live.table, zone: live.zone)
        return live.seq
      }
      guard isUntouched else {
        if live.table == stores.members, !item.isDeletion, try hasRecovered(live.zone) {
          _ = try take(
            [stores.memberColumns.role], of: item, into: live, rev: Revision.after(max(item.rev, live.rev)))
          return 0
        }
        return try merge(item, into: live, base: base)
      }
      return try item.isDeletion ? remove(live, as: item) : replace(live, by: item)
    }
    let name = schema.tables[item.table].name
    if let tombstone = try stores.tombstones.deletion(item.id, of: name) {
      return try take(item, over: tombstone, entry)
    }
    if let known = try entry(item.zone), !known.isDeletion, try ledger.exists(item.zone) {
      // The record was deleted since the restore, and its tombstone is purged.
      let purged = Tombstone(
        zone: item.zone, rev: max(known.base, known.rev), stamp: author.clock, device: author.device,
        seq: .max)
      return try take(item, over: purged, entry)
    }
    if item.isDeletion {
      guard try ledger.exists(item.zone) else { return nil }
      try require(.delete, of: item, in: item.zone, nil)
      let tombstone = Tombstone(
        zone: item.zone, rev: item.rev, stamp: author.clock, device: author.device)
      return try put(tombstone, of: item)
    }
    return try insert(item)
  }

  /// Writes a departure to the zone from which a record was recovered, if the record is in another one that the author may read. Devices then
  /// remove it from that zone.
  private func announceDeparture(of item: RecoveredRecord) throws {
    let name = schema.tables[item.table].name
    let home =
      try stores.tables[item.table].record(item.id)?.zone
      ?? stores.tombstones.deletion(item.id, of: name)?.zone
    guard let home, home != item.zone, let role = try ledger.roleHere(of: author.user, in: item.zone),
      role >= .editor, try ledger.roleHere(of: author.user, in: home) != nil
    else { return }
    let departure = Tombstone(zone: item.zone, rev: item.rev, stamp: author.clock, device: author.device)
    try stores.insert(
      departure, seq: try ledger.next(item.zone), of: item.id, in: name, isDeparture: true)
  }

  /// Writes a new tombstone for a record that was recovered before and deleted since, and whose tombstone is purged. Devices then remove
  /// the record.
  func announceDeletion(of item: RecoveredRecord, rev: Int64) throws {
    let name = schema.tables[item.table].name
    guard !item.isDeletion, try stores.tables[item.table].record(item.id) == nil,
      try stores.tombstones.deletion(item.id, of: name) == nil,
      let role = try ledger.roleHere(of: author.user, in: item.zone), role >= .editor
    else { return }
    _ = try put(
      Tombstone(zone: item.zone, rev: rev, stamp: author.clock, device: author.device), of: item)
  }

  /// Whether a record or tombstone is unchanged since the restore, or since its recovery.
  private func isUntouched(_ seq: Int64, _ zone: String, _ known: RecoveryEntry?) throws -> Bool {
    if seq == known?.seq { return true }
    return try seq <= (stores.store.recovery.restored(zone)?.seq ?? 0)
  }

  /// Requires the role for the same operation. Tables that only the server writes require an editor.
  private func require(
    _ right: AccessRules.Right, of item: RecoveredRecord, in zone: String, _ live: StoredRecord?
  )
    throws
  {
    let table = schema.tables[item.table]
    guard let role = try role(in: zone) else {
      throw Problem(.recordUnknown, "The zone of a record in \(table.name).")
    }
    if right == .delete, let live { return try AccessRules(run: run).requireDelete(of: live, as: role) }
    try AccessRules(run: run).require(right, of: item.table, in: zone, as: role)
  }

  /// The author's current role. A proven role of a moment later than the backup replaces it for a member, unless the membership was or may
  /// have been written since.
  private func role(in zone: String) throws -> Role? {
    guard let role = try ledger.role(of: author.user, in: zone) else { return nil }
    guard isForkKnown else { return role }
    let claims = try stores.store.recovery.zoneClaims(of: zone)
    guard let claim = claims.first(where: { $0.user == author.user }), claim.moment != nil,
      let proven = claim.role, proven > role, let restored = try stores.store.recovery.restored(zone)?.seq,
      let membership = try stores.membership(of: author.user, in: zone), membership.seq <= restored
    else { return role }
    return proven
  }

  /// Whether the author has recovered the zone with the latest proof. The recovered members then replace the stored ones, even if those
  /// changed since.
  private func hasRecovered(_ zone: String) throws -> Bool {
    try stores.recoverer(of: zone) == author.user
  }

  // MARK: Live records

  private func replace(_ live: StoredRecord, by item: RecoveredRecord) throws -> Int64? {
    guard let values = item.values else { return nil }
    let columns = values.indices.filter { values[$0] != live.values[$0] && !item.unknown.contains($0) }
    Trace.took(.recovered)
    let zone = try take(columns, of: item, into: live, rev: item.rev)
    try logReplaced(columns, by: item, in: live, zone: zone)
    return try stores.tables[item.table].record(item.id)?.seq
  }

  /// Logs the values that a recovered record has replaced, if they may have been written since the fork.
  ///
  /// - Parameter zone: where the record is now.
  private func logReplaced(
    _ columns: [Int], by item: RecoveredRecord, in live: StoredRecord, zone: String
  ) throws {
    if isForkKnown { return }
    let table = schema.tables[item.table]
    let replaced = overlaps(of: item, against: live).filter { columns.contains($0.column) }.map {
      Overlap(column: $0.column, policy: $0.policy, base: nil, winner: $0.loser, loser: $0.winner)
    }
    // In a membership, only the role is a user's edit.
    let edits =
      table.zone == .explicit ? replaced.filter { $0.column == stores.memberColumns.role } : replaced
    try ConflictLog(run: run).log(
      edits.filter { $0.loser.value != .null }, of: live.id, table: live.table, zone: zone)
  }

  /// Copies columns of a recovered record, with the record's new rev.
  ///
  /// - Returns: the zone in which the record is now.
  private func take(
    _ columns: [Int], of item: RecoveredRecord, into live: StoredRecord, rev: Int64
  ) throws -> String {
    let table = schema.tables[item.table]
    var record = live
    var stamps =
      RecordStamps(live.stamps) ?? RecordStamps(creation: ColumnStamp(rev: live.rev, stamp: .zero, device: 0))
    let changed = columns.filter { changes(table.columns[$0], of: table) }
    let values = try item.values.map { try believable($0, of: table, in: live.zone) }
    for index in changed {
      record.values[index] = values?[index] ?? .null
      // A zero stamp: the value is older than every edit that still waits on a device.
      stamps[table.columns[index].name] = ColumnStamp(rev: rev, stamp: .zero, device: author.device)
    }
    record.rev = rev
    record.stamps = stamps.text
    return try Updating(run: run).write(record, changed: changed, from: live, as: role(in: live.zone))
  }

  private func remove(_ live: StoredRecord, as item: RecoveredRecord) throws -> Int64? {
    let isLogged = { (record: StoredRecord) in
      try !self.isForkKnown || !self.isUntouched(record.seq, record.zone, nil)
    }
    if run.removesInPieces,
      try !Deleting(run: run).removeBelow(recovered: live, at: author.clock, isLogged: isLogged)
    {
      Trace.took(.deletedInPieces)
      run.isUnfinished = true
      return nil
    }
    Trace.took(.recovered)
    try Deleting(run: run).remove(live, at: author.clock, rev: item.rev, isLogged: isLogged)
    try Deleting(run: run).removeMember(live)
    return try stores.tombstones.deletion(item.id, of: schema.tables[item.table].name)?.seq
  }

  /// Merges a recovered record into one that was edited since the restore. Those edits stay; unchanged columns are replaced. The record
  /// gets a later rev, so that the device replaces its copy.
  ///
  /// - Parameter base: the rev at the restore, 0 for a record that did not exist; nil if unknown: every column then counts as changed.
  private func merge(_ item: RecoveredRecord, into live: StoredRecord, base: Int64?) throws -> Int64? {
    let columns = schema.tables[item.table].columns
    let stamps = RecordStamps(live.stamps)
    var taken: [Int] = []
    var lost: [Overlap] = []
    for overlap in overlaps(of: item, against: live) {
      var isChanged = true
      if let base, let last = stamps?[columns[overlap.column].name] {
        isChanged = last.rev > base && !last.isRecovered
      }
      if let base, item.rev <= base {
        // The backup has this rev. A differing column shows an edit of the device whose rev the device did not receive.
        if !isChanged || !isForkKnown { lost.append(overlap) }
      } else if isChanged {
        lost.append(overlap)
      } else {
        taken.append(overlap.column)
      }
    }
    Trace.took(taken.isEmpty ? .recoveryLost : .recoveryMerged)
    var zone = live.zone
    if !taken.isEmpty || item.rev > live.rev {
      zone = try take(taken, of: item, into: live, rev: Revision.after(max(item.rev, live.rev)))
    }
    try logReplaced(taken, by: item, in: live, zone: zone)
    try ConflictLog(run: run).log(lost, of: live.id, table: live.table, zone: zone)
    return 0
  }

  /// The recovered values that differ from those of the live record, which stay.
  private func overlaps(of item: RecoveredRecord, against live: StoredRecord) -> [Overlap] {
    let columns = schema.tables[item.table].columns
    let stamps = RecordStamps(live.stamps)
    return columns.indices.compactMap { index in
      guard let value = item.values?[index], value != live.values[index], !item.unknown.contains(index) else {
        return nil
      }
      let last = stamps?[columns[index].name]
      return Overlap(
        column: index, policy: "restore", base: nil,
        winner: .init(
          value: live.values[index], device: last?.device ?? 0, stamp: last?.stamp ?? author.clock),
        loser: .init(value: value, device: author.device, stamp: author.clock), isWinnerInRecord: true)
    }
  }

  // MARK: Records that are not there

  private func take(_ item: RecoveredRecord, over tombstone: Tombstone, _ entry: Entries) throws -> Int64? {
    try require(item.isDeletion ? .delete : .create, of: item, in: tombstone.zone, nil)
    var next = tombstone
    (next.seq, next.deletedSeq) = (nil, nil)
    if item.isDeletion {
      if item.rev <= tombstone.rev { return nil }
      next.rev = item.rev
      return try put(next, of: item)
    }
    let known = try entry(tombstone.zone)
    // The tombstone may have been sent again since.
    let deleted = tombstone.deletedSeq ?? tombstone.seq ?? 0
    let isAsKnown = known.map { $0.seq == deleted || $0.seq == tombstone.seq } ?? false
    // If the fork point is unknown, only a recovered tombstone is certainly not a deletion since the fork.
    let isRecovered = isAsKnown && known?.rev ?? 0 > 0
    if try isRecovered || isForkKnown && (isAsKnown || isUntouched(deleted, tombstone.zone, known)) {
      if tombstone.zone != item.zone {
        try AccessRules(run: run).requireTaking(of: item.table, from: tombstone.zone)
      }
      // A departure has the same rev as the record in the other zone; a deletion has a later one.
      let isDeparted = tombstone.zone != item.zone && tombstone.rev == item.rev
      // Of what a recovered deletion took along the server has made the rev up.
      let last = known.flatMap { isAsKnown && $0.isDeletion ? max($0.base, $0.rev) : nil }
      if item.rev <= last ?? tombstone.rev, !isDeparted { return nil }
      stores.tombstones.becomeDeparture(
        item.id, of: schema.tables[item.table].name, in: tombstone.zone)
      return try insert(item)
    }
    Trace.took(.recoveryLost)
    next.rev = Revision.after(max(item.rev, tombstone.rev))
    _ = try put(next, of: item)
    // Records that are in the backup need no recovery.
    if isForkKnown, let known, item.rev < known.base { return 0 }
    let overlaps = (item.values ?? []).enumerated().filter { $0.element != .null }.map { index, value in
      Overlap(
        column: index, policy: "restore", base: nil,
        winner: .init(value: nil, device: tombstone.device, stamp: tombstone.stamp),
        loser: .init(value: value, device: author.device, stamp: author.clock))
    }
    try ConflictLog(run: run).log(overlaps, of: item.id, table: item.table, zone: tombstone.zone)
    return 0
  }

  private func put(_ tombstone: Tombstone, of item: RecoveredRecord) throws -> Int64 {
    Trace.took(.recovered)
    let seq = try ledger.next(tombstone.zone)
    try stores.insert(
      tombstone, seq: seq, of: item.id, in: schema.tables[item.table].name, isDeparture: false)
    return seq
  }

  private func insert(_ item: RecoveredRecord) throws -> Int64? {
    guard var values = item.values else { return nil }
    let table = schema.tables[item.table]
    let zone = try home(of: item)
    if table.zone == .explicit {
      try MemberRules(run: run).completeMember(&values, in: zone)
      if let user = values[stores.memberColumns.user].text,
        let member = try stores.membership(of: user, in: zone)
      {
        if user != author.user, try hasRecovered(zone) {
          _ = try take([stores.memberColumns.role], of: item, into: member, rev: Revision.after(member.rev))
        }
        // The user is a member by another record, such as one from the recovery of the zone.
        let tombstone = Tombstone(
          zone: zone, rev: Revision.after(item.rev), stamp: author.clock, device: author.device)
        _ = try put(tombstone, of: item)
        return 0
      }
    }
    if table.zone == .server {
      try requireRecord(ofConflict: values, in: zone)
      values = try believable(values, of: table, in: zone)
    }
    Trace.took(.recovered)
    let stamps = RecordStamps(creation: ColumnStamp(rev: item.rev, stamp: .zero, device: author.device))
    let seq = try ledger.next(zone)
    let record = StoredRecord(
      table: item.table, id: item.id, zone: zone, seq: seq, rev: item.rev, stamps: stamps.text, values: values
    )
    try RecordWriting(run: run).insert(record)
    if table.zone == .explicit {
      if let group = values[stores.memberColumns.group].text {
        try MemberRules(run: run).spareBlockers(of: group, from: zone)
      }
      try stores.followMember(values, in: zone)
    }
    if table.zone == .root { try stores.followRoot(of: zone) }
    try AccessRules(run: run).requireDependence(
      of: record, by: values.indices, isNew: true, as: role(in: zone))
    return seq
  }

  /// The zone of a recovered record that does not exist. Requires that the author may create the record there.
  private func home(of item: RecoveredRecord) throws -> String {
    let table = schema.tables[item.table]
    switch table.zone {
    // A proven or granted claim creates a zone; a recovered record never does.
    case .root where item.id == item.zone: break
    case .public(let name) where item.zone == name: break
    case .user where try stores.store.accounts.name(ofID: item.zone) != nil: break
    case .parent(let column):
      let id = table.index(of: column).flatMap { item.values?[$0].text }
      let zone = try Creating(run: run).parentZone(item.table, column: column, id: id)
      try require(.create, of: item, in: zone, nil)
      return zone
    case .explicit, .server: break
    default: throw Problem(.invalidRequest, "A record of \(table.name) can't be in that zone.")
    }
    try require(.create, of: item, in: item.zone, nil)
    return item.zone
  }
}
