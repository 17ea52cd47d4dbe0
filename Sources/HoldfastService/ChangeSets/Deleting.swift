import HoldfastCore

/// Deletes records, and handles the references to them.
struct Deleting: ChangeSetPart {
  let run: ChangeSetRun

  /// Applies a delete. A delete always wins. The rules of the references decide about the children.
  func delete(_ operation: RecordOperation) throws {
    let record = try stores.tables[operation.table].record(operation.id)
    if run.isPiece { return try deleteNamed(record, at: stamp(of: operation)) }
    guard let live = record, try ledger.role(of: author.user, in: live.zone) != nil else {
      return try deleteNothing(operation)
    }
    try AccessRules(run: run).requireDelete(of: live)
    Trace.took(.deleted)
    try remove(live, at: stamp(of: operation))
    try removeMember(live)
  }

  /// A delete of a record that does not exist, or is not visible to the author. It succeeds, unless there is no trace of the record, and a restore
  /// may have lost it and the author's device is ahead of the restored server; or it may be in a zone that has moved. A later recovery of the
  /// record would then undo the deletion, or the record be in the other database.
  func deleteNothing(_ operation: RecordOperation) throws {
    let isUnknown =
      try stores.tombstones.deletion(operation.id, of: schema.tables[operation.table].name) == nil
    if isUnknown, operation.rev > 0, let history = stores.history, history.previous != nil,
      try stores.devices.hasAcks(author.device, notOf: history.epoch)
    {
      Trace.took(.deletedUnknown)
      throw Problem(.recordUnknown)
    }
    // What was left of the zone here was dropped. The device may have heard of the move already.
    if isUnknown, !author.isPresent, try stores.devices.mayHaveLeftZones(),
      try stores.tables[operation.table].zone(of: operation.id) == nil
    {
      throw Problem(.zoneMoved, "The record may be in a zone that has moved to another database.")
    }
    Trace.took(.deletedNothing)
  }

  /// The consequences of deleting a membership.
  func removeMember(_ live: StoredRecord) throws {
    guard schema.tables[live.table].zone == .explicit else { return }
    try stores.followMember(live.values, in: live.zone)
    if live.values[stores.memberColumns.role] == .text(Role.owner.rawValue) {
      run.ownerLosses.append((live.zone, live.values[stores.memberColumns.user].text, run.current))
    }
  }

  /// The columns that other devices changed after the deletion's base rev. For a cascading child without its own delete in the set, all
  /// such columns count. In a membership, only the role is a user's edit.
  private func overlaps(with live: StoredRecord, at stamp: Stamp) -> [Overlap] {
    let base = run.deletedRev(live.table, live.id)
    // Several people may share a token of REST.
    let isShared = author.isPresent && base != nil
    guard live.table != stores.conflicts, let stamps = RecordStamps(live.stamps),
      isShared || !stamps.isOnly(of: author.device, upTo: stamp)
    else { return [] }
    let known = run.seen(base ?? 0, of: live)
    let columns = schema.tables[live.table].columns
    let edited =
      live.table == stores.members
      ? stores.memberColumns.role..<stores.memberColumns.role + 1 : columns.indices
    return edited.compactMap { index in
      let last = stamps[columns[index].name]
      let isOther = isShared || !last.isBy(author.device, upTo: stamp)
      guard last.rev > known, isOther, live.values[index] != .null else { return nil }
      return Overlap(
        column: index, policy: "delete", base: nil,
        winner: .init(value: nil, device: author.device, stamp: stamp),
        loser: .init(value: live.values[index], device: last.device, stamp: last.stamp))
    }
  }

  /// Deletes a record and, level by level, all records that cascade from it. The references to one level are found in one query. Each
  /// deleted record gets its own tombstone.
  func remove(
    _ first: StoredRecord, at stamp: Stamp, rev: Int64 = 0, isInside: Bool = true,
    isLogged: (StoredRecord) throws -> Bool = { _ in true }
  ) throws {
    // Deleting children inside the zone requires the delete right. A reference to a record of another zone implies consent to the cascade.
    var level = [Going(key: Footprint.Key(table: first.table, id: first.id), isInside: isInside)]
    while !level.isEmpty {
      var gone: [Int: [Going]] = [:]
      for going in level {
        // A record that is reachable in two ways is already removed.
        guard let record = try stores.tables[going.key.table].record(going.key.id) else { continue }
        let isFirst = record.id == first.id && record.table == first.table
        if going.isInside, !isFirst, !run.isErasing { try AccessRules(run: run).requireDelete(of: record) }
        try tombstone(record, at: stamp, rev: isFirst ? rev : 0, isLogged: isLogged)
        gone[record.table, default: []].append(going)
      }
      level = []
      for (table, parents) in gone.sorted(by: { $0.key < $1.key }) {
        let links = schema.links(to: table)
        // The lock of the zone keeps references inside it from changing, and no others.
        if links.contains(where: { !$0.isInZone }) {
          try stores.store.lock(deleted: parents.map(\.key.id), of: table)
        }
        for link in links { try detach(parents, link, at: stamp, &level) }
      }
    }
  }

  /// Deletes one record, and writes its tombstone.
  private func tombstone(
    _ record: StoredRecord, at stamp: Stamp, rev: Int64, isLogged: (StoredRecord) throws -> Bool
  ) throws {
    let store = stores.tables[record.table]
    try ledger.scope?.require(table: store.table)
    try stores.remove(record)
    if store.table.zone == .root { try stores.followRoot(of: record.zone) }
    let tombstone = Tombstone(
      zone: record.zone, rev: max(Revision.after(record.rev), rev), stamp: stamp, device: author.device)
    let seq = try ledger.next(record.zone)
    try stores.insert(tombstone, seq: seq, of: record.id, in: store.table.name, isDeparture: false)
    run.followers?.append(
      Follower(
        table: record.table, id: record.id, before: (record.zone, record.seq), after: (record.zone, seq),
        isDeletion: true))
    let overlaps = try isLogged(record) ? overlaps(with: record, at: stamp) : []
    if !overlaps.isEmpty { Trace.took(.deletedOverlap) }
    try ConflictLog(run: run).log(overlaps, of: record.id, table: record.table, zone: record.zone)
  }

  /// A record to delete.
  private struct Going {
    let key: Footprint.Key
    /// Whether only references inside the zone connect it to the record that the operation names.
    var isInside = true
  }

  /// Applies the delete rule of a reference to the records that reference deleted records of a table.
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
    let onDelete = schema.unrestricted(link)
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

  /// Sets the reference of a record to null.
  func setToNull(_ link: SyncSchema.Link, of id: String, at stamp: Stamp, isValidated: Bool) throws {
    let store = stores.tables[link.table]
    guard let child = try store.record(id) else { return }
    try ledger.scope?.require(table: store.table)
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
