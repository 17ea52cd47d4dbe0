package import HoldfastCore

/// The steps that erase a user: docs/EXPORT-AND-ERASURE.md, section 2. Each step checks again which data is left.
package struct Erasing {
  package let work: UnitOfWork

  package init(_ work: UnitOfWork) { self.work = work }

  /// Begins to erase the sender's user.
  package func erase(by key: DeviceKey, password: String) throws {
    let user = try work.device(key).user
    try Guests(work).requireHome(of: user)
    guard try work.store.accounts.account(user)?.password == password else {
      throw Problem(.credentialsWrong)
    }
    try beginErasure(of: user)
  }

  /// Deletes the account's personal data. From then on the account is being erased.
  package func beginErasure(of user: String) throws {
    // The account comes first. A concurrent sign-in waits for its lock, and then fails; or its device is already among these.
    try work.store.accounts.beginErasure(of: user)
    let numbers = try work.store.devices.devices(of: user).map(\.number)
    try work.stores.devices.strip(numbers)
    work.changes.users.insert(user)
    work.changes.devices.formUnion(numbers)
  }

  /// Ends a user's own membership of a zone, if the zone has other members or no records.
  package func depart(_ user: String, from zone: String, at now: Stamp) throws -> Purged {
    let author = author(user, at: now)
    try giveBack(zone, by: user, at: now)
    guard try work.stores.ledger.exists(zone), let own = try work.stores.membership(of: user, in: zone) else {
      return Purged()
    }
    if own.values[work.stores.memberColumns.inviter] != .null {
      // A pending membership affects no other member.
    } else if try isShared(zone, besides: user) {
      guard try hasHeir(zone, of: user, by: author) else { return Purged() }
    } else if try work.stores.transaction.hasRecords(zone) {
      return Purged()
    }
    try remove(own, of: zone, by: author)
    try work.store.zones.setErased(work.stores.ledger.seq(of: zone), of: zone)
    return Purged(erasedRecords: 1)
  }

  /// Deletes records of a zone without other members.
  package func erase(_ records: [Footprint.Key], of zone: String, _ user: String, at now: Stamp) throws
    -> Purged
  {
    guard try work.stores.ledger.exists(zone), try work.stores.memberList.ownRole(of: user, in: zone) != nil,
      try !isOfAnother(zone, than: user), try !isShared(zone, besides: user)
    else { return Purged() }
    var purged = Purged()
    for key in records {
      guard let live = try work.stores.tables[key.table].record(key.id), live.zone == zone else { continue }
      // The search finds the zone by this membership, so it is deleted last.
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
    if try work.stores.ledger.isPublic(zone) { return true }
    // Nobody has access to a zone that has moved.
    let users =
      try work.stores.ledger.leftFor(zone) == nil
      ? Array(work.stores.ledger.roles(in: zone).keys)
      : work.stores.memberList.members(of: zone).compactMap(\.user)
    return users.contains { $0 != user }
  }

  /// Deletes a record without logging its values, or those of records that cascade inside the zone.
  private func remove(_ record: StoredRecord, of zone: String, by author: Author) throws {
    let run = ChangeSetRun([], by: author, on: work.stores, isErasing: true)
    try Deleting(run: run).remove(record, at: author.clock, isLogged: { $0.zone != zone })
    try Deleting(run: run).removeMember(record)
  }

  // MARK: Handing over

  /// Whether a zone is the own zone of another user. An erasure never deletes what is in it.
  private func isOfAnother(_ zone: String, than user: String) throws -> Bool {
    try zone != user && work.stores.isOwnZone(zone)
  }

  /// Makes another user an owner of the own zone again. The server takes it from nobody, but SQL or an earlier version may have.
  private func giveBack(_ zone: String, by user: String, at now: Stamp) throws {
    guard try isOfAnother(zone, than: user), try work.stores.ledger.exists(zone),
      try work.stores.memberList.ownRole(of: user, in: zone) != nil
    else { return }
    try work.stores.makeOwner(zone, of: zone, at: now)
  }

  /// Ensures that a zone keeps an owner when a user leaves.
  ///
  /// - Returns: false if all remaining members are also being erased. The last of them ends the zone.
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
    // Who has left the zone has none of it by a group.
    let roles = try work.stores.ledger.roles(in: zone)
    for group in others.sorted(by: Self.comesFirst) {
      guard let name = group.group, try work.stores.ledger.exists(name), try work.stores.isLive(name) else {
        continue
      }
      for member in try work.stores.memberList.members(of: name).sorted(by: Self.comesFirst) {
        guard let heir = member.user, heir != user, roles[heir] != nil, try work.stores.isOwnZone(heir) else {
          continue
        }
        try work.stores.makeOwner(heir, of: zone, at: author.clock)
        return true
      }
    }
    return false
  }

  /// The greater role first, then the older membership. Ids begin with their time of creation.
  private static func comesFirst(_ one: Member, _ other: Member) -> Bool {
    one.role == other.role ? one.id < other.id : one.role > other.role
  }
}
