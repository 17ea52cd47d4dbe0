import HoldfastCore

/// References to records that were deleted while the referencing device was offline. The deletion's rule (cascade or set null) is applied
/// to the referencing record now.
extension Creating {
  /// The tombstone of a referenced record. Nil if the record is live, is unknown, is not visible to the author, or is created later in this set:
  /// of a circle one is first, and the end of the set tells whether its reference holds.
  private func end(of id: String, _ link: SyncSchema.Link) throws -> Tombstone? {
    let target = stores.tables[link.target]
    if try target.zone(of: id) != nil || run.laterCreate(of: link.target, id) != nil { return nil }
    guard let tombstone = try stores.tombstones.deletion(id, of: target.table.name),
      try ledger.role(of: author.user, in: tombstone.zone) != nil
    else { return nil }
    return tombstone
  }

  /// The references with a delete rule. Empty if the author saw the current records: a missing reference is then an error.
  private func links(of table: Int, _ onDelete: Reference.OnDelete) -> [SyncSchema.Link] {
    author.isPresent ? [] : schema.links(of: table).filter { $0.onDelete == onDelete }
  }

  /// Whether the reference decides the record's zone.
  private func isParent(_ link: SyncSchema.Link) -> Bool {
    let table = schema.tables[link.table]
    return table.zone == .parent(table.columns[link.column].name)
  }

  /// The zone of a record to create. Nil if the deletion of its parent cascades to it; the record is then refused as deleted.
  ///
  /// - Parameters:
  ///   - tombstone: for a restore, the tombstone of the record.
  ///   - rev: that of a new record.
  func homeOrTombstone(
    of operation: RecordOperation, under tombstone: Tombstone?, rev: Int64
  ) throws -> String? {
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
      // The tombstone goes to the record's own zone. Members of the other zone must not learn of the record.
      let deleted = Tombstone(
        zone: zone ?? end.zone, rev: rev, stamp: max(end.stamp, stamp(of: operation)), device: end.device)
      try refuseAsDeleted(operation, under: tombstone ?? deleted)
      return nil
    }
    if let missing { throw missing }
    return zone
  }

  /// Sets references of a new record to null if their record was deleted with set null.
  ///
  /// - Returns: the conflicts to log.
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

  /// Undoes an update's references to deleted records. A set-null reference becomes null. A cascading reference keeps its old value,
  /// because the record is not a child of the deleted one yet.
  func dropEnded(_ merge: inout RecordMerge, of operation: RecordOperation, over live: StoredRecord) throws {
    if merge.changed.isEmpty { return }
    let zone = try destination(of: merge) ?? live.zone
    for link in links(of: live.table, .cascade) + links(of: live.table, .setNull)
    where merge.changed.contains(link.column) {
      guard let id = merge.record.values[link.column].text, let end = try end(of: id, link),
        isParent(link) || !link.isInZone || end.zone == zone
      else { continue }
      let name = schema.tables[live.table].columns[link.column].name
      merge.rollBack(link.column, named: name, live)
      if link.onDelete == .setNull, live.values[link.column] != .null {
        merge.set(link.column, named: name, to: .null, by: stamp(of: operation), of: author.device)
      }
      merge.note(overlap(link, operation, end))
    }
  }

  /// The zone to which an update moves a record; nil if it stays, or its new parent does not exist.
  private func destination(of merge: RecordMerge) throws -> String? {
    guard let parent = schema.links(of: merge.record.table).first(where: isParent),
      merge.changed.contains(parent.column)
    else { return nil }
    return try merge.record.values[parent.column].text.flatMap {
      try stores.tables[parent.target].zone(of: $0)
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
