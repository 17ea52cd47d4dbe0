package import HoldfastCore

/// A user's change of the own memberships: docs/SHARING.md, sections 2 and 3.
package enum MembershipChange: Sendable, Equatable {
  /// Accepts a pending membership, by the id of its record.
  case accept(String)
  /// Declines a pending membership, which deletes the record.
  case decline(String)
  /// Leaves a zone: ends the own membership and access by groups.
  case leave(zone: String)
  /// Withdraws a group from another zone, as an owner of the group, by the id of that zone's record.
  case withdraw(String, group: String)
  /// Blocks a user, by id.
  case block(String)
  case unblock(String)

  /// The footprint of the change.
  package func footprint(_ key: DeviceKey, _ schema: SyncSchema) -> Footprint {
    var footprint = Footprint(device: key, user: key.user)
    let members = schema.index(of: TableSchema.members.name) ?? 0
    switch self {
    case .accept(let id), .decline(let id): footprint.records = [.init(table: members, id: id)]
    case .leave(let zone): footprint.zones = [zone]
    case .withdraw(let id, let group):
      footprint.records = [.init(table: members, id: id)]
      footprint.zones = [group]
    case .block, .unblock: break
    }
    return footprint
  }
}

/// Executes users' changes of their own memberships: docs/SHARING.md, sections 2 and 3.
package struct Memberships {
  package let work: UnitOfWork

  package init(_ work: UnitOfWork) { self.work = work }

  /// Executes a change of memberships.
  ///
  /// - Throws: `Problem` before anything is written.
  package func membership(_ change: MembershipChange, by key: DeviceKey, at now: Stamp) throws -> Outcome {
    let author = Author(device: key.number, user: try work.device(key).user, clock: now)
    switch change {
    case .accept(let id): return try accept(id, by: author)
    case .decline(let id): try decline(id, by: author)
    case .leave(let zone): try leave(zone, by: author)
    case .withdraw(let id, let group): try withdraw(id, of: group, by: author)
    case .block(let user): try block(user, by: author)
    case .unblock(let user): try work.store.consents.setBlocked(false, user, by: author.user)
    }
    return .done
  }

  private func accept(_ id: String, by author: Author) throws -> Outcome {
    let member = try invitation(id, of: author.user)
    let isPending = member.values[work.stores.memberColumns.inviter] != .null
    if isPending { try work.stores.accept(member, by: author) }
    return .membership(
      Membership(
        id: id, zone: member.zone, user: author.user,
        name: member.values[work.stores.memberColumns.name].text ?? "",
        role: member.values[work.stores.memberColumns.role].text.flatMap(Role.init) ?? .viewer),
      isNew: isPending)
  }

  private func decline(_ id: String, by author: Author) throws {
    let member = try invitation(id, of: author.user)
    guard member.values[work.stores.memberColumns.inviter] != .null else { throw Problem(.notFound) }
    let run = ChangeSetRun([], by: author, on: work.stores)
    try Deleting(run: run).remove(member, at: author.clock, isLogged: { _ in false })
    work.stores.ledger.changedMember(author.user)
  }

  /// A user's own membership, accepted or pending, of a zone that has not ended.
  private func invitation(_ id: String, of user: String) throws -> StoredRecord {
    guard let member = try work.stores.tables[work.stores.members].record(id),
      member.values[work.stores.memberColumns.user] == .text(user),
      try work.stores.ledger.exists(member.zone),
      try work.stores.ledger.isPublic(member.zone) || work.stores.isLive(member.zone)
    else { throw Problem(.notFound) }
    return member
  }

  private func leave(_ zone: String, by author: Author) throws {
    let user = author.user
    guard try work.stores.ledger.exists(zone), try work.stores.ledger.memberRole(of: user, in: zone) != nil
    else {
      throw Problem(.notFound)
    }
    if zone == user, try work.stores.isOwnZone(zone) { throw MemberRules.ownZone }
    let own = try work.stores.membership(of: user, in: zone)
    if let own, own.values[work.stores.memberColumns.role] == .text(Role.owner.rawValue),
      try !work.stores.ledger.isPublic(zone), try work.stores.isLive(zone)
    {
      let others = try work.stores.memberList.members(of: zone).filter { $0.user != nil && $0.user != user }
      guard others.contains(where: { $0.role == .owner }) else { throw Problem(.lastOwner) }
    }
    if let own {
      let run = ChangeSetRun([], by: author, on: work.stores)
      try Deleting(run: run).remove(own, at: author.clock, isLogged: { _ in false })
    }
    work.stores.consents.setLeft(true, user, zone)
    _ = try work.stores.settleAccess(of: user, to: zone)
    try work.stores.followGroups(of: zone, user)
    work.stores.ledger.changedMember(user)
  }

  private func withdraw(_ id: String, of group: String, by author: Author) throws {
    guard try work.stores.ledger.exists(group),
      let role = try work.stores.memberList.ownRole(of: author.user, in: group)
    else { throw Problem(.notFound) }
    if role < .owner { throw Problem(.roleInsufficient, "Only an owner may withdraw a group.") }
    guard let grant = try work.stores.tables[work.stores.members].record(id),
      grant.values[work.stores.memberColumns.group] == .text(group)
    else { throw Problem(.notFound) }
    let run = ChangeSetRun([], by: author, on: work.stores)
    try Deleting(run: run).remove(grant, at: author.clock, isLogged: { _ in false })
    try Deleting(run: run).removeMember(grant)
  }

  private func block(_ other: String, by author: Author) throws {
    guard other != author.user, try work.store.accounts.name(ofID: other) != nil else {
      throw Problem(.notFound)
    }
    if try work.store.consents.hasBlocked(author.user, other) { return }
    let limit = work.stores.limits.blocks
    if try work.store.consents.blockCount(of: author.user) >= limit {
      throw Problem(.userLimit, "A user blocks at most \(limit) others.")
    }
    try work.store.consents.setBlocked(true, other, by: author.user)
  }
}
