package import HoldfastCore

extension RecordStores {
  /// A user is in a number of zones by the own word.
  ///
  /// - Throws: `Problem.userLimit`.
  func checkZoneCount(of user: String) throws {
    if try hasRoomForZone(user) { return }
    throw Problem(
      .userLimit,
      "A user has at most \(limits.zones) zones, and \(limits.zonesOfDevice) with deleted ones: delete or leave some."
    )
  }

  /// Whether a user may be in one more zone. Those that have ended are looked for only where they decide.
  func hasRoomForZone(_ user: String) throws -> Bool {
    let most = max(limits.zones, limits.zonesOfDevice)
    let count = try consents.zoneCount(of: user, upTo: most)
    if count < limits.zones { return true }
    return try count < most && count - consents.endedZoneCount(of: user, isLive: isLive) < limits.zones
  }

  /// A user accepts the own membership: from here on it counts.
  ///
  /// - Parameter role: its role from now on; nil for the one that it has.
  /// - Throws: `Problem.userLimit` before anything is written.
  package func accept(_ member: StoredRecord, as role: Role? = nil, by author: Author) throws {
    try checkZoneCount(of: author.user)
    var merge = RecordMerge(member)
    merge.set(
      memberColumns.inviter, named: TableSchema.inviterColumn, to: .null, by: author.clock, of: author.device)
    if let role {
      let name = TableSchema.members.columns[memberColumns.role].name
      merge.set(
        memberColumns.role, named: name, to: .text(role.rawValue), by: author.clock, of: author.device)
    }
    var next = merge.next
    next.seq = try ledger.next(member.zone)
    try update(next, over: member)
    consents.setLeft(false, author.user, member.zone)
    try followMember(next.values, in: next.zone)
  }

  /// Gives a member another role by the operator's word.
  ///
  /// - Throws: `Problem.lastOwner`.
  package func setRole(_ role: Role, of member: StoredRecord, by author: Author) throws {
    let run = ChangeSetRun([], by: author, on: self)
    var merge = RecordMerge(member)
    let name = TableSchema.members.columns[memberColumns.role].name
    merge.set(memberColumns.role, named: name, to: .text(role.rawValue), by: author.clock, of: author.device)
    var next = merge.next
    next.seq = try ledger.next(member.zone)
    try update(next, over: member)
    try followMember(next.values, in: next.zone)
    run.ownerLosses.append((member.zone, 0))
    try run.run()
  }
}
