import HoldfastCore

/// The zones of a transaction, and the roles in them. The ledger counts seqs and contents in memory, and writes them before the commit.
package final class ZoneLedger {
  private struct Zone {
    var seq: Int64
    let isPublic: Bool
    var counts: ZoneCounts
    /// The database to which the zone has moved; nil while it is here.
    var leftFor: String?
    /// The zone's seq in the database; nil for a zone that the transaction creates.
    let stored: Int64?
    var isDirty = false
    /// The device that made all changes to the zone in this transaction; nil for several devices.
    var author: Int64?
  }

  /// A zone that was asked for; nil for one that is not there.
  private final class Slot {
    let name: String
    var zone: Zone?
    /// Whether the part can undo what it does to it.
    var isNoted = false

    init(_ name: String) { self.name = name }
  }

  private let table: any ZoneTable
  /// The zones that are known, and those among them that are there locked.
  private var slots: TextMap<Slot> = [:]
  /// The zone that was asked for last: most operations are in the zone of the one before.
  private var last: Slot?
  /// The zones that the transaction creates, and how many of them are already written.
  private var made: [String] = []
  private var written = 0
  /// The stored roles.
  private var known: [ZoneUser: Role?] = [:]
  /// The roles that the transaction changes.
  private(set) var changedRoles = ChangedRoles()
  /// A role that was asked for.
  private final class Known {
    let zone: String
    let user: String
    let role: Role?

    init(_ member: ZoneUser, _ role: Role?) { (zone, user, self.role) = (member.zone, member.user, role) }
  }

  /// The role that was asked for last; nil when roles have changed since.
  private var recent: Known?
  /// What to take back when the part is undone.
  private var journal: [(slot: Slot, before: Zone?)] = []
  private var madeBefore = 0
  /// The number of bytes that the change set adds to the conflict log of each zone.
  private var logged: TextMap<Int64> = [:]
  private var changedUsers: TextSet = []
  /// The device whose change set is applied; 0 for the server itself.
  var author: Int64 = 0
  /// The scope of the author's service token, if the author uses one.
  var scope: TokenScope?
  /// Whether zones that have moved to another database may change: what is left of them here is purged and erased.
  package var changesLeftZones = false

  init(_ table: any ZoneTable) { self.table = table }

  /// Resets the ledger for a new transaction, with the fetched data.
  func begin(_ fetched: Fetched) {
    slots.removeAll(keepingCapacity: true)
    last = nil
    for (name, locked) in fetched.zones { slot(of: name).zone = locked.map(Self.zone) }
    (known, recent) = (fetched.roles, nil)
    changedRoles.removeAll()
    made.removeAll(keepingCapacity: true)
    written = 0
    changedUsers.removeAll(keepingCapacity: true)
    changesLeftZones = false
    beginPart()
  }

  private static func zone(_ locked: LockedZone) -> Zone {
    Zone(
      seq: locked.seq, isPublic: locked.isPublic, counts: locked.counts, leftFor: locked.leftFor,
      stored: locked.seq)
  }

  // MARK: Parts

  /// Begins a change set.
  func beginChangeSet(by device: Int64) {
    author = device
    logged.removeAll(keepingCapacity: true)
  }

  /// The zones that the part has changed so far.
  var zonesInPart: [String] { journal.map(\.slot.name) }

  func beginPart() {
    for note in journal { note.slot.isNoted = false }
    journal.removeAll(keepingCapacity: true)
    changedRoles.beginPart()
    madeBefore = made.count
  }

  func undoPart() {
    for (slot, before) in journal { slot.zone = before }
    recent = nil
    changedRoles.undoPart()
    made.removeLast(made.count - madeBefore)
    written = min(written, made.count)
    beginPart()
  }

  /// The notifications of the transaction, for the event streams.
  package var changes: ZoneChanges {
    var changes = ZoneChanges()
    for slot in slots.values {
      if let zone = slot.zone, zone.isDirty { changes.add(zone: slot.name, by: zone.author) }
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
    delta.movedZones = slots.values.compactMap { slot in
      guard let zone = slot.zone, zone.isDirty else { return nil }
      return MovedZone(zone: slot.name, before: zone.stored ?? 0, seq: zone.seq, counts: zone.counts)
    }.sorted { $0.zone < $1.zone }
    delta.roles = changedRoles.all
  }

  // MARK: Zones

  /// Assigns the next seq of an existing zone.
  func next(_ name: String) throws -> Int64 {
    // The database refuses a seq beyond its range.
    try change(name) {
      $0.seq &+= 1
      return $0.seq
    }
  }

  /// Sets the seq of a zone that arrives from another database.
  package func setSeq(_ seq: Int64, of name: String) throws { try change(name) { $0.seq = seq } }

  /// Adds to the counts of a zone.
  ///
  /// - Parameter isLog: whether the growth is in the conflict log.
  func count(_ growth: ZoneCounts, in name: String, isLog: Bool) throws {
    if isLog { logged[name, default: 0] += growth.bytes }
    try change(name) { $0.counts += growth }
  }

  private func change<Result>(_ name: String, _ body: (inout Zone) -> Result) throws -> Result {
    let slot = try knownSlot(of: name)
    guard var zone = slot.zone else {
      throw ServerError(.damaged, "A record is in a zone that is not there.")
    }
    if let database = zone.leftFor, !changesLeftZones { throw Problem(moved: name, to: database) }
    note(slot)
    let result = body(&zone)
    zone.author = zone.isDirty && zone.author != author ? nil : author
    zone.isDirty = true
    slot.zone = zone
    return result
  }

  private func note(_ slot: Slot) {
    if slot.isNoted { return }
    slot.isNoted = true
    journal.append((slot, slot.zone))
  }

  /// Requires that every zone that the change set enlarges stays within its limits.
  ///
  /// - Throws: `Problem.zoneFull`.
  func requireRoom(_ limits: ZoneLimits) throws {
    for (slot, before) in journal {
      guard let new = slot.zone?.counts else { continue }
      let old = before?.counts ?? ZoneCounts()
      if let most = limits.records, new.records > most, new.records > old.records {
        throw Problem(.zoneFull, "A zone holds at most \(most) records.")
      }
      if let most = limits.bytes, new.bytes > most, growth(of: slot, since: before) > 0 {
        throw Problem(.zoneFull, "A zone holds at most \(most) bytes.")
      }
    }
  }

  /// By how many bytes the change set enlarges the zones that a user owns.
  func growth(ofZonesOf user: String) throws -> Int64 {
    var sum: Int64 = 0
    for (slot, before) in journal {
      let growth = growth(of: slot, since: before)
      guard growth > 0, let zone = slot.zone, !zone.isPublic else { continue }
      if try memberRole(of: user, in: slot.name) == .owner { sum += growth }
    }
    return sum
  }

  /// By how many bytes the change set enlarges a zone. A change that deletes or shortens records enlarges none, even if it adds to the conflict
  /// log.
  private func growth(of slot: Slot, since before: Zone?) -> Int64 {
    let growth = (slot.zone?.counts.bytes ?? 0) - (before?.counts.bytes ?? 0)
    return growth >= logged[slot.name] ?? 0 ? max(0, growth) : 0
  }

  /// The last seq of a zone; 0 for an unknown zone.
  package func seq(of name: String) throws -> Int64 { try zone(name)?.seq ?? 0 }

  /// The last stored seq of a zone; 0 for an unknown zone.
  func storedSeq(of name: String) throws -> Int64 { try zone(name)?.stored ?? 0 }

  /// Whether a zone exists. Locks the zone: no other transaction changes its records until this one ends.
  package func exists(_ name: String) throws -> Bool { try zone(name) != nil }

  /// Whether the zone is visible to every user.
  func isPublic(_ name: String) throws -> Bool { try zone(name)?.isPublic ?? false }

  /// The database to which a zone has moved; nil for others: docs/MOVING.md.
  package func leftFor(_ name: String) throws -> String? { try zone(name)?.leftFor }

  /// Stores that a zone has moved to another database, or is here.
  ///
  /// - Parameters:
  ///   - number: that of the move.
  ///   - purged: the zone's purge horizon in the other database.
  ///   - state: what is known of the move.
  package func setMoved(
    _ name: String, to database: String?, number: Int64, purged: Int64 = 0, state: ZonePlace.State = .going
  ) throws {
    try table.setMoved(name, to: database, number: number, purged: purged, state: state)
    let slot = try knownSlot(of: name)
    note(slot)
    slot.zone?.leftFor = database
  }

  /// Whether the transaction creates the zone.
  func isMade(_ name: String) -> Bool { known(name).map { $0.stored == nil } ?? false }

  /// Creates a zone.
  ///
  /// - Throws: `Problem.tokenLimited` if the author's token is limited to named zones.
  package func create(_ name: String) throws {
    if let scope, scope.zones != nil {
      throw Problem(.tokenLimited, "The record would make a zone: that takes a token for all zones.")
    }
    let slot = slot(of: name)
    note(slot)
    made.append(name)
    slot.zone = Zone(seq: 0, isPublic: false, counts: ZoneCounts(), leftFor: nil, stored: nil)
  }

  /// Whether the transaction holds the zone's lock.
  func isLocked(_ name: String) -> Bool { known(name) != nil }

  /// Locks a zone, which another transaction may have created since the last look-up.
  func lock(_ name: String) throws {
    let locked = try table.lock(name).map(Self.zone)
    slot(of: name).zone = locked
  }

  private func zone(_ name: String) throws -> Zone? { try knownSlot(of: name).zone }

  /// A zone that was asked for before; nil for others, and for one that is not there.
  private func known(_ name: String) -> Zone? { find(name)?.zone }

  private func find(_ name: String) -> Slot? {
    if let last, last.name == name { return last }
    guard let slot = slots[name] else { return nil }
    last = slot
    return slot
  }

  /// The slot of a zone, made where there is none.
  private func slot(of name: String) -> Slot {
    if let known = find(name) { return known }
    let slot = Slot(name)
    slots[name] = slot
    last = slot
    return slot
  }

  /// The slot of a zone, which is locked if it is there.
  private func knownSlot(of name: String) throws -> Slot {
    if let known = find(name) { return known }
    try lock(name)
    return slot(of: name)
  }

  // MARK: Roles

  /// A user's role in a zone; nil without access, and for an unknown zone.
  ///
  /// - Throws: `Problem.zoneMoved` for a member of a zone that has moved to another database.
  func role(of user: String, in zone: String) throws -> Role? {
    if let role = try roleHere(of: user, in: zone) { return role }
    guard let database = try leftFor(zone) else { return nil }
    let wasMember = try scope.map { $0.has(zone: zone) } ?? (table.ownMember(user, of: zone) != nil)
    if wasMember { throw Problem(moved: zone, to: database) }
    return nil
  }

  /// The same, with nil for the members of a zone that has moved.
  func roleHere(of user: String, in zone: String) throws -> Role? {
    // For a service token, the scope decides instead of memberships.
    if let scope {
      return try scope.has(zone: zone) && exists(zone) && leftFor(zone) == nil ? scope.role : nil
    }
    return try memberRole(of: user, in: zone) ?? (isPublic(zone) ? .viewer : nil)
  }

  /// A user's role in a zone, by an own membership or by groups.
  func memberRole(of user: String, in zone: String) throws -> Role? {
    if let recent, recent.zone == zone, recent.user == user { return recent.role }
    let member = ZoneUser(zone: zone, user: user)
    let role = try changedRoles[member] ?? known[member] ?? storedRole(of: member)
    recent = Known(member, role)
    return role
  }

  private func storedRole(of member: ZoneUser) throws -> Role? {
    if isMade(member.zone) { return nil }
    let role = try table.role(of: member.user, in: member.zone)
    known[member] = .some(role)
    return role
  }

  /// The roles of all users with access to the zone.
  func roles(in zone: String) throws -> TextMap<Role> {
    var roles = try isMade(zone) ? [:] : table.roles(in: zone)
    for (user, role) in changedRoles.roles(in: zone) { roles[user] = role }
    return roles
  }

  /// Stores a user's effective role in a zone, as its members grant it.
  ///
  /// - Parameter before: the role so far.
  func setRole(_ role: Role?, over before: Role?, of user: String, in zone: String) {
    changedRoles.set(role, over: before, of: ZoneUser(zone: zone, user: user), isMade: isMade(zone))
    recent = nil
    changedMember(user)
  }

  /// Records that a membership of a user was written.
  func changedMember(_ user: String?) { if let user { changedUsers.insert(user) } }
}
