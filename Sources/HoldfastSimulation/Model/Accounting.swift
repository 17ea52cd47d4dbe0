import HoldfastCore

/// Accounts for everything that people wrote, after all devices have synced: no token may be lost, and no deletion undone.
struct Accounting {
  let oracle: Oracle
  let server: ServerView
  /// The tokens in refused change sets on devices.
  private var quarantined: Set<Int> = []
  /// The tokens in the conflict log, by column.
  private var losers: [ColumnPlace: Set<Int>] = [:]
  private var winners: [ColumnPlace: Set<Int>] = [:]

  init(_ oracle: Oracle, devices: [FinalDevice], server: ServerView) {
    self.oracle = oracle
    self.server = server
    for device in devices {
      for refused in device.view.quarantine {
        quarantined.formUnion(oracle.changeSet(refused.body, on: device.device)?.tokens ?? [])
      }
    }
    let log = server.tables.filter { $0.key.table == "conflicts" }.map(\.value)
    for row in log + oracle.server.purgedConflicts {
      let place = ColumnPlace(
        key: RecordKey(table: row["record_table"]?.string ?? "", id: row["record_id"]?.string ?? ""),
        column: row["column_name"]?.string ?? "")
      losers[place, default: []].formUnion(row["loser_value"]?.tokens ?? [])
      winners[place, default: []].formUnion(row["winner_value"]?.tokens ?? [])
    }
  }

  // MARK: Tokens

  /// I3: reports the lost tokens.
  func reportLost() {
    for (token, written) in oracle.written.sorted(by: { $0.key < $1.key })
    where !isAccountedFor(token, written) && !oracle.mayBeLost(token, written) {
      let place = ColumnPlace(key: written.key, column: written.column)
      let onServer =
        server.tables[written.key].map { "has \(oracle.text($0[written.column]))" } ?? "has no such record"
      let replaced = (oracle.changes[written.key] ?? []).filter {
        $0.column == written.column && $0.replaces(token)
      }.map { "\(oracle.describe($0.transaction)), which was refused" }
      let ends = deletions(of: written.key).map { "\(oracle.describe($0)), which did not know it" }
      oracle.report(
        "I3",
        """
        \(Tokens.text(token)) is lost: written to \(written.key).\(written.column) by \
        \(written.transactions.map { oracle.describe($0) }.joined(separator: ", ")); the server \(onServer); \
        \(oracle.server.tokens.contains(token) ? "it was there once" : "it never was there"); \
        replaced knowingly by \(replaced.isEmpty ? "nobody" : replaced.joined(separator: ", ")); \
        the record or what it stood under deleted by \(ends.isEmpty ? "nobody" : ends.joined(separator: ", ")); the conflict log has \
        \(Tokens.text(losers[place] ?? [])) as losers, \(Tokens.text(winners[place] ?? [])) as winners
        """)
    }
  }

  private func isAccountedFor(_ token: Int, _ written: Oracle.Written) -> Bool {
    let (key, column) = (written.key, written.column)
    let place = ColumnPlace(key: key, column: column)
    if server.tables[key]?[column]?.tokens.contains(token) == true { return true }
    if server.kept.contains(token) { return true }
    if losers[place]?.contains(token) == true || quarantined.contains(token) { return true }
    if oracle.replacedInQuarantine.contains(token) { return true }
    if written.transactions.contains(where: { oracle.transactions[$0].state == .purged }) { return true }
    let changes = oracle.changes[key] ?? []
    for place in changes.indices where changes[place].column == column {
      if changes[place].replaces(token), stands(place, in: changes) { return true }
    }
    if server.tables[key] != nil { return false }
    // The record is gone. The log has the winner as well as the loser. The deleting person may have known the token without seeing it,
    // because a local edit hid it.
    let ends = deletions(of: key)
    if winners[place]?.contains(token) == true, !ends.isEmpty { return true }
    return ends.contains { oracle.transactions[$0].known.contains(token) }
  }

  /// Whether a change reached the server, or a later change of the same device that did is based on it. A change on top of a refused one is
  /// based on its value, and so on the value before.
  private func stands(_ place: Int, in changes: [LocalChange]) -> Bool {
    let change = changes[place]
    if !isRefused(change.transaction) { return true }
    return changes.indices.contains {
      $0 > place && changes[$0].device == change.device && changes[$0].column == change.column
        && changes[$0].old == change.new && stands($0, in: changes)
    }
  }

  private func isRefused(_ index: Int) -> Bool {
    oracle.transactions[index].state == .quarantined && tokensSeen(of: index).isEmpty
  }

  /// The tokens of a transaction that the server has shown, and that no other transaction can have written.
  private func tokensSeen(of index: Int) -> Set<Int> {
    oracle.transactions[index].tokens.intersection(oracle.server.tokens).subtracting(oracle.repeated)
  }

  /// The transactions that deleted a record or one of its ancestors.
  ///
  /// One request may create, move and delete a record, so the server never shows its ancestor. So references in local writes count too. An
  /// ancestor may have been created again without the record.
  private func deletions(of key: RecordKey) -> [Int] {
    var found: [Int] = []
    var seen: Set<RecordKey> = []
    var waiting = [key]
    while let next = waiting.popLast() {
      guard seen.insert(next).inserted else { continue }
      found += oracle.deletions.filter { $0.key == next && !isRefused($0.transaction) }.map(\.transaction)
      for reference in oracle.referencesOfTable[next.table] ?? [] where reference.cascades {
        let written = (oracle.changes[next] ?? []).filter { $0.column == reference.column }
        let ids = written.map(\.new) + [oracle.server.last[next]?[reference.column]]
        waiting += ids.compactMap { $0?.string }.map { RecordKey(table: reference.target, id: $0) }
      }
    }
    return found
  }

  // MARK: Counters

  /// I1, I3: a counter is the sum of all increments. Checks records that were created once, and not edited on copied devices.
  func reportSums() {
    // A recovered increment may be sent again by another device.
    if oracle.lost != nil { return }
    for (key, row) in server.tables.sorted(by: { $0.key < $1.key }) {
      for column in (oracle.rules.counters[key.table] ?? []).sorted() {
        let changes = (oracle.changes[key] ?? []).filter { $0.column == column }
        guard (oracle.creations[key] ?? []).count == 1, isCertain(changes) else { continue }
        let sum = changes.filter { oracle.transactions[$0.transaction].state == .confirmed }
          .reduce(0) { $0 + ($1.new?.number ?? 0) - ($1.old?.number ?? 0) }
        if sum == row[column]?.number ?? 0 { continue }
        let parts = changes.map {
          "\(oracle.text($0.old)) to \(oracle.text($0.new)) by \(oracle.describe($0.transaction))"
        }
        oracle.report(
          "I1",
          "server: \(key).\(column) is \(oracle.text(row[column])), and people added \(sum): \(parts.joined(separator: "; "))"
        )
      }
    }
  }

  /// Whether it is known for all changes whether they took effect.
  private func isCertain(_ changes: [LocalChange]) -> Bool {
    changes.allSatisfy {
      let state = oracle.transactions[$0.transaction].state
      return $0.new != nil && (state == .confirmed || state == .quarantined)
        && oracle.devices[$0.device]?.isCopied != true
    }
  }

  // MARK: Deletions and refusals

  /// I8: reports deleted records that are live, although no one created them again.
  func reportUndead() {
    for deletion in oracle.deletions {
      guard let row = server.tables[deletion.key], !deletion.isBeyondReach else { continue }
      switch oracle.transactions[deletion.transaction].state {
      case .quarantined, .purged: continue
      case .open, .confirmed: break
      }
      if isCreatedAnew(deletion) || oracle.mayBeLost(deletion) { continue }
      oracle.report(
        "I8",
        "\(deletion.key) is live on the server at rev \(row.rev), though \(oracle.describe(deletion.transaction)) deleted it and nobody created it since"
      )
    }
  }

  /// Whether the record has a life that the deletion may not refer to: created after the record's first deletion, and unknown to the
  /// deleting device.
  private func isCreatedAnew(_ deletion: Oracle.Deletion) -> Bool {
    guard let first = oracle.deletions.first(where: { $0.key == deletion.key })?.transaction else {
      return false
    }
    let transaction = oracle.transactions[deletion.transaction]
    return (oracle.creations[deletion.key] ?? []).contains { index in
      let creation = oracle.transactions[index]
      if index < first { return false }
      if index >= deletion.transaction { return true }
      return creation.device != transaction.device && creation.tokens.isDisjoint(with: transaction.known)
    }
  }

  /// I6: a refused change set has no effect.
  func reportHalfRefused() {
    for (index, transaction) in oracle.transactions.enumerated() where transaction.state == .quarantined {
      if oracle.devices[transaction.device]?.isCopied == true { continue }
      // A change set refused since may have been applied in the lost history, and recovered.
      let seen = tokensSeen(of: index).subtracting(oracle.lost?.tokens ?? [])
      if seen.isEmpty { continue }
      oracle.report(
        "I6", "\(oracle.describe(index)) is in quarantine, and the server has shown its \(Tokens.text(seen))")
    }
  }
}
