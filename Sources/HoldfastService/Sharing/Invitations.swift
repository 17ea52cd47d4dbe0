package import HoldfastCore

/// Invitations by link: docs/SHARING.md.
package struct Invitations {
  package let work: UnitOfWork

  package init(_ work: UnitOfWork) { self.work = work }

  /// Stores an owner's invitation.
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

  /// Removes an invitation. It can no longer be accepted.
  package func revokeInvitation(_ id: String, to zone: String, by key: DeviceKey) throws {
    try requireOwner(work.device(key).user, of: zone)
    guard try work.store.invitations.remove(id, from: zone) else { throw Problem(.notFound) }
  }

  /// Makes the sender a member of an invitation's zone. A member who has the role already does not use up the invitation.
  ///
  /// - Throws: `Problem`: changes in memory are undone by the caller, and the invitation is used at the end.
  package func accept(_ token: TokenHash, by key: DeviceKey, at now: Stamp) throws -> Outcome {
    let user = try work.device(key).user
    // Reads the invitation again under the zone's lock, which excludes changes.
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
    // This also holds for a used-up invitation, because the answer to its last use may have been lost.
    if let member, let role, !isPending, role >= invitation.role {
      return outcome(member.id, role, isNew: false)
    }
    guard invitation.isGood(at: work.environment.now()),
      // An inviter under erasure may remain an owner for some steps.
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
      try work.stores.setRole(invitation.role, of: member, by: author)
      try work.store.invitations.setUses(invitation.uses - 1, of: invitation.id, in: zone)
      return outcome(member.id, invitation.role, isNew: false)
    }
    try work.stores.checkZoneCount(of: user)
    try work.stores.requireRoomForMember(of: zone)
    let id = try work.stores.addMember(user, named: name, role: invitation.role, to: zone, by: author)
    try work.stores.followGroups(of: zone, user)
    try work.store.invitations.setUses(invitation.uses - 1, of: invitation.id, in: zone)
    return outcome(id, invitation.role, isNew: true)
  }

  /// Requires that a user is an owner of a zone. Locks the zone.
  ///
  /// - Throws: `Problem`: `notFound` for a user without access, `roleInsufficient` for other members.
  private func requireOwner(_ user: String, of zone: String) throws {
    guard try work.stores.ledger.exists(zone), let role = try work.stores.ledger.role(of: user, in: zone)
    else {
      throw Problem(.notFound)
    }
    if role < .owner { throw Problem(.roleInsufficient, "Invitations take the role owner.") }
    if try work.stores.ledger.isPublic(zone) { throw Problem(.roleInsufficient, "The zone is public.") }
  }
}
