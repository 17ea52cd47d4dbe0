import HoldfastCore

/// The roles that a transaction changes. They are found by user and by zone: a set of many memberships asks for them at each operation.
struct ChangedRoles {
  /// The changes of one user.
  private struct Zones {
    /// The zones with another role, without those that the transaction creates.
    var existing: TextSet = []
    /// The zones that the transaction creates.
    var made: TextSet = []
    /// How many zones the user gains, less those that the user loses.
    var growth = 0
  }

  private var roles: [ZoneUser: Role?] = [:]
  private var zones: TextMap<Zones> = [:]
  private var users: TextMap<TextSet> = [:]
  /// What to take back when the part is undone.
  private var journal: [(member: ZoneUser, before: Role??, growth: Int)] = []

  /// The changed role of a user in a zone; nil if it did not change.
  subscript(member: ZoneUser) -> Role?? { roles[member] }

  /// All changes, in the order of zones and users.
  var all: [(member: ZoneUser, role: Role?)] {
    roles.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Clears everything, for a new transaction.
  mutating func removeAll() {
    roles.removeAll(keepingCapacity: true)
    zones = [:]
    users = [:]
    beginPart()
  }

  mutating func beginPart() { journal.removeAll(keepingCapacity: true) }

  mutating func undoPart() {
    for (member, before, growth) in journal.reversed() {
      roles[member] = before
      zones[member.user]?.growth -= growth
      if before != nil { continue }
      zones[member.user]?.existing.remove(member.zone)
      zones[member.user]?.made.remove(member.zone)
      users[member.zone]?.remove(member.user)
    }
    beginPart()
  }

  /// Changes a role.
  ///
  /// - Parameters:
  ///   - before: the role so far, with the changes of the transaction.
  ///   - isMade: whether the transaction creates the zone.
  mutating func set(_ role: Role?, over before: Role?, of member: ZoneUser, isMade: Bool) {
    let growth = (role == nil ? 0 : 1) - (before == nil ? 0 : 1)
    journal.append((member, roles[member], growth))
    roles[member] = .some(role)
    zones[member.user, default: Zones()].growth += growth
    if isMade {
      zones[member.user]?.made.insert(member.zone)
    } else {
      zones[member.user]?.existing.insert(member.zone)
    }
    users[member.zone, default: []].insert(member.user)
  }

  /// The changed roles in a zone, by user.
  func roles(in zone: String) -> [(user: String, role: Role?)] {
    (users[zone] ?? []).compactMap { user in
      roles[ZoneUser(zone: zone, user: user)].map { (user, $0) }
    }
  }

  /// How many zones a user gains, less those that the user loses.
  func growth(of user: String) -> Int { zones[user]?.growth ?? 0 }

  /// The zones in which a role of a user changes, without those that the transaction creates.
  func existingZones(of user: String) -> TextSet { zones[user]?.existing ?? [] }

  /// The zones that the transaction creates and in which a user has had a role.
  func madeZones(of user: String) -> TextSet { zones[user]?.made ?? [] }
}
