import Foundation
import HoldfastCore
import HoldfastSQLite

/// Applying a zone's snapshot in place of its pages: one transaction, by the rules of PROTOCOL.md, section 6.3, step 5.
struct SnapshotApplying {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var sql: [TableStatements] { database.sql }
  private var zones: Zones { Zones(database: database) }
  private var zoneStates: ZoneStates { ZoneStates(database: database) }
  private var orphans: Orphans { Orphans(database: database) }
  private var pendingDeletions: PendingDeletions { PendingDeletions(database: database) }
  private var rebase: Rebase { Rebase(database: database) }
  private var sealing: Sealing { Sealing(database: database) }
  private var zoneChanges: ZoneChanges { ZoneChanges(database: database) }

  /// Applies the snapshot of a zone that the device has nothing of, or resyncs.
  ///
  /// - Parameters:
  ///   - file: a whole snapshot, whose content is the server's.
  ///   - device: whose session it was downloaded in.
  /// - Returns: how many records came; nil when the zone has gone on otherwise meanwhile.
  /// - Throws: `Inapplicable.outdated`; `SnapshotFile.Unfit` when the file is none for this app; `SQLiteError`.
  func apply(snapshot file: String, of zone: String, device: String) throws -> Int? {
    let count = try connection.attaching(file, as: "snapshot") {
      let source = try SnapshotSource(schema, of: zone, on: connection)
      return try apply(source.token, of: zone, device: device) { session in
        var count = 0
        try database.withoutIdleTriggers {
          for table in source.tables { count += try take(table, of: source, session) }
        }
        if session.seen != nil { try removeMissing(source, &session) }
        return count
      }
    }
    // Behind the commit: one that fails is tried again with the same file.
    try? database.transaction(.immediate) { try zones.removeStrayFiles() }
    return count
  }

  /// The same for a snapshot whose file this database is, with what the device had.
  ///
  /// - Throws: `Inapplicable.outdated`, also when the zone has gone on otherwise.
  func apply(_ merging: SnapshotMerging, of zone: String, device: String) throws {
    let count = try apply(merging.token, of: zone, device: device) { _ in
      for (table, records) in merging.edited { try rebase(onto: records, table, of: zone) }
      return merging.edited.count
    }
    if count == nil { throw Inapplicable.outdated }
  }

  private func apply(
    _ token: String, of zone: String, device: String, taking take: (inout ApplySession) throws -> Int
  ) throws -> Int? {
    do { return try apply(token, of: zone, device: device, mayHaveOrphans: false, take) } catch let error
      as SQLiteError where error.code == .constraintForeignKey
    {
      Trace.took(.orphansDropped)
      return try apply(token, of: zone, device: device, mayHaveOrphans: true, take)
    }
  }

  private func apply(
    _ token: String, of zone: String, device: String, mayHaveOrphans: Bool,
    _ take: (inout ApplySession) throws -> Int
  ) throws -> Int? {
    let count = try database.transaction(.immediate) { () -> Int? in
      let state = try database.state()
      guard state.device == device, state.isSignedIn else { throw Inapplicable.outdated }
      guard let known = try zoneStates.state(of: zone), known.ack == "" else { return nil }
      switch known.resync {
      case .recovered, .verified, .compared: return nil
      case .filled where ZoneFilling.history(known.token) != ZoneFilling.history(token):
        return nil
      case .none, .replaced, .filled: break
      }
      try sealing.sealForeign()
      var count = 0
      try database.whileApplying {
        var session = ApplySession(hasEdits: try database.edits.hasAny())
        session.begin(zone: zone, isResync: known.resync != .none)
        count = try take(&session)
        try database.serverSchema.nameConflicts()
        try zoneChanges.removeDeleted(&session)
        try orphans.settle()
        if mayHaveOrphans { try orphans.remove() }
      }
      try connection.run("DELETE FROM holdfast_pages WHERE zone = ?", [.text(zone)])
      try zoneStates.change(zone) { $0?.becomeWhole(bySnapshot: token) }
      return count
    }
    if count != nil { Trace.took(.snapshotApplied) }
    return count
  }

  /// Takes the records of a table: those without edits as they are, the others under their edits.
  private func take(
    _ table: SnapshotSource.Table, of source: SnapshotSource, _ session: ApplySession
  ) throws -> Int {
    let isUnedited =
      session.hasEdits
      ? "NOT EXISTS (SELECT 1 FROM main.holdfast_edits WHERE record_table = '\(table.here)' AND id = source.\"id\")"
      : "1"
    try connection.run(
      """
      INSERT OR FAIL INTO main."\(table.here)" (\(table.names)) SELECT \(table.values) FROM snapshot."\(table.name)" AS source
      WHERE "zone" = ? AND \(isUnedited) \(sql[table.index].onConflict)
      """, [.text(source.zone)])
    let count = connection.changes
    guard session.hasEdits else { return count }
    let edited = try source.edited(table, on: connection)
    try rebase(onto: edited, table.index, of: source.zone)
    return count + edited.count
  }

  /// Takes the device's edits again on top of records: id, zone, rev, then the columns.
  private func rebase(onto records: [[SQLiteValue]], _ table: Int, of zone: String) throws {
    for record in records {
      guard let id = record[0].text, let rev = record[2].integer else { continue }
      try rebase.onto(table, id, zone: zone, rev: rev, values: record.dropFirst(3).map { Value($0) })
    }
  }

  /// In a zone that is resynced: notes for removal the records that the snapshot does not have; see `ZoneChanges`.
  private func removeMissing(_ source: SnapshotSource, _ session: inout ApplySession) throws {
    Trace.took(.resetDone)
    var seen: [Int: TextSet] = [:]
    for (index, table) in schema.tables.enumerated() {
      let their = source.tables.first { $0.index == index }
      let isMissing =
        their.map {
          "NOT EXISTS (SELECT 1 FROM snapshot.\"\($0.name)\" AS there WHERE there.\"id\" = here.\"id\")"
        } ?? "1"
      let ids = try connection.rows(
        """
        SELECT "id" FROM main."\(table.name)" AS here WHERE "zone" = ? AND \(isMissing) AND NOT EXISTS
        (SELECT 1 FROM main.holdfast_edits WHERE record_table = '\(table.name)' AND id = here."id" AND kind = 'create')
        """, [.text(session.zone)])
      for id in ids.compactMap({ $0[0].text }) { session.deleted.append((index, id, session.zone, .max)) }
      guard let their else { continue }
      let edited = try connection.rows(
        """
        SELECT "id" FROM snapshot."\(their.name)" WHERE "id" IN
        (SELECT id FROM main.holdfast_edits WHERE record_table = '\(table.name)')
        """)
      seen[index] = TextSet(edited.compactMap { $0[0].text })
    }
    try pendingDeletions.purge(in: [session.zone: ResyncedZone(seen: seen)])
  }
}
