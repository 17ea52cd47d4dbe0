import HoldfastCore

/// The model. It receives people's edits and the states of databases, and reports violated invariants.
///
/// It does not know the merge rules, only the properties that must hold whatever the rules are.
final class Oracle {
  /// A record that a transaction deleted.
  struct Deletion {
    let transaction: Int
    let key: RecordKey
    /// Whether the server has the record in a zone that the person can't read. The deletion then has no effect.
    var isBeyondReach = false
  }

  /// The remaining uses of an invitation, and its zone.
  struct Invitation {
    let zone: String
    let role: String
    var uses: Int
  }

  /// The place where a token was written, and the transactions that wrote it.
  struct Written {
    let key: RecordKey
    let column: String
    var transactions: [Int]
  }

  /// The remembered state of a device.
  struct Device {
    var user = ""
    /// The records at the last look; nil before the first.
    var tables: Tables?
    /// The tokens of server values that the device's own edits hide.
    var bases: Set<Int> = []
    /// The transactions that were in the outbox at the last look, or were written since.
    var open: [Int] = []
    /// The known change sets in quarantine, with their transactions if known.
    var quarantined: [Int64: Int?] = [:]
    /// The tokens of the device's last edit of each column.
    var latest: [RecordKey: TextMap<Set<Int>>] = [:]
    /// The reasons of refusals that the server has reported.
    var refusals: TextSet = []
    /// Whether this device is a copy of another, or was copied. A change set may then arrive twice.
    var isCopied = false
  }

  /// The remembered state of a device whose database may be restored to it.
  struct Backup {
    let device: Device
    let states: [LocalTransaction.State]
  }

  let rules: ModelRules
  let referencesOfTable: TextMap<[ModelRules.Reference]>
  private(set) var violations: [Violation] = []
  private var known: Set<Violation> = []
  private var sets: TextMap<SentChangeSet> = [:]

  /// The number of zones that were answered with a reset.
  var resets = 0
  var transactions: [LocalTransaction] = []
  var changes: [RecordKey: [LocalChange]] = [:]
  /// The transactions that created each record.
  var creations: [RecordKey: [Int]] = [:]
  /// The transactions that created a record of this id in any table.
  var makers: TextMap<[Int]> = [:]
  var deletions: [Deletion] = []
  var written: [Int: Written] = [:]
  /// Tokens that a later transaction wrote again, or kept in a longer text: they do not identify their author.
  var repeated: Set<Int> = []
  /// Tokens of refused transactions that were replaced by other refused ones before all were written again.
  var replacedInQuarantine: Set<Int> = []
  var devices: TextMap<Device> = [:]
  var invitations: [Invitation] = []
  /// The memberships that their users have accepted.
  var acceptances: Set<RecordKey> = []
  var server = ServerMemory()
  /// Whether a device recovers a restored server in pieces, as all at once is too large a request, or a zone is still on its way to the device.
  /// Records that were written together are seen together again when it is done.
  var recoversInPieces = false
  /// The history that a restore of the server has lost; nil if it was never restored.
  var lost: LostHistory?

  init(rules: ModelRules) {
    self.rules = rules
    referencesOfTable = TextMap(grouping: rules.references, by: \.table)
  }

  /// Reports a violation, once.
  func report(_ invariant: String, _ text: String) {
    let violation = Violation(invariant: invariant, text: text)
    if known.insert(violation).inserted { violations.append(violation) }
  }

  /// Reports several violations in an order that does not depend on dictionaries.
  func report(_ invariant: String, _ texts: [String]) {
    for text in texts.sorted() { report(invariant, text) }
  }

  /// Parses the bytes of a change set, which never change.
  func changeSet(_ body: String, on device: String) -> SentChangeSet? {
    if let read = sets[body] { return read }
    guard let read = SentChangeSet(body) else {
      report("I3", "\(device): a change set is no list of operations: \(body)")
      return nil
    }
    sets[body] = read
    return read
  }

  /// The user of a transaction. One from before the sign-in belongs to the user who signs in.
  func user(of transaction: Int) -> String {
    let transaction = transactions[transaction]
    return transaction.user.isEmpty ? devices[transaction.device]?.user ?? "" : transaction.user
  }
}

/// The properties of the records in every database at any time.
extension Oracle {
  /// Checks the records of a device or of the server.
  func look(_ tables: Tables, at place: String, isServer: Bool = false) {
    expectReferences(tables, at: place, isServer: isServer)
    if !recoversInPieces { expectPairs(tables, at: place) }
  }

  /// I9: the target of every reference exists.
  private func expectReferences(_ tables: Tables, at place: String, isServer: Bool) {
    var orphans: [String] = []
    for (key, row) in tables {
      for reference in referencesOfTable[key.table] ?? [] where isServer || reference.isInZone {
        guard let id = row[reference.column]?.string else { continue }
        let target = RecordKey(table: reference.target, id: id)
        guard let parent = tables[target] else {
          orphans.append("\(place): \(key).\(reference.column) names \(target), which is not there")
          continue
        }
        // A device learns the new zone of moved records from the server.
        if isServer, reference.isInZone, parent.zone != row.zone {
          orphans.append(
            "\(place): \(key).\(reference.column) names \(target) of zone \(parent.zone ?? "none") from zone \(row.zone ?? "none")"
          )
        }
      }
    }
    report("I9", orphans)
  }

  /// I6: groups that are written together are seen together.
  private func expectPairs(_ tables: Tables, at place: String) {
    if rules.pairs.isEmpty { return }
    var groups: TextMap<(size: Int64, keys: [RecordKey])> = [:]
    for (key, row) in tables where rules.pairs.contains(key.table) {
      guard let pair = row["pair"]?.string, let size = row["size"]?.number else { continue }
      groups[pair, default: (size, [])].keys.append(key)
    }
    var torn: [String] = []
    for (pair, group) in groups where Int64(group.keys.count) != group.size {
      let keys = group.keys.sorted().map(\.description).joined(separator: ", ")
      torn.append("\(place): group \(pair) has \(group.keys.count) of \(group.size) records: \(keys)")
    }
    report("I6", torn)
  }
}

/// The effect of a schema that removes tables and columns.
extension Oracle {
  /// The server has only these columns by table, and no longer serves data of others.
  func serves(_ columns: TextMap<TextSet>) {
    server.view.tables = server.view.tables.filter { columns[$0.key.table] != nil }
    for (key, row) in server.view.tables {
      let gone = row.ownColumns.filter { columns[key.table]?.contains($0) != true }
      for column in gone { server.view.tables[key]?[column] = nil }
    }
  }

  /// The app on a device has only these columns by table. Edits of other columns wait in the outbox and are not shown.
  func shows(_ columns: TextMap<TextSet>, on device: String) {
    let latest = devices[device]?.latest ?? [:]
    devices[device]?.latest = latest.reduce(into: [:]) { shown, edited in
      guard let known = columns[edited.key.table] else { return }
      shown[edited.key] = edited.value.filter { known.contains($0.key) }
    }
  }
}

/// The actions of REST clients.
extension Oracle {
  /// The server executed a REST request, so it is confirmed immediately.
  ///
  /// - Parameters:
  ///   - token: the token that the request wrote, even if it lost against a deletion.
  ///   - key: the record, if the request named it.
  func requested(
    by device: String, user: String, before: Tables, after: Tables, token: Int?, key: RecordKey?,
    column: String
  ) {
    let first = transactions.count
    wrote(device: device, user: user, before: withoutLog(before), after: withoutLog(after))
    if let token, let key, written[token] == nil {
      var transaction = LocalTransaction(device: device, user: user)
      transaction.tokens = [token]
      transaction.operations = [OperationName(kind: "update", key: key)]
      written[token] = Written(key: key, column: column, transactions: [transactions.count])
      transactions.append(transaction)
    }
    for index in first..<transactions.count { transactions[index].state = .confirmed }
    devices[device]?.open = []
  }

  /// The server writes the conflict log itself.
  private func withoutLog(_ tables: Tables) -> Tables { tables.filter { $0.key.table != "conflicts" } }
}

/// A device at the end, when everything is sent and every answer applied.
struct FinalDevice {
  let device: String
  /// The id of the device's user; empty if it never signed in.
  let user: String
  /// The public zones that it follows.
  var follows: TextSet = []
  let view: DeviceView
}

/// The faults that SQLite finds in one database.
struct Soundness {
  /// "server", or the device.
  let place: String
  let faults: [String]
}

extension Oracle {
  /// Final check: the network works, all writes have ended, and every device has synced completely.
  ///
  /// - Returns: all violations, including earlier ones.
  func finish(devices final: [FinalDevice], server view: ServerView, soundness: [Soundness]) -> [Violation] {
    recoversInPieces = false
    look(view)
    expectPlaces(view)
    for device in final { applied(device: device.device, user: device.user, view: device.view) }
    for place in soundness {
      for fault in place.faults {
        report(fault.hasPrefix("foreign key") ? "I9" : "I2", "\(place.place): \(fault)")
      }
    }
    for device in final where !device.user.isEmpty {
      expectNothingLeft(device)
      expectAgreement(device, view)
    }
    let accounting = Accounting(self, devices: final, server: view)
    accounting.reportLost()
    accounting.reportSums()
    accounting.reportUndead()
    accounting.reportHalfRefused()
    return violations
  }

  /// I12: nothing is unsent.
  private func expectNothingLeft(_ device: FinalDevice) {
    for body in device.view.outbox { report("I12", "\(device.device): the outbox still has \(body)") }
    if device.view.recovered > 0 {
      report("I12", "\(device.device): \(device.view.recovered) records wait to be recovered")
    }
    for edit in device.view.edits {
      report(
        "I12",
        "\(device.device): an edit is left: \(edit.kind) of \(edit.key).\(edit.column), base \(edit.base)")
    }
  }

  /// I7, I10: the device has exactly the records that its user may read, as on the server.
  private func expectAgreement(_ device: FinalDevice, _ server: ServerView) {
    let member = server.zones(of: device.user)
    let zones = member.union(device.follows.intersection(rules.publicZones))
    let expected = server.tables.filter { zones.contains($0.value.zone ?? "") }
    for difference in RecordDifference.between(expected, device.view.tables) {
      let key = difference.key
      switch (difference.old, difference.new) {
      case (nil, let here?):
        let zone = here.zone ?? "none"
        if zones.contains(zone) {
          report("I7", "\(device.device): has \(key) of zone \(zone), which the server has not there")
        } else {
          report(
            rules.publicZones.contains(zone) ? "I7" : "I10",
            "\(device.device): has \(key) of zone \(zone), which \(device.user) may not read or does not follow"
          )
        }
      case (let there?, nil):
        report("I7", "\(device.device): lacks \(key) of zone \(there.zone ?? "none"), rev \(there.rev)")
      case (let there?, let here?):
        let columns = there.keys.union(here.keys).sorted().filter { there[$0] != here[$0] }
          .map { "\($0) is \(text(here[$0])), on the server \(text(there[$0]))" }
        report("I7", "\(device.device): \(key): \(columns.joined(separator: "; "))")
      case (nil, nil): continue
      }
    }
  }
}
