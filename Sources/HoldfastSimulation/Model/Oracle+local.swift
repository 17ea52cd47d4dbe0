import HoldfastCore

/// Events on devices without the server.
extension Oracle {
  /// The app committed a transaction. The difference is the person's edits.
  ///
  /// A transaction that commits while the device is killed is reported too, before `reopened`.
  ///
  /// - Parameter user: the id of the device's user; empty before the first sign-in.
  func wrote(device: String, user: String, before: Tables, after: Tables) {
    var memory = devices[device] ?? Device()
    if !user.isEmpty { memory.user = user }
    memory.tables = after
    let differences = RecordDifference.between(before, after)
    var transaction = LocalTransaction(device: device, user: user)
    let index = transactions.count
    for difference in differences where !difference.columns.isEmpty {
      note(difference, as: index, of: device, in: &transaction, &memory)
    }
    if !transaction.operations.isEmpty {
      if transaction.operations.contains(where: { $0.kind == "delete" }) {
        transaction.known = Tokens.inside(before).union(memory.bases).union(transaction.tokens)
        // The person also knows the deletions here that are still unsent.
        for index in memory.open {
          transaction.known.formUnion(transactions[index].known)
        }
        // The person also knows everything written here, even while it is moving between zones.
        for other in transactions where other.device == device { transaction.known.formUnion(other.tokens) }
      }
      transactions.append(transaction)
      memory.open.append(index)
    }
    devices[device] = memory
    look(after, at: device)
  }

  private func note(
    _ difference: RecordDifference, as index: Int, of device: String, in transaction: inout LocalTransaction,
    _ memory: inout Device
  ) {
    let key = difference.key
    let kind = difference.isCreate ? "create" : difference.isDelete ? "delete" : "update"
    transaction.operations.insert(OperationName(kind: kind, key: key))
    if difference.isCreate {
      creations[key, default: []].append(index)
      makers[key.id, default: []].append(index)
    }
    if difference.isDelete {
      deletions.append(Deletion(transaction: index, key: key))
      memory.latest[key] = nil
    }
    for (column, old, new) in difference.columns {
      changes[key, default: []].append(
        LocalChange(transaction: index, device: device, column: column, old: old, new: new))
      let place = ColumnPlace(key: key, column: column)
      if kind == "update" { transaction.bases[place] = .base(old?.number, Set(old?.tokens ?? [])) }
      guard let new else {
        memory.latest[key]?[column] = nil
        continue
      }
      let tokens = Set(new.tokens)
      if new.isTelling { transaction.values[place] = new }
      let isCombining = rules.combining[key.table]?.contains(column) == true
      let shown = isCombining ? tokens.subtracting(old?.tokens ?? []) : tokens
      memory.latest[key, default: [:]][column] = shown.isEmpty ? nil : shown
      repeated.formUnion(tokens.intersection(old?.tokens ?? []))
      for token in tokens.subtracting(old?.tokens ?? []).sorted() {
        note(token, key, column, by: index, &transaction)
      }
    }
  }

  private func note(
    _ token: Int, _ key: RecordKey, _ column: String, by index: Int, _ transaction: inout LocalTransaction
  ) {
    guard var known = written[token] else {
      written[token] = Written(key: key, column: column, transactions: [index])
      transaction.tokens.insert(token)
      return
    }
    precondition(
      known.key == key && known.column == column,
      "The workload wrote \(Tokens.text(token)) into \(known.key).\(known.column) and into \(key).\(column).")
    known.transactions.append(index)
    repeated.insert(token)
    written[token] = known
  }

  /// A device was opened again after its process ended or was killed.
  ///
  /// - Parameter mayHaveApplied: whether it was killed while it applied an answer, whose transaction may have committed.
  func reopened(device: String, view: DeviceView, mayHaveApplied: Bool = false) {
    if mayHaveApplied { return applied(device: device, user: "", view: view) }
    let memory = devices[device] ?? Device()
    for difference in RecordDifference.between(memory.tables ?? [:], view.tables) {
      let columns = (difference.old ?? [:]).keys.union((difference.new ?? [:]).keys).sorted()
        .filter { difference.old?[$0] != difference.new?[$0] }
        .map { "\($0) was \(text(difference.old?[$0])), is \(text(difference.new?[$0]))" }
      report("I2", "\(device), reopened: \(difference.key): \(columns.joined(separator: "; "))")
    }
    var kept: Set<Int> = []
    for set in (view.outbox + view.quarantine.map(\.body)).compactMap({ changeSet($0, on: device) }) {
      kept.formUnion(memory.open.filter { transactions[$0].matches(set) })
      var waiting = memory.open
      kept.formUnion(take(set, from: &waiting))
    }
    for index in memory.open where !isLoose(index, in: view) && !kept.contains(index) {
      report(
        "I2",
        "\(device), reopened: the outbox has lost \(describe(index)), which was not confirmed; it has \(view.outbox)"
      )
    }
    look(view.tables, at: device)
  }

  /// Whether a transaction is not sealed yet.
  func isLoose(_ index: Int, in view: DeviceView) -> Bool {
    view.edits.contains { edit in
      edit.isLoose && transactions[index].operations.contains { $0.key == edit.key }
    }
  }

  /// The person may have taken change sets out of quarantine and written them again, which was reported as a transaction. An edit that
  /// another of them replaced or deleted is in none.
  func resent(device: String, view: DeviceView) {
    let taken = takenOut(of: device, view)
    for token in taken.flatMap({ transactions[$0].values.values.flatMap(\.tokens) }) {
      guard let place = written[token] else { continue }
      // Also by an edit on top of another that stays in quarantine.
      var tokens: Set = [token]
      let isReplaced = (changes[place.key] ?? []).contains { change in
        guard change.device == device, change.column == place.column, tokens.contains(where: change.replaces)
        else { return false }
        tokens.formUnion(change.new?.tokens ?? [])
        return taken.contains(change.transaction)
      }
      let deletion = OperationName(kind: "delete", key: place.key)
      if isReplaced || taken.contains(where: { transactions[$0].operations.contains(deletion) }) {
        replacedInQuarantine.insert(token)
      }
    }
  }

  /// The person may have discarded change sets in quarantine.
  func discarded(device: String, view: DeviceView) {
    for index in takenOut(of: device, view) where transactions[index].state == .quarantined {
      transactions[index].state = .purged
    }
  }

  /// The transactions whose change sets have left a device's quarantine.
  private func takenOut(of device: String, _ view: DeviceView) -> Set<Int> {
    let left = Set(view.quarantine.map(\.number))
    let gone = (devices[device]?.quarantined ?? [:]).filter { !left.contains($0.key) }
    for number in gone.keys { devices[device]?.quarantined[number] = nil }
    return Set(gone.values.compactMap { $0 })
  }

  /// The person discarded all unsent and refused edits, and the device's records were removed with them.
  func purged(device: String) {
    guard let memory = devices[device] else { return }
    for index in transactions.indices where transactions[index].device == device {
      switch transactions[index].state {
      case .open, .quarantined: transactions[index].state = .purged
      case .confirmed, .purged: continue
      }
    }
    devices[device] = Device(user: memory.user, tables: [:], isCopied: memory.isCopied)
  }

  /// Another device begins with a copy of a device's database.
  func copied(device: String, to copy: String) {
    devices[device, default: Device()].isCopied = true
    devices[copy] = devices[device]
  }

  /// The state that is needed if a device's database is restored later.
  func backup(of device: String) -> Backup {
    Backup(device: devices[device] ?? Device(), states: transactions.map(\.state))
  }

  /// A device's database is restored to an earlier state. Later local edits and refusals that exist nowhere else are gone.
  func restored(device: String, to backup: Backup) {
    for index in transactions.indices where transactions[index].device == device {
      let before = index < backup.states.count ? backup.states[index] : nil
      switch transactions[index].state {
      case .open where before == nil: transactions[index].state = .purged
      case .quarantined where before != .quarantined:
        transactions[index].state = before == .open ? .open : .purged
      default: continue
      }
    }
    devices[device] = backup.device
    devices[device]?.isCopied = true
    purgedLost(device: device)
  }

  /// The text of a value, or "absent".
  func text(_ cell: Cell?) -> String { cell?.description ?? "absent" }

  /// A description of a transaction for people.
  func describe(_ index: Int) -> String {
    let transaction = transactions[index]
    let operations = transaction.operations.map { "\($0.kind) \($0.key)" }.sorted().joined(separator: ", ")
    return "transaction \(index) of \(transaction.device) (\(operations); \(Tokens.text(transaction.tokens)))"
  }
}

/// The counters that readers of a zone depend on.
extension Oracle {
  /// I4, I2: each seq of a zone is one change, none exceeds the zone's seq, and no counter decreases.
  func expectCounters(_ view: ServerView) {
    let before = server.view
    var faults: [String] = []
    var taken: TextMap<[Int64: RecordKey]> = [:]
    func take(_ seq: Int64, in zone: String, for key: RecordKey) {
      if let other = taken[zone, default: [:]].updateValue(key, forKey: seq) {
        let keys = [key, other].sorted()
        faults.append("server: zone \(zone): seq \(seq) is that of \(keys[0]) and of \(keys[1])")
      }
      if seq > view.zones[zone]?.seq ?? 0 {
        faults.append(
          "server: zone \(zone): \(key) has seq \(seq), beyond the zone's \(view.zones[zone]?.seq ?? 0)")
      }
    }
    for (key, row) in view.tables { take(view.seqs[key] ?? 0, in: row.zone ?? "", for: key) }
    for tombstone in view.tombstones { take(tombstone.seq, in: tombstone.zone, for: tombstone.key) }
    for (zone, known) in before.zones where view.zones[zone]?.seq ?? 0 < known.seq {
      faults.append("server: zone \(zone) went back from seq \(known.seq) to \(view.zones[zone]?.seq ?? 0)")
    }
    report("I4", faults)
    report(
      "I2",
      before.confirmed.filter { view.confirmed[$0.key] ?? 0 < $0.value }.map {
        "server: device \($0.key) was confirmed up to \($0.value), now up to \(view.confirmed[$0.key] ?? 0)"
      })
  }

  /// I4, I8: a record that left a zone has a tombstone there, with a later seq. A live record has no tombstone of a deletion.
  func expectTombstones(_ ended: [RecordDifference], in view: ServerView) {
    var faults: [String] = []
    for tombstone in view.tombstones where !tombstone.isDeparture && view.tables[tombstone.key] != nil {
      faults.append("server: \(tombstone.key) is live, and has the tombstone of a deletion")
    }
    report("I8", faults)
    for difference in ended {
      guard let zone = difference.old?.zone, let seq = server.view.seqs[difference.key] else { continue }
      if view.zones[zone]?.purged ?? 0 > seq { continue }
      let isSeen = view.tombstones.contains {
        $0.key == difference.key && $0.zone == zone && $0.seq > seq
      }
      if !isSeen {
        report(
          "I4", "server: \(difference.key) left zone \(zone) after seq \(seq), and no tombstone there says so"
        )
      }
    }
  }
}
