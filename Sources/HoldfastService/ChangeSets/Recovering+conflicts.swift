import HoldfastCore

/// Recovered records of `conflicts`. The server itself has written these, so a device could recover invented ones: edits of other people, or
/// of records in other zones.
extension Recovering {
  /// The columns of `conflicts` with the users and devices of edits and of the choice.
  private static let people = [
    ("winner_user", "winner_device"), ("loser_user", "loser_device"), ("resolved_by", nil),
  ]
  private static let choice: TextSet = [TableSchema.resolutionColumn, "resolved_by", "resolved_at"]

  /// Whether recovery changes a column of a live record: in a membership only the role, in a conflict only the choice.
  func changes(_ column: ColumnSchema, of table: TableSchema) -> Bool {
    switch table.zone {
    case .explicit: column.name == TableSchema.members.columns[stores.memberColumns.role].name
    case .server: Self.choice.contains(column.name)
    default: true
    }
  }

  /// The values of a recovered record as far as they can be true: a conflict names only users with access to its zone.
  func believable(_ values: [Value], of table: TableSchema, in zone: String) throws -> [Value] {
    if table.zone != .server { return values }
    var values = values
    for (user, device) in Self.people {
      guard let index = table.index(of: user) else { continue }
      if let id = values[index].text, try ledger.memberRole(of: id, in: zone) != nil { continue }
      values[index] = .null
      if let device, let index = table.index(of: device) { values[index] = .null }
    }
    return values
  }

  /// Requires that a recovered conflict is about a record of its zone, or about one that is unknown. Its choice edits that record.
  ///
  /// - Throws: `Problem.referenceMissing`.
  func requireRecord(ofConflict values: [Value], in zone: String) throws {
    let conflict = ConflictRecord(
      StoredRecord(
        table: stores.conflicts, id: "", zone: zone, seq: 0, rev: 0, stamps: "", values: values))
    guard let table = schema.index(of: conflict["record_table"].text ?? ""),
      let id = conflict["record_id"].text
    else { return }
    let entry = try stores.transaction.glance(Footprint.Key(table: table, id: id))
    if entry.isNowhere || entry.places[zone] != nil { return }
    throw Problem(.referenceMissing, "conflicts.record_id")
  }
}
