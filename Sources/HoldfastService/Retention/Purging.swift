package import HoldfastCore

/// Executes the purges of a pass, and advances the trusted time: docs/RETENTION.md, section 2.
package struct Purging {
  package let work: UnitOfWork

  package init(_ work: UnitOfWork) { self.work = work }

  /// Purges an item, if it still qualifies.
  package func purge(_ item: Purgeable, _ terms: RetentionTerms, at now: Stamp) throws -> Purged {
    work.stores.ledger.changesLeftZones = true
    switch item {
    case .conflicts(let conflicts): return try purge(conflicts, at: now)
    case .departure(let user, let zone): return try Erasing(work).depart(user, from: zone, at: now)
    case .erasedRecords(let user, let zone, let records):
      return try Erasing(work).erase(records, of: zone, user, at: now)
    case .together(let items):
      return try items.reduce(into: Purged()) { try $0.add(purge($1, terms, at: now)) }
    default:
      // Another epoch may have begun since the item was found.
      var terms = terms
      terms.history = work.history
      return try work.store.purging.purge(item, terms)
    }
  }

  /// Advances the time by which ages are computed.
  package func keepTime(isTrusted: Bool) throws -> TimeStep {
    let step = work.clock.trusted.step(try work.store.purging.lockTime(), trusts: isTrusted)
    if step.wentBack { try work.store.purging.rollBack(to: work.environment.now()) }
    try work.store.purging.setTime(step.time)
    return step
  }

  private func purge(_ conflicts: [LoggedConflict], at now: Stamp) throws -> Purged {
    let table = work.stores.tables[work.stores.conflicts]
    var purged = Purged()
    for conflict in conflicts {
      guard let live = try table.record(conflict.id) else { continue }
      try work.stores.remove(live)
      try work.stores.insert(
        Tombstone(zone: live.zone, rev: Revision.after(live.rev), stamp: now, device: 0),
        seq: try work.stores.ledger.next(live.zone), of: live.id, in: table.table.name, isDeparture: false)
      purged.conflicts += 1
    }
    return purged
  }
}
