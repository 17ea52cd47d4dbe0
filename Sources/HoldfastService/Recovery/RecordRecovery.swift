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
      // Anybody can invent zones: of those that the database lacks only proofs count.
      if restored != nil, ack.epoch == work.history.previous { work.recovery.claim(zone, ack.seq) }
    }
    return ahead
  }

  /// Accepts recovered records: all together, so that their order does not matter; if that fails, one by one. The device sends again what one
  /// transaction has no time for.
  package func take(_ recovered: [Result<RecoveredRecord, Problem>], by author: Author) throws
    -> RecoveryOutcome
  {
    var outcome = RecoveryOutcome(count: recovered.count)
    if recovered.isEmpty { return outcome }
    if work.history.previous == nil {
      let problem = Problem(.recordUnknown, "The server was not restored: there is nothing to recover.")
      outcome.refused = recovered.indices.map { RefusedRecovery(index: $0, problem: problem) }
      return outcome
    }
    var (items, refused): ([Item], [RefusedRecovery]) = ([], [])
    for (index, item) in recovered.enumerated() {
      switch item {
      case .success(let record): items.append(Item(index: index, record: record))
      case .failure(let problem): refused.append(RefusedRecovery(index: index, problem: problem))
      }
    }
    var count = 0
    switch try takeTogether(items, by: author) {
    case .taken(let taken): count = taken
    case .refused, .tooLong: count = try takeSingly(items, by: author, &refused)
    case .begun: break
    }
    if count > 0 { try ZoneRecovery(work).endEarlier(items.map(\.record), by: author) }
    if count < items.count { outcome.count = items[count].index }
    outcome.refused = refused.filter { $0.index < outcome.count }
    return outcome
  }

  /// A record of a request.
  private struct Item {
    let index: Int
    let record: RecoveredRecord
  }

  /// What a part has recovered so far.
  private typealias Entries = [RecoveryEntry.Key: RecoveryEntry]

  /// What became of some records.
  private enum Attempt {
    /// So many of them are accepted; the transaction had no time for the rest.
    case taken(Int)
    case refused(Problem)
    /// More goes along than one transaction deletes.
    case tooLong
    /// A piece of a deletion is done.
    case begun
  }

  /// Accepts records one by one.
  ///
  /// - Returns: how many were dealt with.
  private func takeSingly(_ items: [Item], by author: Author, _ refused: inout [RefusedRecovery]) throws
    -> Int
  {
    var again: [Int] = []
    var count = 0
    singly: for item in items {
      if count > 0, work.hasDoneEnough(count) {
        Trace.took(.setsLeft)
        break
      }
      switch try takeAlone(item, by: author) {
      case .refused: again.append(count)
      case .taken: break
      case .tooLong, .begun: break singly
      }
      count += 1
    }
    // A refused record may depend on one that was accepted after it.
    for index in again where index < count {
      switch try takeAlone(items[index], by: author) {
      case .refused(let problem): refused.append(RefusedRecovery(index: items[index].index, problem: problem))
      case .taken: break
      case .tooLong, .begun: count = index
      }
    }
    return count
  }

  private func takeAlone(_ item: Item, by author: Author) throws -> Attempt {
    let attempt = try takeTogether([item], by: author)
    guard case .tooLong = attempt else { return attempt }
    return try takeTogether([item], by: author, inPieces: true)
  }

  /// Accepts records in one part.
  ///
  /// - Parameter inPieces: whether the record is a deletion, of which the part does only a piece.
  private func takeTogether(_ items: [Item], by author: Author, inPieces: Bool = false) throws -> Attempt {
    let run = ChangeSetRun([], by: author, on: work.stores, mayBeCut: !inPieces)
    run.removesInPieces = inPieces
    run.followers = []
    // The recovering device must also receive the result, so no device counts as the author.
    work.stores.ledger.beginChangeSet(by: 0)
    var entries: Entries = [:]
    var taken = 0
    do {
      let refusal = try work.part(at: run.current) {
        for item in items {
          if taken > 0, work.hasDoneEnough(taken) || run.work.microseconds > work.stores.workLimit { break }
          run.work.addOperation()
          for entry in try take(item.record, run, entries) { entries[entry.key] = entry }
          taken += 1
        }
        try run.run()
      }
      if let refusal { return .refused(refusal.problem) }
      work.recovery.add(Array(entries.values))
      return run.isUnfinished ? .begun : .taken(taken)
    } catch let problem as Problem {
      try work.transaction.undoPart()
      return .refused(problem)
    } catch is LongDeletion {
      try work.transaction.undoPart()
      return .tooLong
    }
  }

  /// Accepts one recovered record.
  ///
  /// - Parameter entries: those of the records before it.
  /// - Returns: the entries to store, of the record and of those that went along.
  private func take(
    _ item: RecoveredRecord, _ run: ChangeSetRun, _ entries: Entries
  ) throws -> [RecoveryEntry] {
    let key = RecoveryEntry.Key(
      zone: item.zone, table: work.stores.schema.tables[item.table].name, id: item.id)
    if let before = try entry(of: key, entries), before.rev >= item.rev {
      try Recovering(run: run).announceDeletion(of: item, rev: before.rev)
      return []
    }
    let seq = try Recovering(run: run).take(item) { zone in
      try entry(of: RecoveryEntry.Key(zone: zone, table: key.table, id: key.id), entries)
    }
    try run.settle()
    let followers = try (run.followers ?? []).compactMap { try entry(of: $0, entries) }
    run.followers = []
    guard let seq else { return followers }
    let base = try entry(of: key, entries)?.base ?? followers.first { $0.key == key }?.base ?? 0
    return followers.filter { $0.key != key }
      + [RecoveryEntry(key: key, base: base, rev: item.rev, seq: seq, isDeletion: item.isDeletion)]
  }

  /// What is known of a record in its new place. If nobody has changed it since the restore, a recovery may change it further.
  private func entry(of follower: Follower, _ entries: Entries) throws -> RecoveryEntry? {
    let table = work.stores.schema.tables[follower.table].name
    func key(_ zone: String) -> RecoveryEntry.Key {
      RecoveryEntry.Key(zone: zone, table: table, id: follower.id)
    }
    guard let known = try entry(of: key(follower.before.zone), entries) else { return nil }
    let isUntouched = known.seq == follower.before.seq
    return RecoveryEntry(
      key: key(follower.after.zone), base: known.base, rev: known.rev,
      seq: isUntouched ? follower.after.seq : 0, isDeletion: follower.isDeletion)
  }

  private func entry(of key: RecoveryEntry.Key, _ entries: Entries) throws -> RecoveryEntry? {
    try entries[key] ?? work.recovery.entry(of: key) ?? work.store.recovery.entry(of: key)
  }
}
