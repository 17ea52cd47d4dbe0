import HoldfastCore

/// Keeps what users may do right with what `members` says: docs/SHARING.md, section 1.
extension RecordStores {
  /// How many zones may name one zone as a group, how many groups a zone may have, and how many members with them.
  static let zonesOfGroup = 1_000
  static let groupsOfZone = 20
  static let membersOfZone = 10_000
  /// How many members a group may have, times the zones that name it: each is worked out again when the group comes or goes.
  static let accessOfGroup = 100_000

  /// Requires that a zone may have one more member.
  ///
  /// - Throws: `Problem.sharingLimit`.
  func requireRoomForMember(of zone: String) throws {
    let members = try memberList.count(of: zone)
    work.addCounted(rows: members)
    if members >= Self.membersOfZone {
      throw Problem(.sharingLimit, "A zone has at most \(Self.membersOfZone) members and groups.")
    }
    try requireAccess(members: members + 1, zones: zones(naming: zone).count)
  }

  /// Requires that a group of so many members, gives no more access than one transaction works out again.
  ///
  /// - Throws: `Problem.sharingLimit`.
  func requireAccess(members: Int, zones: Int) throws {
    if zones == 0 || members <= Self.accessOfGroup / zones { return }
    throw Problem(
      .sharingLimit,
      "A group of \(members) members is one of at most \(Self.accessOfGroup / members) zones: make several groups."
    )
  }

  /// A member of a zone came, went or has another role: access follows, here and in the zones of which this one is a group.
  func followMember(_ values: [Value], in zone: String) throws {
    if values[memberColumns.group] != .null { return try settleAccess(to: zone) }
    guard let user = values[memberColumns.user].text else { return }
    // Who has not accepted gets nothing by it.
    if values[memberColumns.inviter] != .null { return ledger.changedMember(user) }
    _ = try settleAccess(of: user, to: zone)
    try followGroups(of: zone, user)
    // Own devices are told of a role that is another, too.
    ledger.changedMember(user)
  }

  /// A user's own membership of a zone was written: the user's access to the zones of which it is a group follows.
  package func followGroups(of zone: String, _ user: String) throws {
    for group in try zones(naming: zone) where try settleAccess(of: user, to: group.zone) {
      try resend(group)
    }
  }

  /// The root record of a zone went or came back: who has access by it as a group loses or regains it.
  func followRoot(of zone: String) throws {
    for group in try zones(naming: zone) {
      try settleAccess(to: group.zone)
      try resend(group)
    }
  }

  /// The user who, as its owner, has proved the latest moment of a zone that a restore has lost; nil for other zones, and when the time for claims
  /// is over.
  func recoverer(of zone: String) throws -> String? {
    guard let history, history.isRecovering(at: now) else { return nil }
    let claims = try store.recovery.zoneClaims(of: zone).compactMap { claim in
      claim.recovered.map { (user: claim.user, moment: $0) }
    }
    return claims.max { $0.moment < $1.moment }?.user
  }

  /// The records of `members` that name a zone as a group; the zones that they are in are locked.
  package func zones(naming group: String) throws -> [StoredRecord] {
    let table = tables[members]
    return try table.references(by: memberColumns.group, to: [group]).compactMap { try table.record($0.id) }
      .sorted { $0.zone < $1.zone }
  }

  /// Works out again what one user may do in a zone.
  ///
  /// - Returns: whether it is another role than before, of who had one and has one.
  package func settleAccess(of user: String, to zone: String) throws -> Bool {
    work.addAccess()
    // From here on nobody else changes who belongs to the zone.
    guard try ledger.exists(zone) else { return false }
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

  /// Works out again what everybody may do in a zone: nothing in one that is not there.
  package func settleAccess(to zone: String) throws {
    var roles: TextMap<Role> = [:]
    let leavers = try consents.leavers(of: zone)
    for member in try ledger.exists(zone) ? memberList.members(of: zone) : [] {
      var users = [member.user].compactMap { $0 }
      // Who joins the group or leaves it meanwhile waits for its lock.
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
    ledger.setRole(role, of: user, in: zone)
    ledger.changedMember(user)
    if role == nil { devices.noteLoss(of: zone, by: user, at: try ledger.seq(of: zone)) }
  }

  /// Sends a zone's group again: a device learns its role with the zone's next change, and there may be no other.
  private func resend(_ group: StoredRecord) throws {
    work.addEdit()
    var record = group
    record.seq = try ledger.next(record.zone)
    try update(record, over: group)
  }
}
