import HoldfastCore

/// The rules for records of `members`: docs/SHARING.md.
struct MemberRules: ChangeSetPart {
  let run: ChangeSetRun

  /// The refusal to take a user's own zone from the user.
  static let ownZone = Problem(
    .lastOwner, "This is the user's own zone. The user stays its owner until the account is erased.")

  /// Completes a new membership: looks up the user of a name, or the name of a user. Checks a group.
  func completeMember(_ values: inout [Value], in zone: String) throws {
    try stores.requireRoomForMember(of: zone)
    let (user, name) = (stores.memberColumns.user, stores.memberColumns.name)
    if let group = values[stores.memberColumns.group].text {
      guard values[user] == .null, values[name] == .null else {
        throw Problem(.invalidValue, "members takes a user or a group, not both.")
      }
      values[stores.memberColumns.inviter] = .null
      return try checkGroup(group, of: zone)
    }
    if let id = values[user].text {
      guard let known = try stores.store.accounts.name(ofID: id) else { throw Problem(.userUnknown) }
      values[name] = .text(known)
    } else if let text = values[name].text {
      guard let id = try stores.store.accounts.id(ofName: text) else {
        throw Problem(stores.unreachable.contains(text) ? .userUnreachable : .userUnknown)
      }
      values[user] = .text(id)
    } else {
      throw Problem(.valueMissing, "members takes user, name or group.")
    }
    guard let id = values[user].text else { return }
    values[stores.memberColumns.inviter] = try mustAsk(id, for: zone) ? .text(author.user) : .null
  }

  /// Whether a user must accept the membership: docs/SHARING.md, section 2.
  private func mustAsk(_ user: String, for zone: String) throws -> Bool {
    // A service token acts for the operator.
    if user == author.user || author.device == 0 || ledger.scope != nil { return false }
    let consents = stores.store.consents
    if let history = stores.history, history.previous != nil,
      try stores.isOfBefore(zone), try stores.devices.hasAck(of: zone, by: user, notOf: history.epoch)
    {
      // The user's own device had the zone before the restore.
      return false
    }
    if try !consents.hasBlocked(user, author.user), try !stores.consents.hasLeft(user, zone),
      try stores.consents.share(user, author.user, &stores.work),
      try stores.hasRoomForZone(user)
    {
      return false
    }
    let inviters = try stores.memberList.inviters(of: user)
    if inviters.count(where: { $0 == author.user }) >= stores.limits.invitationsOfInviter {
      throw Problem(
        .sharingLimit,
        "The user has not answered \(stores.limits.invitationsOfInviter) invitations of yours yet.")
    }
    stores.work.addCompared(zones: inviters.count)
    if inviters.count < stores.limits.invitations { return true }
    let blocked = try consents.blocked(by: user, among: TextSet(inviters + [author.user]).sorted())
    let shown = inviters.count { !blocked.contains($0) }
    if shown >= stores.limits.invitations, !blocked.contains(author.user) {
      throw Problem(.sharingLimit, "The user has not answered \(stores.limits.invitations) invitations yet.")
    }
    return true
  }

  /// Requires that the author owns the group. Owners decide what access its members get.
  private func checkGroup(_ group: String, of zone: String) throws {
    guard group != zone else { throw Problem(.invalidValue, "A zone can't be its own group.") }
    guard try ledger.exists(group), ledger.scope?.has(zone: group) ?? true,
      try stores.memberList.ownRole(of: author.user, in: group) == .owner, try stores.isLive(group)
    else { throw Problem(.referenceMissing, "members.group") }
    if try stores.memberList.groups(of: zone).count >= RecordStores.groupsOfZone {
      throw Problem(.sharingLimit, "A zone has at most \(RecordStores.groupsOfZone) groups.")
    }
    let zones = try stores.countZones(naming: group)
    if zones >= RecordStores.zonesOfGroup {
      throw Problem(.sharingLimit, "A zone is the group of at most \(RecordStores.zonesOfGroup) others.")
    }
    try stores.requireAccess(members: stores.memberList.count(of: group), zones: zones + 1)
  }

  /// If a user names a group in a zone, the group's members who have blocked that user do not get access.
  func spareBlockers(of group: String, from zone: String) throws {
    let blockers = try stores.store.consents.blockers(of: author.user)
    if blockers.isEmpty { return }
    for user in try stores.memberList.members(of: group).compactMap(\.user) where blockers.contains(user) {
      if try ledger.role(of: user, in: zone) == nil { stores.consents.setLeft(true, user, zone) }
    }
  }

  /// Requires that an update changes only the role. A membership belongs to one user or group in one zone.
  func checkMember(_ operation: RecordOperation, _ live: StoredRecord) throws {
    for column in [stores.memberColumns.user, stores.memberColumns.name, stores.memberColumns.group] {
      if let value = operation.value(of: column), value != .null, value != live.values[column] {
        throw Problem(.invalidOperation, "Only the role of a member can change.")
      }
    }
  }
}
