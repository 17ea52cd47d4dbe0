import HoldfastCore

extension Service {
  /// Forgets what a pass found, if it is still to be forgotten.
  func forget(_ item: Forgettable, _ terms: ForgettingTerms, at now: Stamp) throws -> Forgotten {
    switch item {
    case .conflicts(let conflicts): return try forget(conflicts, at: now)
    case .departure(let user, let zone): return try depart(user, from: zone, at: now)
    case .erasedRecords(let user, let zone, let records): return try erase(records, of: zone, user, at: now)
    default:
      // Another may have begun since it was found.
      var terms = terms
      terms.epoch = history.epoch
      return try store.forgetting.forget(item, terms)
    }
  }

  /// Goes on with the time by which ages are judged.
  func keepTime(isTrusted: Bool) throws -> TimeStep {
    let step = clock.trusted.step(try store.forgetting.lockTime(), trusts: isTrusted)
    if step.wentBack { try store.forgetting.takeBack(to: environment.now()) }
    try store.forgetting.setTime(step.time)
    return step
  }

  private func forget(_ conflicts: [LoggedConflict], at now: Stamp) throws -> Forgotten {
    let table = stores.tables[stores.conflicts]
    var forgotten = Forgotten()
    for conflict in conflicts {
      guard let live = try table.record(conflict.id) else { continue }
      try table.remove(live.id)
      try stores.tombstones.insert(
        Tombstone(zone: live.zone, rev: live.rev &+ 1, stamp: now, device: 0),
        seq: try stores.ledger.next(live.zone), of: live.id, in: table.table.name, isDeparture: false)
      forgotten.conflicts += 1
    }
    return forgotten
  }
}
