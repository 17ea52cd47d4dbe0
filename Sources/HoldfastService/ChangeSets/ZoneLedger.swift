package import HoldfastCore

/// The zones that a batch touches: their seq and what they hold, counted in memory and written once before the commit, and the roles
/// in them. Lives as long as the batch's transaction.
package final class ZoneLedger {
  private struct Zone {
    var seq: Int64
    let isPublic: Bool
    var counts: ZoneCounts
    var isDirty = false
    /// The device that alone changed it in this batch.
    var author: Int64?
  }

  private struct Membership: Hashable {
    let zone: String
    let user: String
  }

  private let table: any ZoneTable
  private var zones: TextMap<Zone> = [:]
  private var roles: [Membership: Role?] = [:]
  /// What to take back when the change set is rolled back: a zone's state before, nil when it was not there.
  private var journal: [(name: String, before: Zone?)] = []
  /// By how many bytes the change set makes the logs of zones longer.
  private var logged: TextMap<Int64> = [:]
  private var changedUsers: TextSet = []
  /// The device whose change set is applied; 0 is the server itself.
  var author: Int64 = 0
  /// The scope of the service token that the author writes with, if it is one.
  var scope: TokenScope?

  init(_ table: any ZoneTable) { self.table = table }

  /// Clears everything: a new transaction begins.
  package func beginBatch() {
    zones.removeAll(keepingCapacity: true)
    roles.removeAll(keepingCapacity: true)
    journal.removeAll(keepingCapacity: true)
    changedUsers.removeAll(keepingCapacity: true)
  }

  /// A change set begins.
  func beginChangeSet(by device: Int64) {
    author = device
    journal.removeAll(keepingCapacity: true)
    logged.removeAll(keepingCapacity: true)
  }

  /// What the batch changes, for the streams of devices.
  package var changes: ZoneChanges {
    var changes = ZoneChanges()
    for (name, zone) in zones where zone.isDirty { changes.add(zone: name, by: zone.author) }
    changes.users = changedUsers
    return changes
  }

  /// The change set's savepoint was rolled back.
  func rollBackChangeSet() {
    for (name, before) in journal.reversed() { zones[name] = before }
    journal.removeAll(keepingCapacity: true)
    roles.removeAll(keepingCapacity: true)
  }

  /// Writes what was given out; right before the commit.
  package func flush(at clock: Stamp) throws {
    for (name, zone) in zones where zone.isDirty {
      try table.set(zone.seq, zone.counts, of: name, clock: clock)
    }
  }

  /// Gives the next seq of a zone that is there.
  func next(_ name: String) throws -> Int64 {
    // What is too great for the database is refused by it.
    try change(name) { $0.seq &+= 1 }.seq
  }

  /// Counts what a zone holds more.
  ///
  /// - Parameter isLog: whether it is in the log of conflicts.
  func count(_ growth: ZoneCounts, in name: String, isLog: Bool) throws {
    if isLog { logged[name, default: 0] += growth.bytes }
    _ = try change(name) { $0.counts += growth }
  }

  private func change(_ name: String, _ body: (inout Zone) -> Void) throws -> Zone {
    guard var zone = try zone(name) else {
      throw ServerError(.damaged, "A record is in a zone that is not there.")
    }
    journal.append((name, zone))
    body(&zone)
    zone.author = zone.isDirty && zone.author != author ? nil : author
    zone.isDirty = true
    zones[name] = zone
    return zone
  }

  /// Requires that no zone that the change set makes larger holds more than it may.
  ///
  /// - Throws: `Problem.zoneFull`.
  func requireRoom(_ limits: ZoneLimits) throws {
    var seen: TextSet = []
    for (name, before) in journal where seen.insert(name).inserted {
      guard let new = zones[name]?.counts else { continue }
      let old = before?.counts ?? ZoneCounts()
      if let most = limits.records, new.records > most, new.records > old.records {
        throw Problem(.zoneFull, "A zone holds at most \(most) records.")
      }
      let growth = new.bytes - old.bytes
      // What is deleted or shortened is, whatever goes to the log by it.
      if let most = limits.bytes, new.bytes > most, growth > 0, growth >= logged[name] ?? 0 {
        throw Problem(.zoneFull, "A zone holds at most \(most) bytes.")
      }
    }
  }

  /// The last seq of a zone that is there.
  func seq(of name: String) throws -> Int64 { try zone(name)?.seq ?? 0 }

  /// Whether there is a zone of this name.
  package func exists(_ name: String) throws -> Bool { try zone(name) != nil }

  /// Whether everybody may read the zone.
  func isPublic(_ name: String) throws -> Bool { try zone(name)?.isPublic ?? false }

  /// Makes a zone.
  ///
  /// - Throws: `Problem.tokenLimited` when the author's token names its zones.
  package func create(_ name: String) throws {
    if let scope, scope.zones != nil {
      throw Problem(.tokenLimited, "The record would make a zone: that takes a token for all zones.")
    }
    try table.add(name)
    journal.append((name, nil))
    zones[name] = Zone(seq: 0, isPublic: false, counts: ZoneCounts())
  }

  /// What a user may do in a zone; nil for a stranger, and when there is no such zone.
  func role(of user: String, in zone: String) throws -> Role? {
    // A service token's own word takes the place of memberships.
    if let scope { return try scope.has(zone: zone) && exists(zone) ? scope.role : nil }
    let key = Membership(zone: zone, user: user)
    if let known = roles[key] { return known }
    let role = try table.role(of: user, in: zone) ?? (isPublic(zone) ? .viewer : nil)
    roles[key] = .some(role)
    return role
  }

  /// A membership of a user was written: roles are read again.
  func changedMember(_ user: String?) {
    roles.removeAll(keepingCapacity: true)
    if let user { changedUsers.insert(user) }
  }

  private func zone(_ name: String) throws -> Zone? {
    if let known = zones[name] { return known }
    guard let found = try table.zone(name) else { return nil }
    let zone = Zone(seq: found.seq, isPublic: found.isPublic, counts: found.counts)
    zones[name] = zone
    return zone
  }
}
