import HoldfastCore

/// The zones that a transaction touches: their seq and what they hold, counted in memory and written before the commit, and the roles in them.
package final class ZoneLedger {
  private struct Zone {
    var seq: Int64
    let isPublic: Bool
    var counts: ZoneCounts
    /// Its seq in the database; nil of one that the transaction makes.
    let stored: Int64?
    var isDirty = false
    /// The device that alone changed it in this transaction.
    var author: Int64?
  }

  private let table: any ZoneTable
  /// The zones that are known, and locked; nil for those that are not there.
  private var zones: TextMap<Zone?> = [:]
  /// Those that the transaction makes, and how many of them are written already.
  private var made: [String] = []
  private var written = 0
  /// The roles in the database.
  private var known: [ZoneUser: Role?] = [:]
  /// Those that the transaction changes.
  private var changed: [ZoneUser: Role?] = [:]
  /// What to take back when the part is undone: what was before, nil where nothing was.
  private var journal: [(name: String, before: Zone??)] = []
  private var roleJournal: [(member: ZoneUser, before: Role??)] = []
  private var madeBefore = 0
  /// By how many bytes the change set makes the logs of zones longer.
  private var logged: TextMap<Int64> = [:]
  private var changedUsers: TextSet = []
  /// The device whose change set is applied; 0 is the server itself.
  var author: Int64 = 0
  /// The scope of the service token that the author writes with, if it is one.
  var scope: TokenScope?

  init(_ table: any ZoneTable) { self.table = table }

  /// A transaction begins, with what was fetched for it.
  func begin(_ fetched: Fetched) {
    zones = fetched.zones.mapValues { $0.map(Self.zone) }
    known = fetched.roles
    changed.removeAll(keepingCapacity: true)
    made.removeAll(keepingCapacity: true)
    written = 0
    changedUsers.removeAll(keepingCapacity: true)
    beginPart()
  }

  private static func zone(_ locked: LockedZone) -> Zone {
    Zone(seq: locked.seq, isPublic: locked.isPublic, counts: locked.counts, stored: locked.seq)
  }

  // MARK: Parts

  /// A change set begins.
  func beginChangeSet(by device: Int64) {
    author = device
    logged.removeAll(keepingCapacity: true)
  }

  func beginPart() {
    journal.removeAll(keepingCapacity: true)
    roleJournal.removeAll(keepingCapacity: true)
    madeBefore = made.count
  }

  func undoPart() {
    for (name, before) in journal.reversed() { zones[name] = before }
    for (member, before) in roleJournal.reversed() { changed[member] = before }
    made.removeLast(made.count - madeBefore)
    written = min(written, made.count)
    beginPart()
  }

  /// What the transaction changes, for the streams of devices.
  package var changes: ZoneChanges {
    var changes = ZoneChanges()
    for (name, zone) in zones {
      if let zone, zone.isDirty { changes.add(zone: name, by: zone.author) }
    }
    changes.users = changedUsers
    return changes
  }

  /// The zones that are made and not written yet; they are from then on.
  func takeMade() -> [String] {
    defer { written = made.count }
    return Array(made[written...])
  }

  /// The zones that moved, and the roles, as they are written right before the commit.
  func fill(_ delta: inout Delta) {
    delta.movedZones = zones.compactMap { name, zone in
      guard let zone, zone.isDirty else { return nil }
      return MovedZone(zone: name, seq: zone.seq, counts: zone.counts)
    }.sorted { $0.zone < $1.zone }
    delta.roles = changed.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  // MARK: Zones

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
    journal.append((name, .some(zone)))
    body(&zone)
    zone.author = zone.isDirty && zone.author != author ? nil : author
    zone.isDirty = true
    zones[name] = .some(zone)
    return zone
  }

  /// Requires that no zone that the change set makes larger holds more than it may.
  ///
  /// - Throws: `Problem.zoneFull`.
  func requireRoom(_ limits: ZoneLimits) throws {
    var seen: TextSet = []
    for (name, before) in journal where seen.insert(name).inserted {
      guard let new = (zones[name] ?? nil)?.counts else { continue }
      let old = (before ?? nil)?.counts ?? ZoneCounts()
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
  package func seq(of name: String) throws -> Int64 { try zone(name)?.seq ?? 0 }

  /// The last seq that a zone has in the database; 0 when it is not there.
  func storedSeq(of name: String) throws -> Int64 { try zone(name)?.stored ?? 0 }

  /// Whether there is a zone of this name. From here to the end of the transaction nobody else changes a record of it.
  package func exists(_ name: String) throws -> Bool { try zone(name) != nil }

  /// Whether everybody may read the zone.
  func isPublic(_ name: String) throws -> Bool { try zone(name)?.isPublic ?? false }

  /// Whether the transaction makes the zone.
  func isMade(_ name: String) -> Bool { (zones[name] ?? nil).map { $0.stored == nil } ?? false }

  /// Makes a zone.
  ///
  /// - Throws: `Problem.tokenLimited` when the author's token names its zones.
  package func create(_ name: String) throws {
    if let scope, scope.zones != nil {
      throw Problem(.tokenLimited, "The record would make a zone: that takes a token for all zones.")
    }
    journal.append((name, zones[name]))
    made.append(name)
    zones[name] = .some(Zone(seq: 0, isPublic: false, counts: ZoneCounts(), stored: nil))
  }

  /// Whether the transaction has the zone's lock.
  func isLocked(_ name: String) -> Bool { (zones[name] ?? nil) != nil }

  /// Locks a zone, which may have been made since it was looked for last.
  func lock(_ name: String) throws {
    zones[name] = .some(try table.lock(name).map(Self.zone))
  }

  private func zone(_ name: String) throws -> Zone? {
    if zones[name] == nil { try lock(name) }
    return zones[name] ?? nil
  }

  // MARK: Roles

  /// What a user may do in a zone; nil for a stranger, and when there is no such zone.
  func role(of user: String, in zone: String) throws -> Role? {
    // A service token's own word takes the place of memberships.
    if let scope { return try scope.has(zone: zone) && exists(zone) ? scope.role : nil }
    return try memberRole(of: user, in: zone) ?? (isPublic(zone) ? .viewer : nil)
  }

  /// What a user may do in a zone as its own member or by its groups.
  func memberRole(of user: String, in zone: String) throws -> Role? {
    let member = ZoneUser(zone: zone, user: user)
    if let role = changed[member] ?? known[member] { return role }
    if isMade(zone) { return nil }
    let role = try table.role(of: user, in: zone)
    known[member] = .some(role)
    return role
  }

  /// The same of all users who may something.
  func roles(in zone: String) throws -> TextMap<Role> {
    var roles = try isMade(zone) ? [:] : table.roles(in: zone)
    for (member, role) in changed where member.zone == zone { roles[member.user] = role }
    return roles
  }

  /// Writes what a user may do in a zone: what its members say.
  func setRole(_ role: Role?, of user: String, in zone: String) {
    let member = ZoneUser(zone: zone, user: user)
    roleJournal.append((member, changed[member]))
    changed[member] = .some(role)
    changedMember(user)
  }

  /// A membership of a user was written.
  func changedMember(_ user: String?) { if let user { changedUsers.insert(user) } }

  /// The zones in which the transaction changes the role of one of some users.
  func changedZones(of users: String...) -> [String] {
    TextSet(changed.keys.lazy.filter { users.contains($0.user) }.map(\.zone)).sorted()
  }
}
