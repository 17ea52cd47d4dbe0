import HoldfastCore

/// The access control of writes: decides whether a role suffices (I10). Sync, REST, batches, restores, recovered records, moves and
/// cascades all use it.
///
/// A move is a delete in the source and a create in the target, for every record that moves along. A restore into another zone requires the
/// rights of a restore in the old zone and of a move. A delete of a parent is also a delete of each child that cascades inside the zone.
struct AccessRules: ChangeSetPart {
  let run: ChangeSetRun

  /// The operation on a record.
  enum Right { case create, update, delete }

  /// Requires that the author may perform an operation on records of a table in a zone.
  ///
  /// - Parameters:
  ///   - why: the effect on the record, if the operation does not state it.
  ///   - proven: the author's role, if it differs from the current one.
  /// - Throws: `Problem`: `roleInsufficient`, also for a user without access; `tokenLimited` for a table outside the scope of the service
  ///   token.
  func require(
    _ right: Right, of table: Int, in zone: String, why: String = "", as proven: Role? = nil
  ) throws {
    try ledger.scope?.require(table: schema.tables[table])
    let least = least(right, of: table)
    guard let role = try proven ?? ledger.role(of: author.user, in: zone), role >= least else {
      throw Problem(.roleInsufficient, "\(schema.tables[table].name)\(why) takes the role \(least).")
    }
  }

  /// Requires that the author may delete a record. Every user may delete the own membership. Owners of a group may delete the memberships
  /// that name it.
  func requireDelete(of live: StoredRecord, as proven: Role? = nil) throws {
    let isMember = schema.tables[live.table].zone == .explicit
    if isMember, live.values[stores.memberColumns.user] == .text(author.user) { return }
    if try isMember && isOwnGroup(live) { return }
    try require(.delete, of: live.table, in: live.zone, as: proven)
  }

  /// Whether a membership names a group that the author owns. The group's owners can withdraw the group from any zone.
  private func isOwnGroup(_ live: StoredRecord) throws -> Bool {
    guard let group = live.values[stores.memberColumns.group].text,
      try ledger.exists(group)
    else { return false }
    return try stores.memberList.ownRole(of: author.user, in: group) == .owner
  }

  /// Requires that a record may move from one zone to another.
  func requireMove(of table: Int, from source: String, to target: String) throws {
    try require(.delete, of: table, in: source, why: ": to move a record out of its zone")
    try require(.create, of: table, in: target, why: ": to move a record into a zone")
  }

  /// Requires that a deleted record may be restored in another zone.
  func requireTaking(of table: Int, from source: String) throws {
    try require(.create, of: table, in: source, why: ": to restore a record")
    try require(.delete, of: table, in: source, why: ": to restore a record in another zone")
  }

  /// Requires the delete right for references that let others delete the record: those that cascade from another zone, because the members
  /// of that zone then delete it, with all below it, by a deletion of their own. The same holds for a new place below a record that has such a
  /// reference.
  ///
  /// - Parameters:
  ///   - record: the record as it is after the change.
  ///   - columns: the columns that the change sets.
  ///   - isNew: whether the record is new in its zone. Whoever made the parent depend on another zone then answers for its place.
  ///   - proven: the author's role, if it differs from the current one.
  func requireDependence(
    of record: StoredRecord, by columns: some Collection<Int>, isNew: Bool,
    as proven: @autoclosure () throws -> Role? = nil
  ) throws {
    var parents: [Footprint.Key] = []
    var isDependent = false
    for link in schema.links(of: record.table) where columns.contains(link.column) && deletes(link) {
      guard let id = record.values[link.column].text else { continue }
      if !link.isInZone {
        isDependent = true
      } else if !isNew {
        parents.append(Footprint.Key(table: link.target, id: id))
      }
    }
    if !isDependent, parents.isEmpty { return }
    do { try requireDeleteWithAllBelow(record, as: proven()) } catch let problem as Problem {
      if try isDependent || parents.contains(where: canGoWithAnotherZone) { throw problem }
    }
  }

  /// Requires the delete right for a record's table, and for each table whose records can go along with it.
  private func requireDeleteWithAllBelow(_ record: StoredRecord, as proven: Role?) throws {
    var (known, next) = ([record.table], [record.table])
    while let table = next.popLast() {
      try require(.delete, of: table, in: record.zone, why: ": a reference that can delete it", as: proven)
      for link in schema.links(to: table) where link.isInZone && deletes(link) && !known.contains(link.table)
      {
        known.append(link.table)
        next.append(link.table)
      }
    }
  }

  /// The number of records above one that are searched. A record with more above it counts as one that can go.
  private static let searched = 1000

  /// Whether a record goes with a record of another zone: by a reference of its own, or of a record above it.
  private func canGoWithAnotherZone(_ key: Footprint.Key) throws -> Bool {
    var (known, next) = (Set([key]), [key])
    while let key = next.popLast() {
      guard let record = try stores.tables[key.table].record(key.id) else { continue }
      run.work.addEdit()
      for link in schema.links(of: key.table) where deletes(link) {
        guard let id = record.values[link.column].text else { continue }
        if !link.isInZone || known.count > Self.searched { return true }
        let parent = Footprint.Key(table: link.target, id: id)
        if known.insert(parent).inserted { next.append(parent) }
      }
    }
    return false
  }

  /// Whether a record goes with the one that a reference names, when that one goes with a record of another zone.
  private func deletes(_ link: SyncSchema.Link) -> Bool { schema.unrestricted(link) == .cascade }

  private func least(_ right: Right, of index: Int) -> Role {
    switch schema.tables[index].zone {
    case .explicit: return .owner
    // Records that only the server writes are merely recovered, never created or changed by others.
    case .server: return .editor
    case .root, .parent, .user, .public: break
    }
    let roles = schema.tables[index].roles
    return switch right {
    case .create: roles.create
    case .update: roles.update
    case .delete: roles.delete
    }
  }
}
