import HoldfastCore

/// The consents of users, including the transaction's changes: docs/SHARING.md, sections 2 and 3.
package final class ConsentLedger {
  private unowned let transaction: Transaction
  private var table: any ConsentTable { transaction.store.consents }
  private var zones: ZoneLedger { transaction.zones }
  /// The users who leave or return to zones in this transaction, by zone.
  private var changed: TextMap<TextMap<Bool>> = [:]
  private var journal: [(member: ZoneUser, before: Bool?)] = []
  /// The stored number of zones of users, each counted once.
  private var counted: TextMap<Int> = [:]
  /// The numbers of ended zones of users, as long as they hold.
  private var ended: TextMap<Int> = [:]
  /// What the database has said of zones that two users share, by one user and the other.
  private var shared: TextMap<TextMap<SharedZone>> = [:]

  /// A zone that two users share in the database.
  private enum SharedZone {
    case zone(String)
    /// There is none besides these.
    case noneBesides(TextSet)
  }

  init(_ transaction: Transaction) { self.transaction = transaction }

  /// Resets the ledger for a new transaction.
  func begin() {
    changed = [:]
    counted = [:]
    ended = [:]
    shared = [:]
    beginPart()
  }

  func beginPart() { journal.removeAll() }

  func undoPart() {
    for (member, before) in journal.reversed() { changed[member.zone]?[member.user] = before }
    ended = [:]
    beginPart()
  }

  /// The users who leave or return to zones, for the write before the commit.
  var left: [(member: ZoneUser, hasLeft: Bool)] {
    changed.flatMap { zone, users in
      users.map { (member: ZoneUser(zone: zone, user: $0.key), hasLeft: $0.value) }
    }.sorted { $0.member < $1.member }
  }

  /// Whether a user has left a zone. Groups no longer grant that user access to it.
  func hasLeft(_ user: String, _ zone: String) throws -> Bool {
    try changed[zone]?[user] ?? table.hasLeft(user, zone)
  }

  /// The users who have left a zone.
  func leavers(of zone: String) throws -> TextSet {
    var users = try table.leavers(of: zone)
    for (user, hasLeft) in changed[zone] ?? [:] {
      if hasLeft { users.insert(user) } else { users.remove(user) }
    }
    return users
  }

  /// Records that a user leaves a zone, or returns to it.
  func setLeft(_ hasLeft: Bool, _ user: String, _ zone: String) {
    journal.append((ZoneUser(zone: zone, user: user), changed[zone]?[user]))
    changed[zone, default: [:]][user] = hasLeft
  }

  /// Whether two users share a zone that is not public.
  func share(_ user: String, _ other: String, _ work: inout ChangeSetWork) throws -> Bool {
    let roles = zones.changedRoles
    let (made, others) = (roles.madeZones(of: user), roles.madeZones(of: other))
    let (few, many) = made.count < others.count ? (made, others) : (others, made)
    for zone in few where many.contains(zone) { if try areIn(zone, user, other) { return true } }
    let (own, their) = (roles.existingZones(of: user), roles.existingZones(of: other))
    for zone in own { if try areIn(zone, user, other) { return true } }
    for zone in their { if try areIn(zone, user, other) { return true } }
    work.addCompared(zones: own.count + their.count)
    return try areShared(user, other, besides: own.union(their), &work)
  }

  /// Whether the database has a zone that two users share, besides those in which the transaction changes their roles. It does not contain
  /// these changes yet, so what it has said of the others holds for the whole transaction.
  private func areShared(
    _ user: String, _ other: String, besides changed: TextSet, _ work: inout ChangeSetWork
  ) throws -> Bool {
    switch shared[user]?[other] {
    case .zone(let zone) where !changed.contains(zone): return true
    case .noneBesides(let zones) where zones.isSubset(of: changed): return false
    default: break
    }
    let counts = (try zoneCount(of: user, upTo: Self.counting), try zoneCount(of: other, upTo: Self.counting))
    work.addJoined(zones: max(0, min(counts.0, counts.1)))
    let (few, many) = counts.0 <= counts.1 ? (user, other) : (other, user)
    let zone = try table.sharedZone(of: few, many, besides: changed.sorted())
    shared[user, default: [:]][other] = zone.map { .zone($0) } ?? .noneBesides(changed)
    return zone != nil
  }

  private func areIn(_ zone: String, _ user: String, _ other: String) throws -> Bool {
    try zones.memberRole(of: user, in: zone) != nil && zones.memberRole(of: other, in: zone) != nil
      && zones.exists(zone) && !zones.isPublic(zone)
  }

  /// The number up to which the stored zones of a user are counted, at least: a transaction takes far fewer zones from a user.
  private static let counting = 200_000

  /// The number of zones of a user; far above `limit`, it may be less than the real one.
  func zoneCount(of user: String, upTo limit: Int) throws -> Int {
    if counted[user] == nil {
      // The database does not contain the transaction's changes before its end, so it is asked once.
      counted[user] = try table.zoneCount(of: user, upTo: max(limit, Self.counting))
    }
    return (counted[user] ?? 0) + zones.changedRoles.growth(of: user)
  }

  /// The number of zones of which a user is a member, without what groups grant; at least `limit` for more. What the transaction makes the user a
  /// member of counts, also by groups.
  func membershipCount(of user: String, upTo limit: Int) throws -> Int {
    try table.membershipCount(of: user, upTo: max(limit, Self.counting)) + zones.changedRoles.growth(of: user)
  }

  /// The stored bytes of the zones that a user owns.
  func bytes(of user: String) throws -> Int64 { try table.bytes(of: user) }

  /// The number of the user's zones that have ended: their root record is deleted.
  ///
  /// - Parameter count: the number of the user's zones.
  func endedZoneCount(
    of user: String, among count: Int, _ work: inout ChangeSetWork, isLive: (String) throws -> Bool
  ) throws -> Int {
    if let known = ended[user] { return known }
    let roots = transaction.schema.tables.indices.filter { transaction.schema.tables[$0].zone == .root }
    // The database does not contain the transaction's changes yet. The zones that the transaction creates do not count.
    let touched = zones.changedRoles.existingZones(of: user).union(
      transaction.working.changed.lazy.map(\.key).filter { [zones] in
        roots.contains($0.table) && !zones.isMade($0.id)
      }.map(\.id)
    ).sorted()
    work.addCompared(zones: count + touched.count)
    let found =
      try table.endedZoneCount(of: user, besides: touched)
      + touched.count { zone in
        try zones.memberRole(of: user, in: zone) != nil && zones.exists(zone) && !zones.isPublic(zone)
          && !isLive(zone)
      }
    ended[user] = found
    return found
  }

  /// Called when the role of a user in an existing zone changes.
  func forgetEnded(of user: String) { if !ended.isEmpty { ended[user] = nil } }

  /// Called when the root record of a zone is deleted or restored.
  func forgetEnded() { if !ended.isEmpty { ended = [:] } }
}
