package import HoldfastCore

/// Processes the records that devices recover after a restore: docs/RESTORING.md, section 4.
package struct RecordRecovery {
  package let work: UnitOfWork

  package init(_ work: UnitOfWork) { self.work = work }

  /// The zones in which a device is ahead of the restored database. The value is whether the zone exists. Stores the claimed seqs.
  func zonesAhead(_ acks: ZoneAcks) throws -> TextMap<Bool> {
    guard work.history.previous != nil else { return [:] }
    var ahead: TextMap<Bool> = [:]
    for case (let zone, let ack?) in acks where work.history.isForeign(ack) {
      let restored = try work.store.recovery.restored(zone)
      if work.history.agrees(with: ack, in: restored) { continue }
      ahead[zone] = restored != nil
      if ack.epoch == work.history.previous { work.recovery.claim(zone, ack.seq) }
    }
    return ahead
  }

  /// Accepts recovered records: all together, so that their order does not matter; if that fails, one by one.
  ///
  /// - Returns: the refused items.
  package func take(_ recovered: [Result<RecoveredRecord, Problem>], by author: Author) throws
    -> [RefusedRecovery]
  {
    if recovered.isEmpty { return [] }
    if work.history.previous == nil {
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
    // A refused record may depend on one that was accepted after it.
    for item in again {
      if let problem = try takeTogether([item.record], by: author) {
        refused.append(RefusedRecovery(index: item.index, problem: problem))
      }
    }
    return refused
  }

  /// Accepts records in one part. Returns the problem if they were refused.
  private func takeTogether(_ items: [RecoveredRecord], by author: Author) throws -> Problem? {
    let run = ChangeSetRun([], by: author, on: work.stores)
    // The recovering device must also receive the result, so no device counts as the author.
    work.stores.ledger.beginChangeSet(by: 0)
    var taken: [RecoveryEntry] = []
    do {
      let refusal = try work.part(at: run.current) {
        for item in items { if let record = try take(item, run) { taken.append(record) } }
        try run.run()
      }
      if let refusal { return refusal.problem }
      work.recovery.add(taken)
      return nil
    } catch let problem as Problem {
      try work.transaction.undoPart()
      return problem
    }
  }

  /// Accepts one recovered record.
  ///
  /// - Returns: the entry to store; nil for none.
  private func take(_ item: RecoveredRecord, _ run: ChangeSetRun) throws -> RecoveryEntry? {
    let key = RecoveryEntry.Key(
      zone: item.zone, table: work.stores.schema.tables[item.table].name, id: item.id)
    if let before = try entry(of: key), before.rev >= item.rev {
      try Recovering(run: run).announceDeletion(of: item, rev: before.rev)
      return nil
    }
    let seq = try Recovering(run: run).take(item) { zone in
      try entry(of: RecoveryEntry.Key(zone: zone, table: key.table, id: key.id))
    }
    try run.settle()
    guard let seq else { return nil }
    let base = try entry(of: key)?.base ?? 0
    return RecoveryEntry(key: key, base: base, rev: item.rev, seq: seq, isDeletion: item.isDeletion)
  }

  private func entry(of key: RecoveryEntry.Key) throws -> RecoveryEntry? {
    try work.recovery.entry(of: key) ?? work.store.recovery.entry(of: key)
  }
}
