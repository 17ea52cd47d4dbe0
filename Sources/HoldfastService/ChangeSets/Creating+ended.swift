import HoldfastCore

/// References to records that were deleted elsewhere, while the device that refers to them was offline. What the deletion would have done
/// to a record that was there is done to it now.
extension Creating {
  /// The deletion of the record that a reference names; nil when it lives, is created later in this set, is not known, or may not be seen.
  private func end(of id: String, _ link: SyncSchema.Link) throws -> Tombstone? {
    let target = stores.tables[link.target]
    if try target.zone(of: id) != nil { return nil }
    if try run.bringForward(link.target, id), try target.zone(of: id) != nil { return nil }
    guard let tombstone = try stores.tombstones.deletion(id, of: target.table.name),
      try ledger.role(of: author.user, in: tombstone.zone) != nil
    else { return nil }
    return tombstone
  }

  /// The references with a rule. Of a sender who sees the records as they are none is looked at: they are checked.
  private func links(of table: Int, _ onDelete: Reference.OnDelete) -> [SyncSchema.Link] {
    author.isPresent ? [] : stores.links[table].filter { $0.onDelete == onDelete }
  }

  /// Whether a reference is the one that decides the zone.
  private func isParent(_ link: SyncSchema.Link) -> Bool {
    let table = schema.tables[link.table]
    return table.zone == .parent(table.columns[link.column].name)
  }

  /// The zone of a record to be created; nil when it goes with a record that is gone already, and was refused as deleted.
  ///
  /// - Parameter tombstone: what stays of the record itself, which is to be restored.
  func homeOrTombstone(of operation: RecordOperation, under tombstone: Tombstone?) throws -> String? {
    var zone: String?
    var missing: Problem?
    do { zone = try home(of: operation, restoring: tombstone) } catch let problem as Problem {
      if problem.code != .referenceMissing { throw problem }
      missing = problem
    }
    for link in links(of: operation.table, .cascade) where zone == nil || !isParent(link) {
      guard let id = operation.value(of: link.column)?.text, let end = try end(of: id, link),
        zone == nil ? isParent(link) : !link.isInZone || zone == end.zone
      else { continue }
      // In its own zone: the other one must learn nothing of it.
      let grave = Tombstone(
        zone: zone ?? end.zone, rev: 1, stamp: max(end.stamp, stamp(of: operation)), device: end.device)
      try refuseAsDeleted(operation, under: tombstone ?? grave)
      return nil
    }
    if let missing { throw missing }
    return zone
  }

  /// Makes references of a new record null that would have become so.
  ///
  /// - Returns: what is to be logged of them.
  func dropEnded(_ values: inout [Value], of operation: RecordOperation, in zone: String) throws -> [Overlap]
  {
    var lost: [Overlap] = []
    for link in links(of: operation.table, .setNull) {
      guard let id = values[link.column].text, let end = try end(of: id, link),
        !link.isInZone || end.zone == zone
      else { continue }
      lost.append(overlap(link, operation, end))
      values[link.column] = .null
    }
    return lost
  }

  /// Takes references of an update to records that are gone back: one that would have become null is null, one that would have taken the record
  /// along is as it was, as the record is not the deleted one's child yet.
  func dropEnded(_ merge: inout RecordMerge, of operation: RecordOperation, over live: StoredRecord) throws {
    if merge.changed.isEmpty { return }
    for link in links(of: live.table, .cascade) + links(of: live.table, .setNull)
    where merge.changed.contains(link.column) {
      guard let id = merge.record.values[link.column].text, let end = try end(of: id, link),
        isParent(link) || !link.isInZone || end.zone == live.zone
      else { continue }
      let name = schema.tables[live.table].columns[link.column].name
      merge.rollBack(link.column, named: name, live)
      if link.onDelete == .setNull, live.values[link.column] != .null {
        merge.set(link.column, named: name, to: .null, by: stamp(of: operation), of: author.device)
      }
      merge.note(overlap(link, operation, end))
    }
  }

  private func overlap(_ link: SyncSchema.Link, _ operation: RecordOperation, _ end: Tombstone) -> Overlap {
    Trace.took(.referenceEnded)
    let setting = operation.settings.first { $0.column == link.column }
    return Overlap(
      column: link.column, policy: "delete", base: setting?.base,
      winner: .init(value: nil, device: end.device, stamp: end.stamp),
      loser: .init(value: setting?.value, device: author.device, stamp: stamp(of: operation)))
  }
}
