package import HoldfastCore

/// Why something that a device recovered can't be taken.
package struct RefusedRecovery: Sendable, Equatable {
  /// Its place in the request.
  package let index: Int
  package let problem: Problem
}

/// What devices recover after a restore; docs/RESTORING.md, section 4.
extension Service {
  /// The zones of which a device says that it has seen more than the restored database has, and whether there is such a zone at all; notes how
  /// much.
  func zonesAhead(in command: SyncCommand) throws -> TextMap<Bool> {
    guard history.previous != nil else { return [:] }
    var ahead: TextMap<Bool> = [:]
    for case (let zone, let ack?) in command.acks where history.isForeign(ack) {
      let restored = try store.recovery.restored(zone)
      if history.agrees(with: ack, in: restored) { continue }
      ahead[zone] = restored != nil
      if ack.epoch == history.previous { recovery.claim(zone, ack.seq) }
    }
    return ahead
  }

  /// Takes what a device recovers: all of it together, so that the order does not matter; where that fails, each by itself.
  ///
  /// - Returns: what can't be taken.
  package func take(_ recovered: [Result<RecoveredRecord, Problem>], by author: Author) throws
    -> [RefusedRecovery]
  {
    if recovered.isEmpty { return [] }
    if history.previous == nil {
      let problem = Problem(.recordUnknown, "The server was not restored: there is nothing to recover.")
      return recovered.indices.map { RefusedRecovery(index: $0, problem: problem) }
    }
    var (items, refused): ([(index: Int, record: RecoveredRecord)], [RefusedRecovery]) = ([], [])
    for (index, item) in recovered.enumerated() {
      switch item {
      case .success(let record): items.append((index, record))
      case .failure(let problem): refused.append(RefusedRecovery(index: index, problem: problem))
      }
    }
    if try takeTogether(items.map(\.record), by: author) == nil { return refused }
    let again = try items.filter { try takeTogether([$0.record], by: author) != nil }
    // What one was refused for may have come behind it.
    for item in again {
      if let problem = try takeTogether([item.record], by: author) {
        refused.append(RefusedRecovery(index: item.index, problem: problem))
      }
    }
    return refused
  }

  /// Gives the problem that kept them all from being taken.
  private func takeTogether(_ items: [RecoveredRecord], by author: Author) throws -> Problem? {
    let run = ChangeSetRun([], by: author, on: stores)
    // Nobody has the result yet: the device that recovers is told of it, too.
    stores.ledger.beginChangeSet(by: 0)
    var taken: [RecoveryEntry] = []
    do {
      let refusal = try part(at: run.current) {
        for item in items { if let record = try take(item, run) { taken.append(record) } }
        try run.run()
      }
      if let refusal { return refusal.problem }
      recovery.add(taken)
      return nil
    } catch let problem as Problem {
      try store.undoPart()
      stores.ledger.rollBackChangeSet()
      return problem
    }
  }

  /// Takes one record that was recovered.
  ///
  /// - Returns: what is remembered of it; nil when nothing is.
  private func take(_ item: RecoveredRecord, _ run: ChangeSetRun) throws -> RecoveryEntry? {
    let key = RecoveryEntry.Key(zone: item.zone, table: stores.schema.tables[item.table].name, id: item.id)
    if let before = try entry(of: key), before.rev >= item.rev {
      try run.tellDeletion(of: item, rev: before.rev)
      return nil
    }
    let seq = try run.take(item) { zone in
      try entry(of: RecoveryEntry.Key(zone: zone, table: key.table, id: key.id))
    }
    try run.settle()
    guard let seq else { return nil }
    let base = try entry(of: key)?.base ?? 0
    return RecoveryEntry(key: key, base: base, rev: item.rev, seq: seq, isDeletion: item.isDeletion)
  }

  private func entry(of key: RecoveryEntry.Key) throws -> RecoveryEntry? {
    try recovery.entry(of: key) ?? store.recovery.entry(of: key)
  }
}
