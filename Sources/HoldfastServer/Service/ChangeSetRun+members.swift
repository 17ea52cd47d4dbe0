import HoldfastCore

extension ChangeSetRun {
  /// Fills in what the create of a membership leaves out: the user of a name, or the name of a user; and checks that of a group.
  func completeMember(_ values: inout [Value], in zone: String) throws {
    if try stores.store.zones.memberCount(of: zone) >= RecordStores.membersOfZone {
      throw Problem(.sharingLimit, "A zone has at most \(RecordStores.membersOfZone) members and groups.")
    }
    let (user, name) = (stores.memberUser, stores.memberName)
    if let group = values[stores.memberGroup].text {
      guard values[user] == .null, values[name] == .null else {
        throw Problem(.invalidValue, "members takes a user or a group, not both.")
      }
      return try checkGroup(group, of: zone)
    }
    if let id = values[user].text {
      guard let known = try stores.store.accounts.name(ofID: id) else { throw Problem(.userUnknown) }
      values[name] = .text(known)
    } else if let text = values[name].text {
      guard let id = try stores.store.accounts.id(ofName: text) else { throw Problem(.userUnknown) }
      values[user] = .text(id)
    } else {
      throw Problem(.valueMissing, "members takes user, name or group.")
    }
  }

  /// A group is a zone of which its author is a member, as else who belongs to it could be learned.
  private func checkGroup(_ group: String, of zone: String) throws {
    guard group != zone else { throw Problem(.invalidValue, "A zone can't be its own group.") }
    guard try ledger.exists(group), ledger.scope?.has(zone: group) ?? true,
      try stores.store.zones.ownRole(of: author.user, in: group) != nil, try stores.isLive(group)
    else { throw Problem(.referenceMissing, "members.group") }
    if try stores.store.zones.groups(of: zone).count >= RecordStores.groupsOfZone {
      throw Problem(.sharingLimit, "A zone has at most \(RecordStores.groupsOfZone) groups.")
    }
    if try stores.zones(naming: group).count >= RecordStores.zonesOfGroup {
      throw Problem(.sharingLimit, "A zone is the group of at most \(RecordStores.zonesOfGroup) others.")
    }
  }

  /// A membership is one of one user in one zone: only its role can change.
  func checkMember(_ operation: Operation, _ live: Record) throws {
    for column in [stores.memberUser, stores.memberName, stores.memberGroup] {
      if let value = operation.value(of: column), value != .null, value != live.values[column] {
        throw Problem(.invalidOperation, "Only the role of a member can change.")
      }
    }
  }

  /// Gives a member another role by the operator's word.
  ///
  /// - Throws: `Problem.lastOwner`.
  func setRole(_ role: Role, of member: Record) throws {
    var merge = RecordMerge(member)
    merge.set(
      stores.memberRole, named: Table.members.columns[stores.memberRole].name, to: .text(role.rawValue),
      by: author.clock, of: author.device)
    var next = merge.next
    next.seq = try ledger.next(member.zone)
    try stores.tables[stores.members].update(next)
    try stores.followMember(next.values, in: next.zone)
    ownerLosses.append((member.zone, 0))
    try run()
  }
}
