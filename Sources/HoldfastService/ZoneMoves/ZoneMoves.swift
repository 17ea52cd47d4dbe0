package import HoldfastCore

/// Moves zones from one database of a directory to another: docs/MOVING.md.
package struct ZoneMoves {
  let work: UnitOfWork
  private var stores: RecordStores { work.stores }
  private var ledger: ZoneLedger { work.stores.ledger }

  package init(_ work: UnitOfWork) {
    self.work = work
    work.stores.ledger.changesLeftZones = true
  }

  // MARK: In the database that had the zone

  /// Lets a zone go: nobody has access to it from then on.
  ///
  /// - Parameters:
  ///   - database: where it goes.
  ///   - number: that of the move.
  /// - Throws: `ServerError`: `notFound`, `refused` if it can't move.
  package func letGo(_ zone: String, to database: String, number: Int64) throws {
    guard try ledger.exists(zone) else {
      throw ServerError(.notFound, "There is no zone \(zone). `holdfast zones` lists them.")
    }
    if let other = try ledger.leftFor(zone) {
      throw ServerError(.refused, "The zone \(zone) has moved to the database \(other) meanwhile.")
    }
    try requireNewer(number, of: zone)
    try requireMovable(zone)
    try close(zone, to: database, number: number, .going)
  }

  /// Numbers only grow: a command that waited for long has an older one.
  private func requireNewer(_ number: Int64, of zone: String) throws {
    guard try work.store.zones.moveNumber(of: zone) < number else {
      throw ServerError(.refused, "Another command has moved the zone \(zone) meanwhile.")
    }
  }

  /// Says that a zone is in a database in which it has arrived: it may have moved on from another one, or a restore has brought a copy back here.
  package func follow(_ zone: String, to database: String, number: Int64) throws {
    try requireNewer(number, of: zone)
    try close(zone, to: database, number: number, .arrived)
  }

  /// Gives a zone that is here the number of a later move, of which a restore has lost the effect.
  package func keep(_ zone: String, number: Int64) throws {
    try requireNewer(number, of: zone)
    try ledger.setMoved(zone, to: nil, number: number)
  }

  /// Notes that a zone has arrived in the database for which it was let go: from then on its records may be dropped here.
  package func noteArrival(_ zone: String, in database: String, number: Int64) throws {
    guard try ledger.leftFor(zone) == database, try work.store.zones.moveNumber(of: zone) == number else {
      throw ServerError(.refused, "Another command has moved the zone \(zone) meanwhile.")
    }
    try ledger.setMoved(zone, to: database, number: number, state: .arrived)
  }

  private func close(_ zone: String, to database: String, number: Int64, _ state: ZonePlace.State) throws {
    let members = try ledger.roles(in: zone)
    for (user, role) in members { ledger.setRole(nil, over: role, of: user, in: zone) }
    let seq = try ledger.next(zone)
    for (user, _) in members { stores.devices.noteLoss(of: zone, by: user, at: seq) }
    try ledger.setMoved(zone, to: database, number: number, state: state)
  }

  private func requireMovable(_ zone: String) throws {
    func refused(_ why: String) -> ServerError {
      ServerError(.refused, "The zone \(zone) can't move: \(why)")
    }
    if try work.store.zones.deletingUntil(zone) > stores.now {
      throw refused(
        "a deletion of many records goes on in it. Run the command again a minute after its end.")
    }
    if try ledger.isPublic(zone) { throw refused("it is public.") }
    if try work.store.accounts.isKnown(zone) { throw refused("it is a user's own.") }
    if try !stores.memberList.groups(of: zone).isEmpty { throw refused("it has groups: remove them before.") }
    if try stores.countZones(naming: zone) > 0 {
      throw refused("other zones have it as a group: remove it there before.")
    }
    for member in try stores.memberList.all(of: zone) {
      if let user = member.user, try work.store.accounts.name(ofID: user) == nil {
        throw refused("a member is being erased. Run the command again in a minute.")
      }
    }
    if work.history.isRecovering(at: work.clock.trusted.now()) {
      throw refused("its database was restored, and for 30 days devices bring back what it has lost.")
    }
  }

  /// Requires that no record of another zone refers to one of some records of the zone, and none of them to a record of another
  /// zone that is not public. The other database's foreign keys look for those of public zones.
  package func requireNoReferences(_ records: [StoredRecord], of table: Int, in zone: String) throws {
    let schema = stores.schema
    for link in schema.links(of: table) where !link.isInZone {
      for record in records {
        guard let id = record.values[link.column].text,
          let other = try stores.tables[link.target].zone(of: id),
          try other != zone && !ledger.isPublic(other)
        else { continue }
        throw Self.tied(
          zone, "its record \(record.id) of \(schema.tables[table].name) refers to one of", other)
      }
    }
    for link in schema.links(to: table) where !link.isInZone {
      let found = try stores.tables[link.table].references(by: link.column, to: records.map(\.id))
      for (id, _) in found {
        guard let other = try stores.tables[link.table].zone(of: id), other != zone else { continue }
        throw Self.tied(other, "its record \(id) of \(schema.tables[link.table].name) refers to one of", zone)
      }
    }
  }

  private static func tied(_ zone: String, _ why: String, _ other: String) -> ServerError {
    ServerError(.refused, "The zones can't be in different databases: \(zone): \(why) \(other).")
  }

  /// Takes a zone back whose move was cancelled.
  ///
  /// - Parameter number: that of the move.
  package func takeBack(_ zone: String, number: Int64, at now: Stamp) throws {
    guard try ledger.leftFor(zone) != nil, try work.store.zones.moveNumber(of: zone) == number else {
      throw ServerError(.refused, "Another command has moved the zone \(zone) meanwhile.")
    }
    try ledger.setMoved(zone, to: nil, number: number)
    try stores.settleAccess(to: zone)
    for member in try stores.memberList.all(of: zone) {
      if let record = try stores.tables[stores.members].record(member.id) { try stores.resend(record) }
    }
  }

  // MARK: In the database that gets the zone

  /// Has a zone arrive, which nobody sees before the transaction is committed.
  ///
  /// - Parameters:
  ///   - database: the database that had it.
  ///   - number: that of the move.
  ///   - pages: calls its parameter with all changes of the zone in the other database, table by table, a page at a time. Returns the zone's seq and
  ///     purge horizon there, as they are behind the last page: change tokens of before are fenced, as their devices may lack deletions (I8).
  /// - Returns: how many records and deletions have arrived.
  /// - Throws: `ServerError.refused`.
  package func arrive(
    _ zone: String, from database: String, number: Int64, at now: Stamp,
    _ pages: (_ take: (_ table: Int, _ changes: [RecordChange]) throws -> Void) throws -> (
      seq: Int64, purged: Int64
    )
  ) throws -> (records: Int, deletions: Int) {
    // Where the zone was before, tokens of that time know nothing of records that have left it since (I4).
    let horizon = try claim(zone, number) ? ledger.seq(of: zone) : 0
    var (records, deletions, last) = (0, 0, try ledger.seq(of: zone))
    let there = try pages { table, changes in
      try stores.tables[table].prefetch(changes.map(\.id))
      for change in changes {
        last = max(last, change.seq)
        switch change.content {
        case .live(let record):
          try take(record, from: database, at: now)
          records += 1
        case .deleted(let tombstone):
          try take(tombstone, of: change.id, table, at: now)
          deletions += 1
        case .departed, .missing: break
        }
      }
      try work.transaction.settle { false }
    }
    if records == 0 {
      throw ServerError(.refused, "Nothing of the zone \(zone) is left in the database \(database).")
    }
    // The last changes may have been deletions that were purged. Those that are here stay, below the horizon too: edits of their records may still come.
    last = max(last, there.seq)
    try ledger.setMoved(zone, to: nil, number: number, purged: max(horizon, there.purged))
    try ledger.setSeq(last, of: zone)
    try stores.settleAccess(to: zone)
    return (records, deletions)
  }

  private func take(_ record: StoredRecord, from database: String, at now: Stamp) throws {
    let name = stores.schema.tables[record.table].name
    if let known = try stores.tables[record.table].record(record.id) {
      throw Self.inTheWay(known, of: name)
    }
    if record.table == stores.members, let user = record.values[stores.memberColumns.user].text,
      try work.store.accounts.name(ofID: user) == nil
    {
      throw ServerError(
        .refused, "The member \(user) is being erased. Run the command again in a minute.")
    }
    guard let stamps = RecordStamps(record.stamps) else {
      throw ServerError(
        .damaged, "The stamps of \(name) \(record.id) can't be read in the database \(database).")
    }
    try stores.insert(
      StoredRecord(
        table: record.table, id: record.id, zone: record.zone, seq: record.seq, rev: record.rev,
        stamps: stamps.moved(at: now).text, values: record.values))
  }

  /// - Parameter record: one of another zone, with the id of one that is to arrive.
  package static func inTheWay(_ record: StoredRecord, of table: String) -> ServerError {
    ServerError(
      .refused,
      "The record \(record.id) of \(table) is there already, in the zone \(record.zone). Where that zone has left, drop what is left of it there. A zone that is on its way already comes back with --cancel."
    )
  }

  private func take(_ tombstone: Tombstone, of id: String, _ table: Int, at now: Stamp) throws {
    // It lives in another zone here, or was deleted there: the tombstone is that of a departure then.
    guard let seq = tombstone.seq, try stores.tables[table].record(id) == nil else { return }
    try stores.insert(
      Tombstone(
        zone: tombstone.zone, rev: tombstone.rev, stamp: min(tombstone.stamp, now), device: 0,
        deletedSeq: tombstone.deletedSeq),
      seq: seq, of: id, in: stores.schema.tables[table].name, isDeparture: false)
  }

  /// Takes over the origins of a zone that has arrived, as far as this database knows their users: a copy of a device may still carry the same sets (I1).
  package func take(_ origins: [CarriedOrigin], at now: Stamp) throws {
    for origin in origins where try work.store.accounts.name(ofID: origin.user) != nil {
      _ = try work.store.carried.add(
        CarriedOrigin(
          user: origin.user, origin: origin.origin, zone: origin.zone, at: min(origin.at, now.milliseconds)))
    }
  }

  /// Makes sure that a zone which has not arrived never will by a move of this number or a lesser one.
  ///
  /// - Parameter database: where the zone stays.
  /// - Throws: `ServerError.refused` if it has arrived.
  package func refuse(_ zone: String, stayingIn database: String, number: Int64) throws {
    try claim(zone, number)
    try ledger.setMoved(zone, to: database, number: number, state: .refused)
  }

  /// Makes the row of a zone, and requires that the zone is not here, and has no greater number.
  ///
  /// - Returns: whether the zone was here before.
  @discardableResult
  private func claim(_ zone: String, _ number: Int64) throws -> Bool {
    if try !ledger.exists(zone) {
      try ledger.create(zone)
      try work.transaction.settle { false }
      try ledger.lock(zone)
      return false
    }
    guard try ledger.leftFor(zone) != nil else {
      throw ServerError(.refused, "The zone \(zone) is here already.")
    }
    guard try work.store.zones.moveNumber(of: zone) < number else {
      throw ServerError(
        .refused, "The move of the zone \(zone) was cancelled, or another one has come after it.")
    }
    return true
  }

  // MARK: What is left

  /// Removes the invitations to a zone that has moved to another database, and the origins of the change sets that were carried into it.
  package func dropNotes(of zone: String) throws {
    try work.store.invitations.sweep(zone, at: .max)
    try work.store.carried.removeAll(of: zone)
  }

  /// Removes records and tombstones of a zone that has moved to another database.
  package func drop(_ changes: [RecordChange], of table: Int, in zone: String) throws {
    guard try ledger.leftFor(zone) != nil else {
      throw ServerError(.refused, "The zone \(zone) is here: its records can't be dropped.")
    }
    // SQL of before may refer to them, and a foreign key would take its records along.
    try requireNoReferences(changes.compactMap(\.live), of: table, in: zone)
    try stores.tables[table].prefetch(changes.map(\.id))
    for change in changes {
      if let record = change.live {
        try stores.remove(record)
      } else {
        try stores.tombstones.remove(change.id, of: stores.schema.tables[table].name, in: zone)
      }
    }
    try work.transaction.settle { false }
  }
}
