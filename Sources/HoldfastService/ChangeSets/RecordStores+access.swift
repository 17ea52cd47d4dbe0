import HoldfastCore

/// Keeps `access` consistent with `members`: docs/SHARING.md, section 1.
extension RecordStores {
  /// The maximum number of zones that name one zone as a group, of groups of a zone, and of members and groups of a zone.
  static let zonesOfGroup = 1_000
  static let groupsOfZone = 20
  static let membersOfZone = 10_000
  /// The maximum of a group's members times the zones that name it. All of that access is recomputed when the group is deleted or restored.
  static let accessOfGroup = 100_000

  /// Requires that a zone has room for one more member.
  ///
  /// - Throws: `Problem.sharingLimit`.
  func requireRoomForMember(of zone: String) throws {
    let members = try memberList.count(of: zone)
    work.addCounted(rows: members)
    if members >= Self.membersOfZone {
      throw Problem(.sharingLimit, "A zone has at most \(Self.membersOfZone) members and groups.")
    }
    try requireAccess(members: members + 1, zones: countZones(naming: zone))
  }

  /// Requires that the access by a group of so many members can be recomputed in one transaction.
  ///
  /// - Throws: `Problem.sharingLimit`.
  func requireAccess(members: Int, zones: Int) throws {
    if zones == 0 || members <= Self.accessOfGroup / zones { return }
    throw Problem(
      .sharingLimit,
      "A group of \(members) members is one of at most \(Self.accessOfGroup / members) zones: make several groups."
    )
  }

  /// Updates access after a change of a zone's members: in this zone, and in the zones that name it as a group.
  func followMember(_ values: [Value], in zone: String) throws {
    if values[memberColumns.group] != .null { return try settleAccess(to: zone) }
    guard let user = values[memberColumns.user].text else { return }
    // A pending membership grants nothing.
    if values[memberColumns.inviter] != .null { return ledger.changedMember(user) }
    _ = try settleAccess(of: user, to: zone)
    try followGroups(of: zone, user)
    // The user's devices are also notified of a changed role.
    ledger.changedMember(user)
  }

  /// Updates a user's access to the zones that name a zone as a group, after the user's own membership of that zone was written.
  package func followGroups(of zone: String, _ user: String) throws {
    for group in try zones(naming: zone) where try settleAccess(of: user, to: group.zone) {
      try resend(group)
    }
  }

  /// Updates the access by a group after the root record of the group's zone was deleted or restored.
  func followRoot(of zone: String) throws {
    consents.forgetEnded()
    for group in try zones(naming: zone) {
      try settleAccess(to: group.zone)
      try resend(group)
    }
  }

  /// The owner with the latest proof for a zone that a restore has lost. Nil for other zones, and after the time for claims.
  func recoverer(of zone: String) throws -> String? {
    guard let history, history.isRecovering(at: now) else { return nil }
    let claims = try store.recovery.zoneClaims(of: zone).compactMap { claim in
      claim.recovered.map { (user: claim.user, moment: $0) }
    }
    return claims.max { $0.moment < $1.moment }?.user
  }

  /// Whether a zone is that of before the restore: the backup has it, or a claim for it was granted. Whoever knows the name of a lost zone can
  /// make another one.
  func isOfBefore(_ zone: String) throws -> Bool {
    if try store.recovery.restored(zone)?.seq ?? 0 > 0 { return true }
    return try store.recovery.zoneClaims(of: zone).contains { $0.state == .granted }
  }

  /// The records of `members` that name a zone as a group. Locks their zones.
  package func zones(naming group: String) throws -> [StoredRecord] {
    let table = tables[members]
    return try table.references(by: memberColumns.group, to: [group]).compactMap { try table.record($0.id) }
      .sorted { $0.zone < $1.zone }
  }

  /// The number of records of `members` that name a zone as a group.
  func countZones(naming group: String) throws -> Int {
    let count = try tables[members].referenceCount(by: memberColumns.group, to: group)
    work.addCompared(zones: count)
    return count
  }

  /// Recomputes one user's role in a zone.
  ///
  /// - Returns: whether the user keeps access with another role.
  package func settleAccess(of user: String, to zone: String) throws -> Bool {
    work.addAccess()
    // The zone's lock excludes other changes of its members from here on.
    guard try ledger.exists(zone), try ledger.leftFor(zone) == nil else { return false }
    var roles = try [memberList.ownRole(of: user, in: zone)].compactMap { $0 }
    let groups = try memberList.groups(of: zone)
    for member in try groups.isEmpty || consents.hasLeft(user, zone) ? [] : groups {
      guard let group = member.group, try memberList.ownRole(of: user, in: group) != nil, try isLive(group)
      else { continue }
      roles.append(member.role)
    }
    let before = try ledger.memberRole(of: user, in: zone)
    try write(roles.max(), over: before, of: user, in: zone)
    return before != nil && !roles.isEmpty && before != roles.max()
  }

  /// Recomputes all users' roles in a zone. An unknown zone grants nothing.
  package func settleAccess(to zone: String) throws {
    var roles: TextMap<Role> = [:]
    let leavers = try consents.leavers(of: zone)
    let isHere = try ledger.exists(zone) && ledger.leftFor(zone) == nil
    for member in try isHere ? memberList.members(of: zone) : [] {
      var users = [member.user].compactMap { $0 }
      // The group's lock excludes concurrent changes of its members.
      if let group = member.group, try ledger.exists(group), try isLive(group) {
        users = try memberList.members(of: group).compactMap(\.user).filter { !leavers.contains($0) }
      }
      for user in users { roles[user] = max(roles[user] ?? member.role, member.role) }
    }
    let before = try ledger.roles(in: zone)
    work.addAccess(users: max(before.count, roles.count))
    for user in TextSet(before.keys).union(roles.keys).sorted() {
      try write(roles[user], over: before[user], of: user, in: zone)
    }
  }

  private func write(_ role: Role?, over before: Role?, of user: String, in zone: String) throws {
    if role == before { return }
    ledger.setRole(role, over: before, of: user, in: zone)
    if !ledger.isMade(zone) { consents.forgetEnded(of: user) }
    if role == nil { devices.noteLoss(of: zone, by: user, at: try ledger.seq(of: zone)) }
  }

  /// Sends a record by which a user has access to its zone again. A device learns its role with the zone's next change, and there may be no other change.
  func resend(_ before: StoredRecord) throws {
    work.addEdit()
    var record = before
    record.seq = try ledger.next(record.zone)
    try update(record, over: before)
  }
}
