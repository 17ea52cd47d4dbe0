import HoldfastCore

/// Deletes records, with what refers to them.
struct Deleting: ChangeSetPart {
  let run: ChangeSetRun

  /// A delete: always wins, and takes the children along as their references say.
  func delete(_ operation: RecordOperation) throws {
    guard let live = try stores.tables[operation.table].record(operation.id),
      try ledger.role(of: author.user, in: live.zone) != nil
    else { return try deleteNothing(operation) }
    try AccessRules(run: run).requireDelete(of: live)
    Trace.took(.deleted)
    if run.isPiece, try !removeBelow(live, at: stamp(of: operation)) {
      Trace.took(.deletedInPieces)
      run.isUnfinished = true
      return
    }
    try remove(live, at: stamp(of: operation))
    try removeMember(live)
  }

  /// A delete of what is not there, or not in visible. It is done, unless the record may be one that a restore has lost, of a zone that the
  /// device is ahead in: whoever recovers it would undo the deletion.
  private func deleteNothing(_ operation: RecordOperation) throws {
    if operation.rev > 0, let history = stores.history, history.previous != nil,
      try stores.tombstones.deletion(operation.id, of: schema.tables[operation.table].name) == nil,
      try stores.devices.hasAcks(author.device, notOf: history.epoch)
    {
      Trace.took(.deletedUnknown)
      throw Problem(.recordUnknown)
    }
    Trace.took(.deletedNothing)
  }

  /// What the removal of a membership brings with it.
  func removeMember(_ live: StoredRecord) throws {
    guard schema.tables[live.table].zone == .explicit else { return }
    try stores.followMember(live.values, in: live.zone)
    if live.values[stores.memberColumns.role] == .text(Role.owner.rawValue) {
      run.ownerLosses.append((live.zone, run.current))
    }
  }

  /// The columns that others changed after the revision that the deletion was based on. A child that goes along without a delete of its own
  /// in the set was not known to who deleted its parent. Of a membership only the role is anybody's edit.
  private func overlaps(with live: StoredRecord, at stamp: Stamp) -> [Overlap] {
    guard live.table != stores.conflicts, let stamps = RecordStamps(live.stamps) else { return [] }
    let known = run.deletedRev(live.table, live.id) ?? 0
    let columns = schema.tables[live.table].columns
    let edited =
      live.table == stores.members
      ? stores.memberColumns.role..<stores.memberColumns.role + 1 : columns.indices
    return edited.compactMap { index in
      let last = stamps[columns[index].name]
      guard last.rev > known, last.device != author.device, live.values[index] != .null else {
        return nil
      }
      return Overlap(
        column: index, policy: "delete", base: nil,
        winner: .init(value: nil, device: author.device, stamp: stamp),
        loser: .init(value: live.values[index], device: last.device, stamp: last.stamp))
    }
  }

  /// Deletes a record and, level by level, all that goes with it: what refers to the records of a level is found together. Each gets a
  /// tombstone of its own.
  func remove(
    _ first: StoredRecord, at stamp: Stamp, rev: Int64 = 0, isInside: Bool = true,
    isLogged: (StoredRecord) throws -> Bool = { _ in true }
  ) throws {
    // Children inside the zone take the right to delete them. Those who refer to a record of another zone have agreed that theirs goes with it.
    var level = [Going(key: Footprint.Key(table: first.table, id: first.id), isInside: isInside)]
    while !level.isEmpty {
      var gone: [Int: [Going]] = [:]
      for going in level {
        // A record that can be reached in two ways was removed already.
        guard let record = try stores.tables[going.key.table].record(going.key.id) else { continue }
        let isFirst = record.id == first.id && record.table == first.table
        if going.isInside, !isFirst, !run.isErasing { try AccessRules(run: run).requireDelete(of: record) }
        try tombstone(record, at: stamp, rev: isFirst ? rev : 0, isLogged: isLogged)
        gone[record.table, default: []].append(going)
      }
      level = []
      for (table, parents) in gone.sorted(by: { $0.key < $1.key }) {
        for link in schema.links(to: table) { try detach(parents, link, at: stamp, &level) }
      }
    }
  }

  /// Deletes one record, and leaves its tombstone.
  private func tombstone(
    _ record: StoredRecord, at stamp: Stamp, rev: Int64, isLogged: (StoredRecord) throws -> Bool
  ) throws {
    let store = stores.tables[record.table]
    try stores.remove(record)
    if store.table.zone == .root { try stores.followRoot(of: record.zone) }
    let tombstone = Tombstone(
      zone: record.zone, rev: max(record.rev &+ 1, rev), stamp: stamp, device: author.device)
    try stores.insert(
      tombstone, seq: try ledger.next(record.zone), of: record.id, in: store.table.name, isDeparture: false)
    let overlaps = try isLogged(record) ? overlaps(with: record, at: stamp) : []
    if !overlaps.isEmpty { Trace.took(.deletedOverlap) }
    try ConflictLog(run: run).log(overlaps, of: record.id, table: record.table, zone: record.zone)
  }

  /// A record that is deleted.
  private struct Going {
    let key: Footprint.Key
    /// Whether only references inside the zone lead from it to the record that was named.
    var isInside = true
  }

  /// Does to those who refer to deleted records of a table what their reference says.
  private func detach(
    _ parents: [Going], _ link: SyncSchema.Link, at stamp: Stamp, _ level: inout [Going]
  ) throws {
    let store = stores.tables[link.table]
    var inside: TextMap<Bool> = [:]
    for parent in parents {
      let isInside = parent.isInside && link.isInZone
      if link.onDelete == .restrict, !run.isErasing, isInside {
        run.openReferences.append(
          OpenReference(operation: run.current, link: link, id: parent.key.id, isInbound: true))
      } else {
        inside[parent.key.id] = isInside
      }
    }
    let wanted = parents.map(\.key.id).filter { inside[$0] != nil }
    let onDelete = unrestricted(link)
    let children = try store.references(by: link.column, to: wanted, limit: followerLimit)
    try store.prefetch(children.map(\.id))
    for (id, parent) in children {
      let isInside = inside[parent] ?? false
      if onDelete == .cascade {
        Trace.took(.cascaded)
        try addFollower()
        level.append(Going(key: Footprint.Key(table: link.table, id: id), isInside: isInside))
        continue
      }
      try addFollower()
      try setToNull(link, of: id, at: stamp, isValidated: isInside)
    }
  }

  /// What a reference does that keeps nobody from deleting: one from another zone, which is not told of either.
  func unrestricted(_ link: SyncSchema.Link) -> Reference.OnDelete {
    if link.onDelete != .restrict { return link.onDelete }
    return schema.tables[link.table].columns[link.column].required ? .cascade : .setNull
  }

  /// Ends the reference that a record has by a link.
  func setToNull(_ link: SyncSchema.Link, of id: String, at stamp: Stamp, isValidated: Bool) throws {
    let store = stores.tables[link.table]
    guard let child = try store.record(id) else { return }
    Trace.took(.setToNull)
    run.work.addEdit()
    var merge = RecordMerge(child)
    merge.set(
      link.column, named: store.table.columns[link.column].name, to: .null, by: stamp, of: author.device)
    var next = merge.next
    next.seq = try ledger.next(child.zone)
    try RecordWriting(run: run).replace(next, over: child, isValidated: isValidated)
  }
}
