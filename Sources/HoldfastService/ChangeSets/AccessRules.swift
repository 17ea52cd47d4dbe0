import HoldfastCore

/// The one place that decides whether a role suffices (I10). Sync, REST, batches, restores, recovered records, moves and cascades all ask here.
///
/// A move is a delete in the source and a create in the target, for every record that goes along. A restore into another zone takes the record
/// from its zone, so it needs what a restore there and a move from there need. Deletes of a parent are deletes of the children that they take
/// along inside the zone.
struct AccessRules: ChangeSetPart {
  let run: ChangeSetRun

  /// What is done to a record.
  enum Right { case create, update, delete }

  /// Requires that the author may do something to records of a table in a zone.
  ///
  /// - Parameter why: what the record does, where that is not what the operation says.
  /// - Throws: `Problem`: `roleInsufficient`, also for a stranger to the zone; `tokenLimited` for a table that the service token does not name.
  ///
  /// - Parameter proven: the author's role where that is another than the one of now.
  func require(
    _ right: Right, of table: Int, in zone: String, why: String = "", as proven: Role? = nil
  ) throws {
    if let scope = ledger.scope, !scope.has(table: schema.tables[table]) {
      throw Problem(.tokenLimited, "It does not name the table \(schema.tables[table].name).")
    }
    let least = least(right, of: table)
    guard let role = try proven ?? ledger.role(of: author.user, in: zone), role >= least else {
      throw Problem(.roleInsufficient, "\(schema.tables[table].name)\(why) takes the role \(least).")
    }
  }

  /// Requires that the author may delete a record. Everybody may delete the own membership, and owners of a group what names it.
  func requireDelete(of live: StoredRecord, as proven: Role? = nil) throws {
    let isMember = schema.tables[live.table].zone == .explicit
    if isMember, live.values[stores.memberColumns.user] == .text(author.user) { return }
    if try isMember && isOwnGroup(live) { return }
    try require(.delete, of: live.table, in: live.zone, as: proven)
  }

  /// Whether a membership is that of a group of which the author is an owner: its owners take it back from any zone.
  private func isOwnGroup(_ live: StoredRecord) throws -> Bool {
    guard let group = live.values[stores.memberColumns.group].text,
      try ledger.exists(group)
    else { return false }
    return try stores.memberList.ownRole(of: author.user, in: group) == .owner
  }

  /// Requires that a record may leave one zone for another.
  func requireMove(of table: Int, from source: String, to target: String) throws {
    try require(.delete, of: table, in: source, why: ": to move a record out of its zone")
    try require(.create, of: table, in: target, why: ": to move a record into a zone")
  }

  /// Requires that a deleted record may be restored in another zone than its own.
  func requireTaking(of table: Int, from source: String) throws {
    try require(.create, of: table, in: source, why: ": to restore a record")
    try require(.delete, of: table, in: source, why: ": to restore a record in another zone")
  }

  /// Requires that a record may depend on what the members of another zone delete: a reference that cascades across zones lets them delete it.
  func requireDependence(of record: StoredRecord, by columns: [Int]) throws {
    let links = stores.links[record.table]
    guard links.contains(where: { !$0.isInZone && $0.onDelete == .cascade && columns.contains($0.column) })
    else { return }
    try require(.delete, of: record.table, in: record.zone, why: ": a reference that can delete the record")
  }

  private func least(_ right: Right, of index: Int) -> Role {
    switch schema.tables[index].zone {
    case .explicit: return .owner
    // What the server alone writes is only recovered.
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
