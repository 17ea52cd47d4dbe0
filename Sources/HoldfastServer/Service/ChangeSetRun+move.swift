import HoldfastCore

extension ChangeSetRun {
  /// Moves a record, whose columns are changed already, to another zone with all that is under it.
  func move(_ record: Record, to zone: String) throws {
    Trace.took(.moved)
    var waiting = [record]
    while var moved = waiting.popLast() {
      try leave(&moved, for: zone)
      for link in schema.links(to: moved.table) where link.isInZone {
        guard case .parent(let name) = schema.tables[link.table].zone,
          schema.tables[link.table].columns[link.column].name == name
        else { continue }
        let store = stores.tables[link.table]
        for id in try store.ids(where: link.column, is: moved.id) {
          guard var child = try store.record(id) else { continue }
          child.rev &+= 1
          waiting.append(child)
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
