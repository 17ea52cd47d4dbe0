import HoldfastCore

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
