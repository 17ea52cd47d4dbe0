import HoldfastCore

/// Thrown if a deletion cascades to more records than one transaction deletes, and can run in pieces.
struct LongDeletion: Error {}

/// Thrown if the records below a record cannot be deleted the deepest first.
private struct EntangledDeletion: Error {
  let problem: Problem
}

/// Deletions in pieces: docs/SERVER.md, "How long one request holds the writer".
extension Deleting {
  /// The number of records of a level that are read together: as many as a piece deletes, less those above it. So the same few are not
  /// skipped again and again, and a deep tree is not read whole.
  private func width(below above: Int) -> Int {
    let most = max(1, stores.pieceLimit / ChangeSetWork.follower)
    return max(min(200, most), most - above)
  }
  /// The maximum depth of a deletion in pieces.
  private static let depth = 10_000
  /// For how long after a piece the zones stay, in milliseconds: longer than the next piece waits for its turn.
  private static let keeping: Int64 = 60_000

  /// The maximum number of cascading records that are searched together: slightly more than the limit permits.
  var followerLimit: Int {
    if run.isErasing || author.device == 0 { return .max }
    if run.isDeletion, !run.mayBeCut { return .max }
    return (run.isDeletion ? stores.pieceLimit : stores.workLimit) / ChangeSetWork.follower + 2
  }

  /// Counts a record that is deleted or moved along with another.
  ///
  /// - Throws: `LongDeletion` if this piece has done enough; `Problem.changeSetTooLarge`, but never for a change set with deletions only.
  func addFollower() throws {
    run.work.addFollower()
    if run.isErasing || author.device == 0 { return }
    if run.isDeletion {
      if run.mayBeCut, run.work.microseconds > stores.pieceLimit { throw LongDeletion() }
      return
    }
    if run.work.microseconds > stores.workLimit {
      throw Problem(
        .changeSetTooLarge,
        "More records go along than one transaction may write: delete or move those below first.")
    }
  }

  /// What the author may delete, if nothing can refuse the set from here on; nil if something can. Pieces of a set that is refused at its end
  /// would stay deleted.
  func decide() throws -> CutDeletion? {
    var zones: [String?] = []
    // The tables and zones that are certain.
    var known: Set<Footprint.Key> = []
    var alone = 0
    for operation in run.operations {
      guard let live = try stores.tables[operation.table].record(operation.id),
        try ledger.role(of: author.user, in: live.zone) != nil
      else {
        do { try deleteNothing(operation) } catch is Problem { return nil }
        zones.append(nil)
        continue
      }
      if !known.contains(Footprint.Key(table: live.table, id: live.zone)) {
        guard try isCertain(live) else { return nil }
        known.insert(Footprint.Key(table: live.table, id: live.zone))
      }
      if !isBelowNamed(live) { alone += 1 }
      zones.append(live.zone)
    }
    // These go together, in the last piece.
    if alone > SyncRequest.operationLimit {
      throw Problem(
        .changeSetTooLarge,
        "It deletes \(alone) records that are not below each other; \(SyncRequest.operationLimit) may go at once."
      )
    }
    return CutDeletion(zones: zones)
  }

  /// Whether a record goes with another one that the set names.
  private func isBelowNamed(_ live: StoredRecord) -> Bool {
    schema.links(of: live.table).contains { link in
      guard link.isInZone, link.onDelete == .cascade, let above = live.values[link.column].text else {
        return false
      }
      return above != live.id && run.deletedRev(link.target, above) != nil
    }
  }

  /// Deletes what is below the named records, up to the limit of one transaction. The named records go last, in one transaction.
  ///
  /// - Parameter isFirst: whether nothing of it is committed yet.
  /// - Returns: whether all of it is deleted.
  func removeBelowNamed(isFirst: Bool) throws -> Bool {
    guard var cut = run.cut else { return true }
    defer { run.cut = cut }
    var fetched = cut.done
    while cut.done < run.operations.count {
      if cut.done == fetched {
        fetched = min(fetched + 200, run.operations.count)
        try prefetchNamed(cut.done..<fetched)
      }
      run.work.addOperation()
      let operation = run.operations[cut.done]
      if let live = try stores.tables[operation.table].record(operation.id),
        try mayGo(live, cut.zones[cut.done])
      {
        do {
          if try !removeBelow(live, at: stamp(of: operation)) {
            Trace.took(.deletedInPieces)
            return false
          }
        } catch let entangled as EntangledDeletion {
          if isFirst { throw run.blame(cut.done, entangled.problem) }
          // A refusal would leave what is deleted so far. The rest goes in this transaction, of whatever size.
          cut.done = run.operations.count
          return true
        }
      }
      cut.done += 1
      if run.work.microseconds > stores.pieceLimit, cut.done < run.operations.count { return false }
    }
    return true
  }

  /// Keeps the zones from leaving for another database before the last piece, where the other would get half of the deletion (I6).
  func keepZones() throws {
    guard let cut = run.cut, cut.keptUntil < stores.now + Self.keeping / 2 else { return }
    let until = stores.now + Self.keeping
    try stores.store.zones.setDeleting(in: TextSet(cut.zones.compactMap { $0 }).sorted(), until: until)
    run.cut?.keptUntil = until
  }

  /// Reads the records that operations name, many together.
  func prefetchNamed(_ range: Range<Int>) throws {
    for (table, operations) in Dictionary(grouping: run.operations[range], by: \.table) {
      try stores.tables[table].prefetch(operations.map(\.id))
    }
  }

  /// Deletes a named record in the last piece, with what others have added below it since.
  func deleteNamed(_ record: StoredRecord?, at stamp: Stamp) throws {
    guard let record, let cut = run.cut, try mayGo(record, cut.zones[run.current]) else {
      return Trace.took(.deletedNothing)
    }
    Trace.took(.deleted)
    try remove(record, at: stamp, isInside: false)
  }

  /// Whether a named record goes: the right that the first piece has found holds for the later ones. A record that others have moved since
  /// stays, like one below it, unless the author may delete it where it is now.
  private func mayGo(_ live: StoredRecord, _ decided: String?) throws -> Bool {
    if let decided, TextKey(decided) == TextKey(live.zone) { return true }
    return try isCertain(live)
  }

  /// Whether the author may delete a record and everything below it, and no rule can prevent that later. Whether a zone keeps an owner
  /// without a membership, only its last transaction can say.
  private func isCertain(_ live: StoredRecord) throws -> Bool {
    switch schema.tables[live.table].zone {
    case .explicit, .server: return false
    case .root, .parent, .user, .public: break
    }
    guard try ledger.role(of: author.user, in: live.zone) != nil else { return false }
    do { try AccessRules(run: run).requireDelete(of: live) } catch is Problem { return false }
    return try isCertain(from: live.table, in: live.zone)
  }

  private func isCertain(from table: Int, in zone: String) throws -> Bool {
    var (known, next) = (Set([table]), [table])
    while let table = next.popLast() {
      for link in schema.links(to: table) where link.isInZone {
        switch link.onDelete {
        case .restrict: return false
        case .setNull: if stores.rules.hasValidators { return false }
        case .cascade:
          if !known.insert(link.table).inserted { continue }
          do { try AccessRules(run: run).require(.delete, of: link.table, in: zone) } catch is Problem {
            return false
          }
          next.append(link.table)
        }
      }
    }
    return true
  }

  /// Deletes the records that cascade from a record, the deepest first, up to the limit of one transaction.
  ///
  /// - Returns: whether all of them are deleted.
  private func removeBelow(
    _ live: StoredRecord, at stamp: Stamp, isLogged: (StoredRecord) throws -> Bool = { _ in true }
  ) throws -> Bool {
    var levels = [[Footprint.Key(table: live.table, id: live.id)]]
    var above = Set(levels[0])
    while let level = levels.last {
      if try detachSome(of: level, width(below: above.count), at: stamp) {
        if run.work.microseconds > stores.pieceLimit { return false }
        continue
      }
      let children = try someChildren(of: level, above, at: stamp)
      if !children.isEmpty {
        if levels.count == Self.depth { throw tooDeep("are more than \(Self.depth) levels deep") }
        levels.append(children)
        above.formUnion(children)
        continue
      }
      if levels.count == 1 { break }
      for key in level {
        guard let record = try stores.tables[key.table].record(key.id) else { continue }
        run.work.addFollower()
        try remove(record, at: stamp, isInside: false, isLogged: isLogged)
      }
      above.subtract(level)
      levels.removeLast()
      if run.work.microseconds > stores.pieceLimit { return false }
    }
    return true
  }

  /// Deletes what is below a record of which a deletion is recovered, up to the limit of one transaction.
  ///
  /// - Returns: whether the record comes next: all is deleted, or its deletion can be refused, so that it is to be done as a whole.
  func removeBelow(
    recovered live: StoredRecord, at stamp: Stamp, isLogged: (StoredRecord) throws -> Bool
  ) throws -> Bool {
    guard try isCertain(live) else { return true }
    do { return try removeBelow(live, at: stamp, isLogged: isLogged) } catch is EntangledDeletion {
      return true
    }
  }

  private func tooDeep(_ reason: String) -> EntangledDeletion {
    EntangledDeletion(
      problem: Problem(.changeSetTooLarge, "The records that go along \(reason): delete some of them first."))
  }

  /// Some of the records that cascade from the records of a level. A reference back to an upper level closes a cycle, and is set to null.
  private func someChildren(
    of level: [Footprint.Key], _ above: Set<Footprint.Key>, at stamp: Stamp
  ) throws -> [Footprint.Key] {
    for (link, ids) in links(to: level) where schema.unrestricted(link) == .cascade {
      while true {
        let found = try some(link, ids, width(below: above.count))
        if found.isEmpty { break }
        let keys = found.map { Footprint.Key(table: link.table, id: $0) }
        let children = keys.filter { !above.contains($0) }
        if children.count < keys.count, schema.tables[link.table].columns[link.column].required {
          throw tooDeep("refer to each other in a circle")
        }
        for key in keys where above.contains(key) {
          try setToNull(link, of: key.id, at: stamp, isValidated: false)
        }
        if !children.isEmpty { return children }
      }
    }
    return []
  }

  /// Some of the records that reference others. A record that only the index lists is skipped: it would be found forever.
  private func some(_ link: SyncSchema.Link, _ ids: [String], _ width: Int) throws -> [String] {
    let table = stores.tables[link.table]
    let found = TextSet(try table.references(by: link.column, to: ids, limit: width).map(\.id)).sorted()
    try table.prefetch(found)
    return try found.filter { try table.record($0) != nil }
  }

  /// Sets some of the set-null references to records of a level to null.
  ///
  /// - Returns: whether it found any.
  private func detachSome(of level: [Footprint.Key], _ width: Int, at stamp: Stamp) throws -> Bool {
    for (link, ids) in links(to: level) where schema.unrestricted(link) == .setNull {
      let found = try some(link, ids, width)
      if found.isEmpty { continue }
      for id in found {
        run.work.addFollower()
        try setToNull(link, of: id, at: stamp, isValidated: false)
      }
      return true
    }
    return false
  }

  private func links(to level: [Footprint.Key]) -> [(SyncSchema.Link, [String])] {
    Dictionary(grouping: level, by: \.table).sorted { $0.key < $1.key }.flatMap { table, keys in
      schema.links(to: table).map { ($0, keys.map(\.id)) }
    }
  }
}
