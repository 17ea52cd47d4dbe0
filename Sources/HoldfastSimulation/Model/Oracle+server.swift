import HoldfastCore

/// The remembered state of the server.
struct ServerMemory {
  var view = ServerView()
  /// The state before several requests that are answered at one moment, because one may be read before another is written; nil for a single
  /// request.
  var viewBefore: ServerView?
  /// The number of lives of each record.
  var lives: [RecordKey: Int] = [:]
  /// The greatest revision ever seen of each record.
  var revs: [RecordKey: Int64] = [:]
  /// The last live state of each record.
  var last: Tables = [:]
  /// All tokens ever seen in a record or in the conflict log.
  var tokens: Set<Int> = []
  /// The conflicts in the log, by content.
  var conflicts: [[Cell]: RecordKey] = [:]
  /// The conflicts purged from the log.
  var purgedConflicts: [Row] = []
  /// The latest time of its clock, as a timestamp; nil if unknown.
  var time: String?
  /// The same in milliseconds since 1970.
  var milliseconds: Int64 = 0
}

/// The server's state after a request.
extension Oracle {
  /// The server handled a request.
  ///
  /// - Parameters:
  ///   - user: the id of the sender.
  ///   - zones: the zones with changes in the answer.
  func answered(user: String, zones: [String], server view: ServerView) {
    let readable = view.zones(of: user).union(server.viewBefore?.zones(of: user) ?? [])
      .union(rules.publicZones)
    for zone in zones.sorted() where !readable.contains(zone) {
      report("I10", "the server sent \(user) changes of zone \(zone), of which \(user) is no member")
    }
    look(view)
  }

  /// Compares the server with its previous state.
  func look(_ view: ServerView) {
    expectCounters(view)
    expectUnique(view)
    let before = server.view
    var ended: [RecordDifference] = []
    for difference in RecordDifference.between(before.tables, view.tables) {
      if difference.key.table == "conflicts", difference.new == nil, let row = difference.old {
        server.purgedConflicts.append(row)
      }
      if let row = difference.new { expectWritten(difference, row, in: view) }
      if let old = difference.old, old.zone != difference.new?.zone { ended.append(difference) }
    }
    expectTombstones(ended, in: view)
    for difference in ended {
      server.last[difference.key] = difference.new ?? difference.old
    }
    server.view = view
    lookForLost(in: view)
    noteStrangers(view)
    look(view.tables, at: "server", isServer: true)
  }

  /// I1, I4, I8: a new or changed record.
  private func expectWritten(_ difference: RecordDifference, _ row: Row, in view: ServerView) {
    let key = difference.key
    server.last[key] = row
    expectConsent(difference, row, in: view)
    if difference.isCreate { expectCreation(of: key, row) }
    // A record whose tombstone was purged counts as new when it is recovered.
    let isKnown = !difference.isCreate || server.view.tombstones.contains { $0.key == key && !$0.isDeparture }
    let highest = isKnown ? server.revs[key] ?? 0 : 0
    if row.rev <= highest {
      report("I4", "server: \(key) was changed at rev \(row.rev), and had rev \(highest) before")
    }
    server.revs[key] = max(highest, row.rev)
    if let old = difference.old, old.zone == row.zone, let seq = view.seqs[key],
      let before = server.view.seqs[key], seq <= before
    {
      report("I4", "server: \(key) was changed at seq \(seq), and had seq \(before) before")
    }
    if key.table == "conflicts" { return expectConflict(key, row) }
    for column in row.ownColumns {
      let tokens = Set(row[column]?.tokens ?? [])
      server.tokens.formUnion(tokens)
      // Tokens that were there before may have been kept by another person's edit.
      for token in tokens.subtracting(difference.old?[column]?.tokens ?? []).sorted() {
        expectPlace(of: token, key, column, at: "\(key).\(column)")
        expectWriter(of: token, difference, row, in: view)
      }
    }
  }

  /// I1, I8: a record comes to life at most as often as it was created. Edits that two copies of a device share may arrive twice.
  private func expectCreation(of key: RecordKey, _ row: Row) {
    let lives = (server.lives[key] ?? 0) + 1
    server.lives[key] = lives
    let made = creations[key] ?? []
    let created = made.count
    if created >= lives || isOwn(key, row) { return }
    if comesByInvitation(key, row) {
      // If the person removes it and restores it, that is another creation.
      server.lives[key] = lives - 1
      return
    }
    // It may be recovered as gone from one zone, and then as arrived in another. The final check still requires that no deletion is undone.
    if lost?.lived[key] != nil { return }
    if made.contains(where: { devices[transactions[$0].device]?.isCopied == true }) { return }
    if created == 0 {
      report("I1", "server: \(key) is live, and nobody created it")
    } else {
      report("I8", "server: \(key) came to life \(lives) times, and was created \(created) times")
    }
  }

  /// Whether the server creates such a record itself: a conflict, or the membership of a zone's creator.
  func isOwn(_ key: RecordKey, _ row: Row) -> Bool {
    if key.table == "conflicts" { return true }
    guard key.table == "members", let zone = row.zone, let user = row["user"]?.string else { return false }
    if zone == user || rules.publicZones.contains(zone) { return true }
    // The user who recovers a zone becomes its owner.
    if lost?.members[zone]?.contains(user) == true { return true }
    return (makers[zone] ?? []).contains { self.user(of: $0) == user }
  }

  /// I1: a token is where it was written.
  private func expectPlace(of token: Int, _ key: RecordKey, _ column: String, at place: String) {
    guard let known = written[token] else {
      return report("I1", "server: \(place) has \(Tokens.text(token)), which nobody wrote")
    }
    if known.key != key || known.column != column {
      report(
        "I1", "server: \(place) has \(Tokens.text(token)), which was written to \(known.key).\(known.column)")
    }
  }

  /// I1: a conflict has values of its column, and is logged once.
  private func expectConflict(_ key: RecordKey, _ row: Row) {
    let record = RecordKey(table: row["record_table"]?.string ?? "", id: row["record_id"]?.string ?? "")
    let column = row["column_name"]?.string ?? ""
    for value in ["base", "winner_value", "loser_value"] {
      for token in row[value]?.tokens ?? [] {
        expectPlace(of: token, record, column, at: "\(key).\(value) about \(record).\(column)")
        // The base of an edit may be a value that was refused.
        if value != "base" { server.tokens.insert(token) }
      }
    }
    for column in ["winner_at", "loser_at"] {
      if let time = server.time, let at = row[column]?.string, at > time {
        report(
          "I7", "server: \(key) says \(column) \(at), and the server's clock was at \(time) at the latest")
      }
    }
    // Values without unique tokens may conflict repeatedly.
    guard Set(row["loser_value"]?.tokens ?? []).subtracting(repeated).isEmpty == false else { return }
    let facts = [
      "record_table", "record_id", "column_name", "policy", "winner_value", "winner_device", "loser_value",
      "loser_device",
    ].map { row[$0] ?? .null }
    // A recovered conflict may be about an edit that is sent again.
    if lost == nil, let first = server.conflicts[facts], first != key {
      report(
        "I1",
        "server: \(first) and \(key) log the same conflict of \(record).\(column): \(text(row["loser_value"])) lost"
      )
    }
    server.conflicts[facts] = key
  }

  /// Marks deletions without effect, because the record is in a zone that the person can't read.
  private func noteStrangers(_ view: ServerView) {
    var zones: TextMap<TextSet> = [:]
    for place in deletions.indices where !deletions[place].isBeyondReach {
      guard let zone = view.tables[deletions[place].key]?.zone else { continue }
      let user = user(of: deletions[place].transaction)
      let readable = zones[user] ?? view.zones(of: user).union(rules.publicZones)
      zones[user] = readable
      if !readable.contains(zone) { deletions[place].isBeyondReach = true }
    }
  }
}

/// The restrictions of the schema, and of zone memberships.
extension Oracle {
  /// I10: a token gets into a record only by a user who may write in its zone, before or after the request.
  func expectWriter(of token: Int, _ difference: RecordDifference, _ row: Row, in view: ServerView) {
    guard let zone = row.zone, let known = written[token] else { return }
    // A person who moved a record did not write it, nor did one who recovers it or its move.
    if lost?.tokens.contains(token) == true || lost?.lived[difference.key] == zone { return }
    if let old = difference.old, old.zone != zone { return }
    let users = TextSet(known.transactions.map { user(of: $0) })
    let writers = server.view.writers(of: zone).union(view.writers(of: zone))
    if !users.contains(""), users.isDisjoint(with: writers) {
      report(
        "I10",
        "server: \(difference.key) of zone \(zone) has \(Tokens.text(token)) of \(users.sorted().joined(separator: ", ")), who may not write there"
      )
    }
  }

  /// I7: a unique value belongs to one record in its zone.
  func expectUnique(_ view: ServerView) {
    var faults: [String] = []
    for (table, column) in rules.unique {
      var owners: [[TextKey]: RecordKey] = [:]
      for (key, row) in view.tables where key.table == table {
        guard let value = row[column] else { continue }
        if let other = owners.updateValue(key, forKey: [TextKey(row.zone ?? ""), TextKey(value.description)])
        {
          let keys = [key, other].sorted()
          faults.append("server: \(keys[0]) and \(keys[1]) of one zone have the same \(column), \(value)")
        }
      }
    }
    report("I7", faults)
  }

  /// I7: no two records of a list have the same position.
  func expectPlaces(_ view: ServerView) {
    var faults: [String] = []
    for (table, list, column) in rules.places {
      var owners: [[TextKey]: RecordKey] = [:]
      for (key, row) in view.tables where key.table == table {
        guard let place = row[column]?.string, let name = row[list]?.string else { continue }
        if let other = owners.updateValue(key, forKey: [TextKey(name), TextKey(place)]) {
          let keys = [key, other].sorted()
          faults.append("server: \(keys[0]) and \(keys[1]) of one list have the same place, \(place)")
        }
      }
    }
    report("I7", faults)
  }

  /// The server reported a refusal and its reason to a device.
  func refused(device: String, code: String) { devices[device, default: Device()].refusals.insert(code) }

  /// I3: a change set in quarantine was refused for the stated reason.
  func expectRefusal(_ refused: DeviceView.Quarantined, _ memory: Device, on device: String) {
    guard rules.answersArrive else { return }
    let problem = jsonMembers(json(refused.problem))
    let code = problem?["code"] as? String ?? ""
    // For a copy it is unknown whether the other device sent it successfully.
    if memory.isCopied, code == "change-set-uncertain" { return }
    if lost != nil, code == "change-set-lost" { return }
    if !memory.refusals.contains(code) {
      report(
        "I3",
        "\(device): a change set is in quarantine for \(code), which the server never said: \(refused.body)")
    }
  }
}

/// I10: no stranger makes a user a member without the user's consent.
extension Oracle {
  /// A user has accepted a membership, or may have.
  func accepted(_ membership: RecordKey) { acceptances.insert(membership) }

  /// An effective membership was accepted or created by its user, or created by a member of a zone that the user shares.
  func expectConsent(_ difference: RecordDifference, _ row: Row, in view: ServerView) {
    let key = difference.key
    guard key.table == "members", row["invited_by"] == nil, let user = row["user"]?.string,
      let zone = row.zone
    else { return }
    if let old = difference.old, old["invited_by"] == nil { return }
    // The user may have accepted an invitation link as well.
    if difference.old != nil, invitations.contains(where: { $0.zone == zone }) { return }
    if acceptances.contains(key) || lost != nil || isOwn(key, row) { return }
    let makers = TextSet((creations[key] ?? []).map { self.user(of: $0) })
    // A membership by an invitation link is accepted by its user.
    if makers.isEmpty || makers.contains(user) || makers.contains("") { return }
    let others = zones(of: user, view).subtracting(server.view.zones(of: user).contains(zone) ? [] : [zone])
    if makers.contains(where: { !others.isDisjoint(with: zones(of: $0, view)) }) { return }
    report(
      "I10",
      "server: \(key) made \(user) a member of zone \(zone) by the word of \(makers.sorted().joined(separator: ", ")), a stranger"
    )
  }

  /// The zones of a user before or after the request, without public ones.
  private func zones(of user: String, _ view: ServerView) -> TextSet {
    server.view.zones(of: user).union(view.zones(of: user)).subtracting(rules.publicZones)
  }
}

/// Memberships by invitation, which no device writes.
extension Oracle {
  /// An invitation was created, or may have been.
  func invited(to zone: String, role: String, uses: Int) {
    invitations.append(Invitation(zone: zone, role: role, uses: uses))
  }

  /// Whether a membership may come from an invitation. Each invitation gives at most its number of uses.
  func comesByInvitation(_ key: RecordKey, _ row: Row) -> Bool {
    let place = invitations.firstIndex {
      $0.zone == row.zone && $0.role == row["role"]?.string && $0.uses > 0
    }
    guard key.table == "members", let place else { return false }
    // After a restore an invitation may be used once more.
    if lost == nil { invitations[place].uses -= 1 }
    return true
  }
}
