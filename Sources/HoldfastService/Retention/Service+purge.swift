package import HoldfastCore

extension Service {
  /// Purges what a pass found, if it is still to be purged.
  package func purge(_ item: Purgeable, _ terms: RetentionTerms, at now: Stamp) throws -> Purged {
    switch item {
    case .conflicts(let conflicts): return try purge(conflicts, at: now)
    case .departure(let user, let zone): return try depart(user, from: zone, at: now)
    case .erasedRecords(let user, let zone, let records): return try erase(records, of: zone, user, at: now)
    default:
      // Another may have begun since it was found.
      var terms = terms
      terms.history = history
      return try store.purging.purge(item, terms)
    }
  }

  /// Goes on with the time by which ages are judged.
  package func keepTime(isTrusted: Bool) throws -> TimeStep {
    let step = clock.trusted.step(try store.purging.lockTime(), trusts: isTrusted)
    if step.wentBack { try store.purging.rollBack(to: environment.now()) }
    try store.purging.setTime(step.time)
    return step
  }

  private func purge(_ conflicts: [LoggedConflict], at now: Stamp) throws -> Purged {
    let table = stores.tables[stores.conflicts]
    var purged = Purged()
    for conflict in conflicts {
      guard let live = try table.record(conflict.id) else { continue }
      try stores.remove(live)
      try stores.insert(
        Tombstone(zone: live.zone, rev: live.rev &+ 1, stamp: now, device: 0),
        seq: try stores.ledger.next(live.zone), of: live.id, in: table.table.name, isDeparture: false)
      purged.conflicts += 1
    }
    return purged
  }
}
