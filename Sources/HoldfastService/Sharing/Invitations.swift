package import HoldfastCore

/// Invitations by a link: docs/SHARING.md.
package struct Invitations {
  package let work: UnitOfWork

  package init(_ work: UnitOfWork) { self.work = work }

  /// Stores an invitation that an owner made.
  ///
  /// - Throws: `Problem` before anything is written.
  package func invite(_ invitation: Invitation, _ token: TokenHash, by key: DeviceKey, at now: Stamp) throws {
    try requireOwner(work.device(key).user, of: invitation.zone)
    try work.store.invitations.sweep(invitation.zone, at: work.clock.trusted.now())
    if try work.store.invitations.count(of: invitation.zone) >= Invitation.zoneLimit {
      throw Problem(.sharingLimit, "A zone has at most \(Invitation.zoneLimit) invitations.")
    }
    try work.store.invitations.add(invitation, token)
  }

  /// Removes an invitation, so that nobody accepts it any more.
  package func revokeInvitation(_ id: String, to zone: String, by key: DeviceKey) throws {
    try requireOwner(work.device(key).user, of: zone)
    guard try work.store.invitations.remove(id, from: zone) else { throw Problem(.notFound) }
  }

  /// Makes the sender a member of the zone of an invitation, once: who has the role already uses nothing up.
  package func accept(_ token: TokenHash, by key: DeviceKey, at now: Stamp) throws -> Outcome {
    let user = try work.device(key).user
    // It is looked up again when its zone is locked: from then on it stays as it is.
    guard let zone = try work.store.invitations.invitation(token)?.zone, try work.stores.ledger.exists(zone),
      let invitation = try work.store.invitations.invitation(token), try work.stores.isLive(zone),
      let name = try work.store.accounts.name(ofID: user)
    else { throw Problem(.invitationInvalid) }
    func outcome(_ id: String, _ role: Role, isNew: Bool) -> Outcome {
      .membership(Membership(id: id, zone: zone, user: user, name: name, role: role), isNew: isNew)
    }
    let member = try work.stores.membership(of: user, in: zone)
    let role = member?.values[work.stores.memberColumns.role].text.flatMap(Role.init)
    let isPending = member.map { $0.values[work.stores.memberColumns.inviter] != .null } ?? false
    // Also when it is used up: the answer to the one who did it may have been lost.
    if let member, let role, !isPending, role >= invitation.role {
      return outcome(member.id, role, isNew: false)
    }
    guard invitation.isGood(at: work.environment.now()),
      // Who is being erased may be an owner for some steps yet.
      try work.store.accounts.name(ofID: invitation.inviter) != nil,
      try work.stores.ledger.role(of: invitation.inviter, in: zone) == .owner
    else { throw Problem(.invitationInvalid) }
    let author = Author(device: key.number, user: user, clock: now)
    if let member, isPending {
      let greater = max(role ?? invitation.role, invitation.role)
      try work.stores.accept(member, as: greater, by: author)
      try work.store.invitations.setUses(invitation.uses - 1, of: invitation.id, in: zone)
      return outcome(member.id, greater, isNew: true)
    }
    if let member {
      try work.store.invitations.setUses(invitation.uses - 1, of: invitation.id, in: zone)
      try work.stores.setRole(invitation.role, of: member, by: author)
      return outcome(member.id, invitation.role, isNew: false)
    }
    try work.stores.checkZoneCount(of: user)
    try work.stores.requireRoomForMember(of: zone)
    try work.store.invitations.setUses(invitation.uses - 1, of: invitation.id, in: zone)
    let id = try work.stores.addMember(user, named: name, role: invitation.role, to: zone, by: author)
    try work.stores.followGroups(of: zone, user)
    return outcome(id, invitation.role, isNew: true)
  }

  /// Sees to it that a user is an owner of a zone, which is locked from then on.
  ///
  /// - Throws: `Problem`: `notFound` for a stranger, `roleInsufficient` for others.
  private func requireOwner(_ user: String, of zone: String) throws {
    guard try work.stores.ledger.exists(zone), let role = try work.stores.ledger.role(of: user, in: zone)
    else {
      throw Problem(.notFound)
    }
    if role < .owner { throw Problem(.roleInsufficient, "Invitations take the role owner.") }
    if try work.stores.ledger.isPublic(zone) { throw Problem(.roleInsufficient, "The zone is public.") }
  }
}
