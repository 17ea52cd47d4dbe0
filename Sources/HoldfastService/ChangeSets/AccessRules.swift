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

  /// Requires the delete right for a reference that cascades across zones, because it lets the members of the other zone delete the record.
  func requireDependence(of record: StoredRecord, by columns: [Int]) throws {
    let links = stores.links[record.table]
    guard links.contains(where: { !$0.isInZone && $0.onDelete == .cascade && columns.contains($0.column) })
    else { return }
    try require(.delete, of: record.table, in: record.zone, why: ": a reference that can delete the record")
  }

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
