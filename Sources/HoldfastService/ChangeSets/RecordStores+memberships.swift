package import HoldfastCore

extension RecordStores {
  /// Requires that a user has room for one more zone.
  ///
  /// - Throws: `Problem.userLimit`.
  func checkZoneCount(of user: String) throws {
    if try hasRoomForZone(user) { return }
    throw Problem(
      .userLimit,
      "A user has at most \(limits.zones) zones, and \(limits.zonesOfDevice) with deleted ones: delete or leave some."
    )
  }

  /// Whether a user has room for one more zone. Counts memberships, and ended zones, only if they decide.
  func hasRoomForZone(_ user: String) throws -> Bool {
    let most = max(limits.zones, limits.zonesOfDevice)
    let count = try consents.zoneCount(of: user, upTo: most)
    if count < limits.zones { return true }
    if count >= most { return false }
    let own = try consents.membershipCount(of: user, upTo: limits.zones)
    if own < limits.zones { return true }
    return try own - consents.endedZoneCount(of: user, among: count, &work, isLive: isLive) < limits.zones
  }

  /// Requires that the zones of a user have room for what the change set adds to them.
  ///
  /// - Throws: `Problem.userLimit`.
  func requireRoom(of user: String) throws {
    guard let most = limits.bytes else { return }
    let growth = try ledger.growth(ofZonesOf: user)
    guard growth > 0, try !room.take(growth, of: user, limit: most, stored: { try consents.bytes(of: user) })
    else { return }
    throw Problem(
      .userLimit, "The zones of a user hold at most \(most) bytes: delete records or lists of yours.")
  }

  /// Accepts the author's own pending membership.
  ///
  /// - Parameter role: the new role; nil to keep the stored one.
  /// - Throws: `Problem.userLimit` before anything is written.
  package func accept(_ member: StoredRecord, as role: Role? = nil, by author: Author) throws {
    try checkZoneCount(of: author.user)
    try change(member, to: role, isAccepted: true, by: author)
  }

  /// Writes a membership with another role, or with the consent of its user.
  ///
  /// - Parameters:
  ///   - role: the new role; nil to keep the stored one.
  ///   - isAccepted: whether it was pending, and the author, whose membership it is, accepts it.
  private func change(
    _ member: StoredRecord, to role: Role?, isAccepted: Bool = false, by author: Author
  ) throws {
    var merge = RecordMerge(member)
    if isAccepted {
      merge.set(
        memberColumns.inviter, named: TableSchema.inviterColumn, to: .null, by: author.clock,
        of: author.device)
    }
    if let role {
      let name = TableSchema.members.columns[memberColumns.role].name
      merge.set(
        memberColumns.role, named: name, to: .text(role.rawValue), by: author.clock, of: author.device)
    }
    var next = merge.next
    next.seq = try ledger.next(member.zone)
    try update(next, over: member)
    if isAccepted { consents.setLeft(false, author.user, member.zone) }
    try followMember(next.values, in: next.zone)
  }

  /// Whether a zone is the own zone of a user who is not being erased. That user stays an owner of it.
  func isOwnZone(_ zone: String) throws -> Bool {
    if try store.accounts.name(ofID: zone) == nil { return false }
    // A guest has none here. A stranger may have given a zone this id.
    return try !limits.mayHaveGuests || store.guests.home(of: zone) == nil
  }

  /// Makes a user an owner of an existing zone.
  package func makeOwner(_ user: String, of zone: String, at now: Stamp) throws {
    guard let name = try store.accounts.name(ofID: user) else { throw Problem(.userUnknown) }
    let author = Author(device: 0, user: user, clock: now)
    if let member = try membership(of: user, in: zone) {
      // The server does this only for a user who has or had the zone, and so has consented.
      if member.values[memberColumns.inviter] != .null {
        return try change(member, to: .owner, isAccepted: true, by: author)
      }
      if member.values[memberColumns.role] == .text(Role.owner.rawValue) { return }
      return try setRole(.owner, of: member, by: author)
    }
    try addMember(user, named: name, role: .owner, to: zone, by: author)
    try followGroups(of: zone, user)
  }

  /// Makes the author an owner of a zone without one, whose root record the author restores: the last owner may leave a zone without a root
  /// record. Without an owner, nobody could share the zone or take members from it.
  func ensureOwner(of zone: String, by author: Author) throws {
    if try ledger.isPublic(zone) || memberList.hasOwner(zone) { return }
    guard let member = try membership(of: author.user, in: zone) else {
      let name = try store.accounts.name(ofID: author.user) ?? ""
      try addMember(author.user, named: name, role: .owner, to: zone, by: author)
      return try followGroups(of: zone, author.user)
    }
    let isPending = member.values[memberColumns.inviter] != .null
    try change(member, to: .owner, isAccepted: isPending, by: author)
  }

  /// Gives a member another role for the operator.
  ///
  /// - Throws: `Problem.lastOwner`.
  package func setRole(_ role: Role, of member: StoredRecord, by author: Author) throws {
    let run = ChangeSetRun([], by: author, on: self)
    try change(member, to: role, by: author)
    run.ownerLosses.append((member.zone, member.values[memberColumns.user].text, 0))
    try run.run()
  }
}
