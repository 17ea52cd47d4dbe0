import HoldfastCore

/// What the schema and the members of a zone forbid.
extension Oracle {
  /// I10: a token gets into a record by one who may write in its zone, before or after the request.
  func expectWriter(of token: Int, _ difference: RecordDifference, _ row: Row, in view: ServerView) {
    guard let zone = row.zone, let known = written[token] else { return }
    // Who moved a record is not who wrote it, nor is who recovers it, or that it was moved.
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

  /// I7: a unique value is that of one record in its zone.
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

  /// I7: no two records of a list have one place in it.
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

  /// The server told a device that it refused something, and why.
  func refused(device: String, code: String) { devices[device, default: Device()].refusals.insert(code) }

  /// I3: what is in quarantine was refused, for the reason that stands there.
  func expectRefusal(_ refused: DeviceView.Quarantined, _ memory: Device, on device: String) {
    guard rules.hearsAnswers else { return }
    let problem = jsonMembers(json(refused.problem))
    let code = problem?["code"] as? String ?? ""
    // Of a copy: nobody knows whether the other device has brought it through.
    if memory.isCopied, code == "change-set-uncertain" { return }
    if lost != nil, code == "change-set-lost" { return }
    if !memory.refusals.contains(code) {
      report(
        "I3",
        "\(device): a change set is in quarantine for \(code), which the server never said: \(refused.body)")
    }
  }
}
