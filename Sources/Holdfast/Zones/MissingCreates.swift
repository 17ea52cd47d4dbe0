import HoldfastCore
import HoldfastSQLite

/// Records that were created here and arrived, while the device had nothing of their zone yet, or had deleted them. Their deletion may be purged by the time that the
/// zone comes, and a zone from its beginning says nothing of what was purged: docs/RETENTION.md, section 3. Nor does a server that never told of a
/// zone say that it is lost, unless it is asked for it.
struct MissingCreates {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var zones: Zones { Zones(database: database) }
  private var zoneStates: ZoneStates { ZoneStates(database: database) }

  /// The records that change sets created and no answer has brought, in zones that never came whole. Call while their edits are there.
  func records(inSets sets: ClosedRange<Int64>) throws -> [CreatedRecord] {
    // One look at all edits, which have no index by change set.
    let created = try connection.rows(
      "SELECT DISTINCT record_table, id FROM holdfast_edits WHERE change_set BETWEEN ? AND ? AND kind = 'create'",
      [.integer(sets.lowerBound), .integer(sets.upperBound)])
    var ids: [Int: [String]] = [:]
    for row in created {
      guard let table = schema.index(of: row[0].text ?? ""), let id = row[1].text else { continue }
      ids[table, default: []].append(id)
    }
    return try ids.sorted { $0.key < $1.key }.flatMap { table, ids in
      try connection.rows(
        """
        SELECT r."id" FROM json_each(?) AS created CROSS JOIN "\(schema.tables[table].name)" AS r ON r."id" = created.value
        LEFT JOIN holdfast_zones AS z ON z.zone = r."zone" WHERE r."rev" = 0 AND coalesce(z.token, '') = ''
        """, [.list(ids)]
      ).map { CreatedRecord(table: table, id: $0[0].text ?? "") }
    }
  }

  /// Sees to it that those of them that have not come since leave with the next copy of their zone, if they are not in it.
  func await(_ created: [CreatedRecord]) throws {
    var missing: TextSet = []
    for record in created {
      let zone = try connection.value(
        """
        SELECT "zone" FROM "\(schema.tables[record.table].name)" r WHERE "id" = ? AND "rev" = 0 AND NOT EXISTS
          (SELECT 1 FROM holdfast_edits e WHERE e.record_table = '\(schema.tables[record.table].name)' AND e.id = r."id"
            AND e.kind = 'create')
        """, [.text(record.id)])
      if let zone = zone?.text { missing.insert(zone) }
    }
    for zone in missing.sorted() {
      let isOnItsWay = try zoneStates.change(zone) { $0?.removeMissing() == true }
      if !isOnItsWay { try zones.begin(zone) }
    }
  }
}
