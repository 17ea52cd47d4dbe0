import HoldfastCore

/// What a device shows after it has dealt with an answer.
extension Oracle {
  /// A device applied an answer, or changed its records in another way that is no person's edit (it left a public zone).
  ///
  /// - Parameter user: the id of the device's user; empty for the one known.
  func applied(device: String, user: String, view: DeviceView) {
    var memory = devices[device] ?? Device()
    if !user.isEmpty { memory.user = user }
    memory.tables = view.tables
    memory.bases = view.edits.reduce(into: []) { $0.formUnion($1.base.tokens) }
    let outbox = view.outbox.compactMap { changeSet($0, on: device) }
    settle(&memory, outbox, view, on: device)
    expectDirtyValues(&memory, outbox, view, on: device)
    devices[device] = memory
    look(view.tables, at: device)
  }

  /// Sees which transactions left the outbox, and where they went.
  private func settle(
    _ memory: inout Device, _ outbox: [SentChangeSet], _ view: DeviceView, on device: String
  ) {
    // What a server of another schema did not know the device writes again by itself.
    let left = Set(view.quarantine.map(\.number))
    for (number, index) in memory.quarantined where !left.contains(number) {
      memory.quarantined[number] = nil
      guard let index, transactions[index].state == .quarantined else { continue }
      transactions[index].state = .open
      memory.open.append(index)
    }
    memory.open.sort()
    // What is sent is taken from the front: of equal change sets the last are those still here.
    var open = memory.open.filter { isLoose($0, in: view) }
    var waiting = memory.open.filter { !open.contains($0) }
    for set in outbox.reversed() {
      open += take(set, from: &waiting)
    }
    memory.open = open.sorted()
    // The newest first: what wrote nothing new may be taken for what is behind it, but not for what is before it.
    for refused in view.quarantine.reversed() where memory.quarantined[refused.number] == nil {
      memory.quarantined[refused.number] = .some(nil)
      expectRefusal(refused, memory, on: device)
      guard let set = changeSet(refused.body, on: device) else { continue }
      let taken = take(set, from: &waiting)
      memory.quarantined[refused.number] = taken.first
      // One that a copy of the device has brought through is no loss.
      for index in taken where transactions[index].state == .open { transactions[index].state = .quarantined }
    }
    for index in waiting { transactions[index].state = .confirmed }
  }

  /// Takes out the transactions that a change set is: one; or several, of which all but the last could not be sealed by themselves.
  func take(_ set: SentChangeSet, from waiting: inout [Int]) -> [Int] {
    let possible = waiting.indices.filter { transactions[waiting[$0]].matches(set) }
    let alike = possible.filter { transactions[waiting[$0]].operations == set.operations }
    if let place = alike.last(where: { transactions[waiting[$0]].bases == set.bases }) {
      return [waiting.remove(at: place)]
    }
    if let run = run(of: set, in: waiting) {
      defer { waiting.removeSubrange(run) }
      return Array(waiting[run])
    }
    let records = Set(set.operations.map(\.key))
    let place =
      alike.last ?? possible.last { Set(transactions[waiting[$0]].operations.map(\.key)) == records }
      ?? possible.last
    return place.map { [waiting.remove(at: $0)] } ?? []
  }

  /// The last transactions behind each other that do together just what a change set does.
  private func run(of set: SentChangeSet, in waiting: [Int]) -> Range<Int>? {
    // What a merged text had before is in its new value, too.
    let known = set.bases.values.reduce(into: Set<Int>()) { $0.formUnion($1.tokens) }
    for end in waiting.indices.reversed() {
      var (operations, tokens): (Set<OperationName>, Set<Int>) = ([], [])
      for start in waiting[...end].indices.reversed() {
        let transaction = transactions[waiting[start]]
        guard transaction.operations.isSubset(of: set.operations), transaction.tokens.isSubset(of: set.tokens)
        else { break }
        operations.formUnion(transaction.operations)
        tokens.formUnion(transaction.tokens)
        if start < end, operations == set.operations, tokens.union(known).isSuperset(of: set.tokens) {
          return start..<end + 1
        }
      }
    }
    return nil
  }

  /// I3: while an edit waits to be sent, its column shows it, whatever the server said.
  private func expectDirtyValues(
    _ memory: inout Device, _ outbox: [SentChangeSet], _ view: DeviceView, on device: String
  ) {
    let unsent = outbox.reduce(into: Set<Int>()) { $0.formUnion($1.tokens) }
    for key in memory.latest.keys.sorted() {
      guard let row = view.tables[key] else {
        // What was created here, and stands under nothing, stays; but with a zone that the person shares with others, or
        // follows, it may go, and so may a list that was made again here and left before, or is another person's.
        let makers = creations[key] ?? []
        let isNew =
          !makers.isEmpty && makers.allSatisfy { memory.open.contains($0) && user(of: $0) == memory.user }
        let zone = devices[device]?.tables?[key]?.zone ?? ""
        let isAlone = !(referencesOfTable[key.table] ?? []).contains(where: \.isInZone)
        if isNew, isAlone, [key.id, memory.user, ""].contains(zone) {
          report("I3", "\(device): \(key) is not there while its creation waits in the outbox")
        }
        // A record that went and comes back shows what the server has.
        memory.latest[key] = nil
        continue
      }
      for (column, tokens) in (memory.latest[key] ?? [:]).sorted(by: { $0.key < $1.key }) {
        if !tokens.isSubset(of: unsent) {
          memory.latest[key]?[column] = nil
        } else if !shows(Set(row[column]?.tokens ?? []), tokens, key, column) {
          report(
            "I3",
            "\(device): \(key).\(column) shows \(text(row[column])) while its edit \(Tokens.text(tokens)) waits in the outbox"
          )
        }
      }
      if memory.latest[key]?.isEmpty == true { memory.latest[key] = nil }
    }
  }

  /// Whether a column shows an edit: alone, or together with those of others where they combine.
  private func shows(_ shown: Set<Int>, _ edit: Set<Int>, _ key: RecordKey, _ column: String) -> Bool {
    rules.combining[key.table]?.contains(column) == true ? edit.isSubset(of: shown) : edit == shown
  }
}

/// What the server had and a restore has lost, and who may recover it.
struct LostHistory {
  /// A device, as it was at the restore.
  struct Device {
    let device: String
    let user: String
    let view: DeviceView
    /// The deletions that it remembers, and since when by the server's clock, in milliseconds since 1970.
    let deletions: [RecordKey: Int64]
  }

  /// What a device has of a zone, and may recover as long as its user may write there.
  struct Holding {
    let device: String
    let user: String
    let zone: String
    let tokens: Set<Int>
    let deletions: [RecordKey: Int64]
  }

  /// So long a device remembers a deletion.
  static let memory: Int64 = 29 * 86_400_000

  /// The transactions that had left their devices' outboxes.
  var settled: Set<Int> = []
  /// The tokens that the server had shown, and does not have any more.
  var tokens: Set<Int> = []
  /// The records whose deletion may be lost: they were not seen deleted since.
  var deletions: Set<RecordKey> = []
  /// The records that were there, and in which zone.
  var lived: [RecordKey: String?] = [:]
  /// Who was a member of which zone.
  var members: TextMap<TextSet> = [:]
  var holdings: [Holding] = []
}

/// What a restore of the server may lose: what no device has that may recover it.
extension Oracle {
  /// The server's database is as it was when this was remembered.
  func restoredServer(to before: ServerMemory, devices: [LostHistory.Device]) {
    var history = lost ?? LostHistory()
    let gone = server
    history.settled = Set(transactions.indices.filter { transactions[$0].state != .open })
    history.tokens.formUnion(gone.tokens)
    history.tokens.subtract(Tokens.inside(before.view.tables))
    history.deletions.formUnion(deletions.map(\.key).filter { gone.view.tables[$0] == nil })
    history.lived.merge(gone.view.tables.map { ($0, $1.zone) }) { $1 }
    for (key, row) in gone.view.tables where key.table == "members" {
      if let zone = row.zone, let user = row["user"]?.string {
        history.members[zone, default: []].insert(user)
      }
    }
    history.holdings = devices.flatMap { holdings(of: $0, gone.view, before.view) }
    lost = history
    server = before
    // What was shown once can be told again: by devices that have it, or that send again what was applied.
    server.tokens = gone.tokens
    server.conflicts = [:]
    server.purgedConflicts = gone.purgedConflicts
    (server.time, server.milliseconds) = (gone.time, gone.milliseconds)
  }

  /// What a device may recover: of a zone that the restored server knows, to who may write there; of another one, the owner's.
  private func holdings(
    of device: LostHistory.Device, _ gone: ServerView, _ before: ServerView
  ) -> [LostHistory.Holding] {
    device.view.zones.compactMap { zone, known in
      guard known.ack != nil, !known.isResync, gone.writers(of: zone).contains(device.user) else {
        return nil
      }
      let mayReturn =
        before.zones[zone] == nil ? known.role == "owner" : before.writers(of: zone).contains(device.user)
      if !mayReturn { return nil }
      let deletions = device.deletions.filter { key, _ in
        before.tables[key]?.zone == zone && gone.tables[key] == nil && device.view.tables[key] == nil
      }
      var tokens: Set<Int> = []
      for (key, row) in device.view.tables where row.zone == zone {
        // A device may not have heard yet which rev its own edits got.
        let isKnown = row.rev > 0 && row.rev >= gone.tables[key]?.rev ?? 0
        tokens.formUnion(Tokens.inside([key: row]).filter { isKnown || !isOwn($0, of: device.device) })
      }
      return LostHistory.Holding(
        device: device.device, user: device.user, zone: zone, tokens: tokens, deletions: deletions)
    }
  }

  private func isOwn(_ token: Int, of device: String) -> Bool {
    written[token]?.transactions.contains { transactions[$0].device == device } == true
  }

  /// A device applied an answer from before the restore: what that confirmed may be lost.
  func heardLate(_ before: [Int], on device: String) {
    let open = Set(devices[device]?.open ?? [])
    lost?.settled.formUnion(before.filter { !open.contains($0) && transactions[$0].state == .confirmed })
  }

  /// A server that purges devices takes nothing back from those that it has given up.
  func gaveUp() { lost?.holdings = [] }

  /// What a device had of the lost history is gone from it.
  func purgedLost(device: String) { lost?.holdings.removeAll { $0.device == device } }

  /// Who may not write any more hands nothing back; a deletion that the server has shown since is not lost.
  func lookForLost(in view: ServerView) {
    guard let known = lost else { return }
    var writers: TextMap<TextSet> = [:]
    lost?.holdings = known.holdings.filter { holding in
      if view.zones[holding.zone] == nil { return true }
      let users = writers[holding.zone] ?? view.writers(of: holding.zone)
      writers[holding.zone] = users
      return users.contains(holding.user)
    }
    for tombstone in view.tombstones where !tombstone.isDeparture {
      lost?.deletions.remove(tombstone.key)
    }
  }

  /// Whether a restore may have lost a token for good.
  func mayBeLost(_ token: Int, _ written: Written) -> Bool {
    guard let lost, lost.tokens.contains(token) else { return false }
    return written.transactions.allSatisfy(lost.settled.contains)
      && !lost.holdings.contains { $0.tokens.contains(token) }
  }

  /// Whether a restore may have lost a deletion for good.
  func mayBeLost(_ deletion: Deletion) -> Bool {
    guard let lost, lost.settled.contains(deletion.transaction), lost.deletions.contains(deletion.key) else {
      return false
    }
    return !lost.holdings.contains { holding in
      holding.deletions[deletion.key].map { server.milliseconds - $0 < LostHistory.memory } ?? false
    }
  }
}
