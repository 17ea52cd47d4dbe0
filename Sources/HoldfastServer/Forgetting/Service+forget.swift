import HoldfastCore

extension Service {
  /// Forgets what a pass found, if it is still to be forgotten.
  func forget(_ item: Forgettable, _ terms: ForgettingTerms, at now: Stamp) throws -> Forgotten {
    guard case .conflicts(let conflicts) = item else { return try store.forgetting.forget(item, terms) }
    let table = stores.tables[stores.conflicts]
    var forgotten = Forgotten()
    for conflict in conflicts {
      guard let live = try table.record(conflict.id) else { continue }
      try table.remove(live.id)
      try stores.tombstones.insert(
        Tombstone(zone: live.zone, rev: live.rev + 1, stamp: now, device: 0),
        seq: try stores.ledger.next(live.zone), of: live.id, in: table.table.name, isDeparture: false)
      forgotten.conflicts += 1
    }
    return forgotten
  }
}
