import HoldfastCore

/// The zones of a transaction, and the roles in them. The ledger counts seqs and contents in memory, and writes them before the commit.
package final class ZoneLedger {
  private struct Zone {
    var seq: Int64
    let isPublic: Bool
    var counts: ZoneCounts
    /// The zone's seq in the database; nil for a zone that the transaction creates.
    let stored: Int64?
    var isDirty = false
    /// The device that made all changes to the zone in this transaction; nil for several devices.
    var author: Int64?
  }

  private let table: any ZoneTable
  /// The locked zones; nil for unknown zones.
  private var zones: TextMap<Zone?> = [:]
  /// The zones that the transaction creates, and how many of them are already written.
  private var made: [String] = []
  private var written = 0
  /// The stored roles.
  private var known: [ZoneUser: Role?] = [:]
  /// The roles that the transaction changes.
  private var changed: [ZoneUser: Role?] = [:]
  /// The previous values, for undoing the part; nil where there was none.
  private var journal: [(name: String, before: Zone??)] = []
  private var roleJournal: [(member: ZoneUser, before: Role??)] = []
  private var madeBefore = 0
  /// The number of bytes that the change set adds to the conflict log of each zone.
  private var logged: TextMap<Int64> = [:]
  private var changedUsers: TextSet = []
  /// The device whose change set is applied; 0 for the server itself.
  var author: Int64 = 0
  /// The scope of the author's service token, if the author uses one.
  var scope: TokenScope?

  init(_ table: any ZoneTable) { self.table = table }

  /// Resets the ledger for a new transaction, with the fetched data.
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

  /// Begins a change set.
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

  /// The notifications of the transaction, for the event streams.
  package var changes: ZoneChanges {
    var changes = ZoneChanges()
    for (name, zone) in zones {
      if let zone, zone.isDirty { changes.add(zone: name, by: zone.author) }
    }
    changes.users = changedUsers
    return changes
  }

  /// The created zones that are not written yet. Marks them as written.
  func takeMade() -> [String] {
    defer { written = made.count }
    return Array(made[written...])
  }

  /// Adds the changed zones and roles for the write before the commit.
  func fill(_ delta: inout Delta) {
    delta.movedZones = zones.compactMap { name, zone in
      guard let zone, zone.isDirty else { return nil }
      return MovedZone(zone: name, seq: zone.seq, counts: zone.counts)
    }.sorted { $0.zone < $1.zone }
    delta.roles = changed.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  // MARK: Zones

  /// Assigns the next seq of an existing zone.
  func next(_ name: String) throws -> Int64 {
    // The database refuses a seq beyond its range.
    try change(name) { $0.seq &+= 1 }.seq
  }

  /// Adds to the counts of a zone.
  ///
  /// - Parameter isLog: whether the growth is in the conflict log.
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

  /// Requires that every zone that the change set enlarges stays within its limits.
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
      // A change that deletes or shortens records passes, even if it adds to the conflict log.
      if let most = limits.bytes, new.bytes > most, growth > 0, growth >= logged[name] ?? 0 {
        throw Problem(.zoneFull, "A zone holds at most \(most) bytes.")
      }
    }
  }

  /// The last seq of a zone; 0 for an unknown zone.
  package func seq(of name: String) throws -> Int64 { try zone(name)?.seq ?? 0 }

  /// The last stored seq of a zone; 0 for an unknown zone.
  func storedSeq(of name: String) throws -> Int64 { try zone(name)?.stored ?? 0 }

  /// Whether a zone exists. Locks the zone: no other transaction changes its records until this one ends.
  package func exists(_ name: String) throws -> Bool { try zone(name) != nil }

  /// Whether the zone is visible to every user.
  func isPublic(_ name: String) throws -> Bool { try zone(name)?.isPublic ?? false }

  /// Whether the transaction creates the zone.
  func isMade(_ name: String) -> Bool { (zones[name] ?? nil).map { $0.stored == nil } ?? false }

  /// Creates a zone.
  ///
  /// - Throws: `Problem.tokenLimited` if the author's token is limited to named zones.
  package func create(_ name: String) throws {
    if let scope, scope.zones != nil {
      throw Problem(.tokenLimited, "The record would make a zone: that takes a token for all zones.")
    }
    journal.append((name, zones[name]))
    made.append(name)
    zones[name] = .some(Zone(seq: 0, isPublic: false, counts: ZoneCounts(), stored: nil))
  }

  /// Whether the transaction holds the zone's lock.
  func isLocked(_ name: String) -> Bool { (zones[name] ?? nil) != nil }

  /// Locks a zone, which another transaction may have created since the last look-up.
  func lock(_ name: String) throws {
    zones[name] = .some(try table.lock(name).map(Self.zone))
  }

  private func zone(_ name: String) throws -> Zone? {
    if zones[name] == nil { try lock(name) }
    return zones[name] ?? nil
  }

  // MARK: Roles

  /// A user's role in a zone; nil without access, and for an unknown zone.
  func role(of user: String, in zone: String) throws -> Role? {
    // For a service token, the scope decides instead of memberships.
    if let scope { return try scope.has(zone: zone) && exists(zone) ? scope.role : nil }
    return try memberRole(of: user, in: zone) ?? (isPublic(zone) ? .viewer : nil)
  }

  /// A user's role in a zone, by an own membership or by groups.
  func memberRole(of user: String, in zone: String) throws -> Role? {
    let member = ZoneUser(zone: zone, user: user)
    if let role = changed[member] ?? known[member] { return role }
    if isMade(zone) { return nil }
    let role = try table.role(of: user, in: zone)
    known[member] = .some(role)
    return role
  }

  /// The roles of all users with access to the zone.
  func roles(in zone: String) throws -> TextMap<Role> {
    var roles = try isMade(zone) ? [:] : table.roles(in: zone)
    for (member, role) in changed where member.zone == zone { roles[member.user] = role }
    return roles
  }

  /// Stores a user's effective role in a zone, as its members grant it.
  func setRole(_ role: Role?, of user: String, in zone: String) {
    let member = ZoneUser(zone: zone, user: user)
    roleJournal.append((member, changed[member]))
    changed[member] = .some(role)
    changedMember(user)
  }

  /// Records that a membership of a user was written.
  func changedMember(_ user: String?) { if let user { changedUsers.insert(user) } }

  /// The zones in which the transaction changes a role of any of the users.
  func changedZones(of users: String...) -> [String] {
    TextSet(changed.keys.lazy.filter { users.contains($0.user) }.map(\.zone)).sorted()
  }
}
