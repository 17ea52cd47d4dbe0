package import HoldfastCore

/// The steps by which a user is erased: docs/EXPORT-AND-ERASURE.md, section 2. Each looks again at what is left.
package struct Erasing {
  package let work: UnitOfWork

  package init(_ work: UnitOfWork) { self.work = work }

  /// Begins to erase the sender's user.
  package func erase(by key: DeviceKey, password: String) throws {
    let user = try work.device(key).user
    guard try work.store.accounts.account(user)?.password == password else {
      throw Problem(.credentialsWrong)
    }
    try beginErasure(of: user)
  }

  /// Makes of an account that of nobody: from here on it is being erased.
  package func beginErasure(of user: String) throws {
    // The account first: who signs in at this moment waits for it, and finds it gone, or its device is among these.
    try work.store.accounts.beginErasure(of: user)
    let numbers = try work.store.devices.devices(of: user).map(\.number)
    try work.stores.devices.strip(numbers)
    work.changes.users.insert(user)
    work.changes.devices.formUnion(numbers)
  }

  /// Ends a user's own membership of a zone, if others are there, or nothing is.
  package func depart(_ user: String, from zone: String, at now: Stamp) throws -> Purged {
    let author = author(user, at: now)
    guard try work.stores.ledger.exists(zone), let own = try work.stores.membership(of: user, in: zone) else {
      return Purged()
    }
    if own.values[work.stores.memberColumns.inviter] != .null {
      // It was never accepted: nobody hangs on it.
    } else if try isShared(zone, besides: user) {
      guard try hasHeir(zone, of: user, by: author) else { return Purged() }
    } else if try work.stores.transaction.hasRecords(zone) {
      return Purged()
    }
    try remove(own, of: zone, by: author)
    try work.store.zones.setErased(work.stores.ledger.seq(of: zone), of: zone)
    return Purged(erasedRecords: 1)
  }

  /// Deletes records of a zone of which nobody else is a member.
  package func erase(_ records: [Footprint.Key], of zone: String, _ user: String, at now: Stamp) throws
    -> Purged
  {
    guard try work.stores.ledger.exists(zone), try work.stores.memberList.ownRole(of: user, in: zone) != nil,
      try !isShared(zone, besides: user)
    else { return Purged() }
    var purged = Purged()
    for key in records {
      guard let live = try work.stores.tables[key.table].record(key.id), live.zone == zone else { continue }
      // By it the zone is found: it goes last.
      if key.table == work.stores.members, live.values[work.stores.memberColumns.user] == .text(user) {
        continue
      }
      try remove(live, of: zone, by: author(user, at: now))
      purged.erasedRecords += 1
    }
    return purged
  }

  private func author(_ user: String, at now: Stamp) -> Author { Author(device: 0, user: user, clock: now) }

  private func isShared(_ zone: String, besides user: String) throws -> Bool {
    try work.stores.ledger.isPublic(zone) || work.stores.ledger.roles(in: zone).keys.contains { $0 != user }
  }

  /// Deletes a record, and logs of it and of what goes with it in its zone nothing.
  private func remove(_ record: StoredRecord, of zone: String, by author: Author) throws {
    let run = ChangeSetRun([], by: author, on: work.stores, isErasing: true)
    try Deleting(run: run).remove(record, at: author.clock, isLogged: { $0.zone != zone })
    try Deleting(run: run).removeMember(record)
  }

  // MARK: Handing over

  /// Sees to it that a zone has an owner when one goes.
  ///
  /// - Returns: false when all who are left are being erased as well: then it is for the last of them.
  private func hasHeir(_ zone: String, of user: String, by author: Author) throws -> Bool {
    if try work.stores.ledger.isPublic(zone) { return true }
    let others = try work.stores.memberList.members(of: zone).filter { $0.user != user }
    let people = others.filter { $0.user != nil }
    if people.contains(where: { $0.role == .owner }) { return true }
    if let heir = people.min(by: Self.comesFirst),
      let record = try work.stores.tables[work.stores.members].record(heir.id)
    {
      try work.stores.setRole(.owner, of: record, by: author)
      return true
    }
    for group in others.sorted(by: Self.comesFirst) {
      guard let name = group.group, try work.stores.ledger.exists(name), try work.stores.isLive(name) else {
        continue
      }
      for member in try work.stores.memberList.members(of: name).sorted(by: Self.comesFirst) {
        guard let heir = member.user, heir != user, let heirName = try work.store.accounts.name(ofID: heir)
        else {
          continue
        }
        try work.stores.addMember(heir, named: heirName, role: .owner, to: zone, by: author)
        try work.stores.followGroups(of: zone, heir)
        return true
      }
    }
    return false
  }

  /// The greater role first, then who is there longer: ids begin with the time at which they were made.
  private static func comesFirst(_ one: Member, _ other: Member) -> Bool {
    one.role == other.role ? one.id < other.id : one.role > other.role
  }
}
