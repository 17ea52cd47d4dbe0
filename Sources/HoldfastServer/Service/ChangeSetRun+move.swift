import HoldfastCore

extension ChangeSetRun {
  /// Moves a record, whose columns are changed already, to another zone with all that is under it.
  func move(_ record: Record, to zone: String) throws {
    Trace.took(.moved)
    // Level by level: the children of a level are found together.
    var level = [record]
    while !level.isEmpty {
      var parents: [Int: [String]] = [:]
      for var moved in level {
        try leave(&moved, for: zone)
        parents[moved.table, default: []].append(moved.id)
      }
      level = []
      for (table, ids) in parents.sorted(by: { $0.key < $1.key }) {
        for link in schema.links(to: table) where link.isInZone {
          guard case .parent(let name) = schema.tables[link.table].zone,
            schema.tables[link.table].columns[link.column].name == name
          else { continue }
          let store = stores.tables[link.table]
          let children = try store.references(by: link.column, to: ids).map(\.id)
          try store.expect(children)
          for id in children {
            guard var child = try store.record(id) else { continue }
            child.rev &+= 1
            level.append(child)
          }
        }
      }
    }
  }

  /// Takes one record from its zone, in which a departure stays, to another.
  private func leave(_ record: inout Record, for zone: String) throws {
    try requireMove(of: record.table, from: record.zone, to: zone)
    let name = schema.tables[record.table].name
    let before = record
    let departure = Tombstone(zone: record.zone, rev: record.rev, stamp: author.clock, device: author.device)
    try stores.tombstones.insert(
      departure, seq: try ledger.next(record.zone), of: record.id, in: name, isDeparture: true)
    record.zone = zone
    record.seq = try ledger.next(zone)
    try replace(record, over: before)
    // What it refers to inside its zone, and what refers to it, must have come along by the end of the set.
    for link in schema.links(of: record.table) where link.isInZone {
      openReferences.append(OpenReference(operation: current, link: link, id: record.id))
    }
    for link in schema.links(to: record.table) where link.isInZone {
      openReferences.append(OpenReference(operation: current, link: link, id: record.id, isInbound: true))
    }
  }
}
