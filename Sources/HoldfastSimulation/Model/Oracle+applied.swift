import HoldfastCore

/// The state of a device after it has applied an answer.
extension Oracle {
  /// A device applied an answer, or changed its records otherwise without an edit (it unfollowed a public zone).
  ///
  /// - Parameter user: the id of the device's user; empty for the known one.
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

  /// Determines which transactions left the outbox, and where they went.
  private func settle(
    _ memory: inout Device, _ outbox: [SentChangeSet], _ view: DeviceView, on device: String
  ) {
    // The device itself rewrites edits that a server of another schema did not know.
    let left = Set(view.quarantine.map(\.number))
    for number in memory.quarantined.keys.sorted() where !left.contains(number) {
      guard let index = memory.quarantined.removeValue(forKey: number) ?? nil,
        transactions[index].state == .quarantined
      else { continue }
      transactions[index].state = .open
      memory.open.append(index)
      // It is written on top of what waits already.
      for (place, cell) in transactions[index].values where memory.latest[place.key]?[place.column] != nil {
        memory.latest[place.key]?[place.column] = Set(cell.tokens)
      }
    }
    memory.open.sort()
    // Change sets are sent from the front. Of equal ones, the last are those still here.
    var open = memory.open.filter { isLoose($0, in: view) }
    var waiting = memory.open.filter { !open.contains($0) }
    for set in outbox.reversed() {
      open += take(set, from: &waiting)
    }
    memory.open = open.sorted()
    // Newest first: a change set without new tokens may match a later transaction, but not an earlier one.
    for refused in view.quarantine.reversed() where memory.quarantined[refused.number] == nil {
      memory.quarantined[refused.number] = .some(nil)
      expectRefusal(refused, memory, on: device)
      guard let set = changeSet(refused.body, on: device) else { continue }
      let taken = take(set, from: &waiting)
      memory.quarantined[refused.number] = taken.first
      // A change set that a copy of the device sent successfully is not lost.
      for index in taken where transactions[index].state == .open { transactions[index].state = .quarantined }
    }
    for index in waiting { transactions[index].state = .confirmed }
  }

  /// Removes the transactions of a change set: one, or several of which all but the last could not be sealed separately.
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

  /// The last consecutive transactions that together do exactly what a change set does.
  private func run(of set: SentChangeSet, in waiting: [Int]) -> Range<Int>? {
    // The previous value of a merged text is part of its new value too.
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

  /// I3: while an edit is unsent, its column shows it, whatever the server sent.
  private func expectDirtyValues(
    _ memory: inout Device, _ outbox: [SentChangeSet], _ view: DeviceView, on device: String
  ) {
    let unsent = outbox.reduce(into: Set<Int>()) { $0.formUnion($1.tokens) }
    for key in memory.latest.keys.sorted() {
      guard let row = view.tables[key] else {
        // A record created here without a parent stays. But it may go with a shared or followed zone. So may a list that was created again
        // here after it had left, or that belongs to another person.
        let makers = creations[key] ?? []
        let isNew =
          !makers.isEmpty && makers.allSatisfy { memory.open.contains($0) && user(of: $0) == memory.user }
        let zone = devices[device]?.tables?[key]?.zone ?? ""
        let isAlone = !(referencesOfTable[key.table] ?? []).contains(where: \.isInZone)
        if isNew, isAlone, [key.id, memory.user, ""].contains(zone) {
          report("I3", "\(device): \(key) is not there while its creation waits in the outbox")
        }
        // A record that left and returns shows the server's values.
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

  /// Whether a column shows an edit: alone, or together with others if the policy combines them.
  private func shows(_ shown: Set<Int>, _ edit: Set<Int>, _ key: RecordKey, _ column: String) -> Bool {
    rules.combining[key.table]?.contains(column) == true ? edit.isSubset(of: shown) : edit == shown
  }
}

/// The history that a restore of the server has lost, and the devices that may recover it.
struct LostHistory {
  /// A device at the time of the restore.
  struct Device {
    let device: String
    let user: String
    let view: DeviceView
    /// The deletions that it remembers, with the server's time of each in milliseconds since 1970.
    let deletions: [RecordKey: Int64]
  }

  /// A device's data of a zone, which it may recover while its user may write there.
  struct Holding {
    let device: String
    let user: String
    let zone: String
    let tokens: Set<Int>
    let deletions: [RecordKey: Int64]
  }

  /// How long a device remembers a deletion.
  static let memory: Int64 = 29 * 86_400_000

  /// The transactions that had left their devices' outboxes.
  var settled: Set<Int> = []
  /// The tokens that the server had shown, and no longer has.
  var tokens: Set<Int> = []
  /// The records whose deletion may be lost, because they were not seen deleted since.
  var deletions: Set<RecordKey> = []
  /// The records that existed, with their zones.
  var lived: [RecordKey: String?] = [:]
  /// The members of each zone.
  var members: TextMap<TextSet> = [:]
  var holdings: [Holding] = []
}

/// The data that a restore of the server may lose: what no device that may recover it has.
extension Oracle {
  /// The server's database is restored to the state of `before`.
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
    // A token that was shown once can return: from devices that have it, or that send it again.
    server.tokens = gone.tokens
    server.conflicts = [:]
    server.purgedConflicts = gone.purgedConflicts
    (server.time, server.milliseconds) = (gone.time, gone.milliseconds)
  }

  /// The data that a device may recover. If the restored server knows the zone, writers may recover it; otherwise only its owner.
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
        // A device may not know the `rev` of its own edits yet.
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

  /// A device applied an answer from before the restore. The edits that it confirmed may be lost.
  func heardLate(_ before: [Int], on device: String) {
    let open = Set(devices[device]?.open ?? [])
    lost?.settled.formUnion(before.filter { !open.contains($0) && transactions[$0].state == .confirmed })
  }

  /// A server that purges devices accepts no recovery from those that it has purged.
  func gaveUp() { lost?.holdings = [] }

  /// A device no longer has its data of the lost history.
  func purgedLost(device: String) { lost?.holdings.removeAll { $0.device == device } }

  /// A user who may no longer write recovers nothing. A deletion that the server has shown since is not lost.
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

  /// Whether a restore may have lost a token permanently.
  func mayBeLost(_ token: Int, _ written: Written) -> Bool {
    guard let lost, lost.tokens.contains(token) else { return false }
    return written.transactions.allSatisfy(lost.settled.contains)
      && !lost.holdings.contains { $0.tokens.contains(token) }
  }

  /// Whether a restore may have lost a deletion permanently.
  func mayBeLost(_ deletion: Deletion) -> Bool {
    guard let lost, lost.settled.contains(deletion.transaction), lost.deletions.contains(deletion.key) else {
      return false
    }
    return !lost.holdings.contains { holding in
      holding.deletions[deletion.key].map { server.milliseconds - $0 < LostHistory.memory } ?? false
    }
  }
}
