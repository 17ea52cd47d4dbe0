import HoldfastCore

extension ChangeSetRun {
  /// Fills in what the create of a membership leaves out: the user of a name, or the name of a user.
  func completeMember(_ values: inout [Value]) throws {
    let (user, name) = (stores.memberUser, stores.memberName)
    if let id = values[user].text {
      guard let known = try stores.store.accounts.name(ofID: id) else { throw Problem(.userUnknown) }
      values[name] = .text(known)
    } else if let text = values[name].text {
      guard let id = try stores.store.accounts.id(ofName: text) else { throw Problem(.userUnknown) }
      values[user] = .text(id)
    } else {
      throw Problem(.valueMissing, "members takes user or name.")
    }
  }

  /// A membership is one of one user in one zone: only its role can change.
  func checkMember(_ operation: Operation, _ live: Record) throws {
    for column in [stores.memberUser, stores.memberName] {
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
    ledger.changedMember(member.values[stores.memberUser].text)
    ownerLosses.append((member.zone, 0))
    try run()
  }
}
