import HoldfastCore

/// Moves records to other zones, with all their children.
struct Moving: ChangeSetPart {
  let run: ChangeSetRun

  /// Moves a record, whose columns are already changed, to another zone with all its children.
  ///
  /// - Parameter live: the record before the change.
  func move(_ record: StoredRecord, from live: StoredRecord, to zone: String) throws {
    Trace.took(.moved)
    // Level by level: one query finds the children of a level.
    var level = [(new: record, old: live)]
    while !level.isEmpty {
      var parents: [Int: [String]] = [:]
      for (new, old) in level {
        try leave(new, over: old, for: zone)
        parents[new.table, default: []].append(new.id)
      }
      level = []
      for (table, ids) in parents.sorted(by: { $0.key < $1.key }) {
        for link in schema.links(to: table) where link.isInZone {
          guard case .parent(let name) = schema.tables[link.table].zone,
            schema.tables[link.table].columns[link.column].name == name
          else { continue }
          let store = stores.tables[link.table]
          let children = try store.references(
            by: link.column, to: ids, limit: Deleting(run: run).followerLimit
          ).map(\.id)
          try store.prefetch(children)
          for id in children {
            guard let old = try store.record(id) else { continue }
            var child = old
            child.rev = Revision.after(child.rev)
            try Deleting(run: run).addFollower()
            level.append((child, old))
          }
        }
      }
    }
  }

  /// Moves one record to another zone, and leaves a departure in the old one.
  private func leave(_ moved: StoredRecord, over old: StoredRecord, for zone: String) throws {
    var record = moved
    try AccessRules(run: run).requireMove(of: record.table, from: record.zone, to: zone)
    let name = schema.tables[record.table].name
    let departure = Tombstone(zone: record.zone, rev: record.rev, stamp: author.clock, device: author.device)
    try stores.insert(
      departure, seq: try ledger.next(record.zone), of: record.id, in: name, isDeparture: true)
    record.zone = zone
    record.seq = try ledger.next(zone)
    try AccessRules(run: run).requireDependence(of: record, by: record.values.indices, isNew: true)
    try RecordWriting(run: run).replace(record, over: old)
    run.followers?.append(
      Follower(
        table: record.table, id: record.id, before: (old.zone, old.seq), after: (zone, record.seq),
        isDeletion: false))
    // At the end of the set, all records that it references inside its zone, or that reference it, must have moved along.
    for link in schema.links(of: record.table) where link.isInZone {
      run.openReferences.append(OpenReference(operation: run.current, link: link, id: record.id))
    }
    for link in schema.links(to: record.table) where link.isInZone {
      run.openReferences.append(
        OpenReference(operation: run.current, link: link, id: record.id, isInbound: true))
    }
  }
}
