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
