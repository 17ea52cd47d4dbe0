import HoldfastCore
import HoldfastSQLite

/// The transitions of zones that change more than their state: pages, records and files go with it.
struct Zones {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var zoneStates: ZoneStates { ZoneStates(database: database) }
  private var orphans: Orphans { Orphans(database: database) }
  private var pendingDeletions: PendingDeletions { PendingDeletions(database: database) }

  /// The same as `resync` for a zone of which the device may have nothing. A public one that it does not follow is given up.
  func begin(_ zone: String, isRestored: Bool = false) throws {
    try zoneStates.change(zone) { $0 = $0 ?? (schema.publicZones.contains(zone) ? .left : ZoneState()) }
    try resync(zone, isRestored: isRestored)
  }

  /// Asks the server for a zone from its beginning; what is here stays until the new copy is whole.
  ///
  /// - Parameter isRestored: whether the server has lost some of it, which is then to be recovered.
  func resync(_ zone: String, isRestored: Bool = false) throws {
    try connection.run("DELETE FROM holdfast_pages WHERE zone = ?", [.text(zone)])
    try zoneStates.change(zone) { $0?.resync(isRestored ? .recovered : .replaced) }
  }

  /// The same, but a restored server that can't give the zone does not take the copy away.
  func fill(_ zone: String) throws {
    try connection.run("DELETE FROM holdfast_pages WHERE zone = ?", [.text(zone)])
    try zoneStates.change(zone) { $0?.fill() }
  }

  /// Makes a zone one of the device's, so that the server says what is in it, or that it is lost. A public one that is not followed goes.
  func add(_ zone: String) throws {
    if try zoneStates.state(of: zone)?.isFollowed == true { return }
    if schema.publicZones.contains(zone) {
      return try database.whileApplying {
        try lose([zone])
        try orphans.settle()
      }
    }
    try take(zone)
  }

  /// Removes zones that this device may no longer read. The next request acknowledges it, also where nothing of them is here: the
  /// server repeats the removal until then. Looks once at whole tables.
  /// Unsent edits stay in the outbox; the server refuses them by name.
  func lose(_ zones: [String]) throws {
    if zones.isEmpty { return }
    Trace.took(.zoneLost)
    let names = SQLiteValue.list(zones)
    for table in schema.tables {
      try connection.run(
        "DELETE FROM \"\(table.name)\" WHERE \"zone\" IN (SELECT value FROM json_each(?))", [names])
    }
    try pendingDeletions.purge(in: TextMap(zones.map { ($0, ResyncedZone()) }))
    for table in ["pages", "recovered", "deleted", "awaiting_recovery", "recovery_claims"] {
      try connection.run(
        "DELETE FROM holdfast_\(table) WHERE zone IN (SELECT value FROM json_each(?))", [names])
    }
    for zone in zones { try zoneStates.change(zone) { $0 = .left } }
  }

  /// Makes a zone one of the device's.
  func take(_ zone: String) throws {
    try zoneStates.change(zone) {
      $0 = $0 ?? ZoneState()
      $0?.follow()
    }
  }

  /// The server has stored these acks, and forgets the zones that this device has left.
  func noteSent(_ acks: [SyncRequest.Ack]) throws {
    for ack in acks {
      try zoneStates.change(ack.zone) {
        if let token = ack.token {
          $0?.noteSent(token)
        } else if $0?.isFollowed == false {
          $0 = nil
        }
      }
    }
  }

  /// Gives a record that was written before its parent, or before the first sign-in, its zone.
  @discardableResult
  func complete(_ table: Int, _ id: String) throws -> String? {
    guard let record = try database.row(table, id) else { return nil }
    if let zone = record.zone { return zone }
    guard case .parent(let name) = schema.tables[table].zone,
      let link = schema.links(of: table).first(where: { schema.tables[table].columns[$0.column].name == name }
      ),
      case .text(let parent) = record.values[link.column], let zone = try complete(link.target, parent)
    else { return nil }
    try connection.run(
      "UPDATE \"\(schema.tables[table].name)\" SET \"zone\" = ? WHERE \"id\" = ?", [.text(zone), .text(id)])
    return zone
  }

  /// The zones that the device does not have, and of which confirmed records are here. Looks at whole tables.
  func unknown() throws -> TextSet {
    var zones: TextSet = []
    for table in schema.tables {
      // What was created here may be in a zone that only the server will make.
      let strays = try connection.rows(
        """
        SELECT DISTINCT "zone" FROM "\(table.name)" AS here WHERE "rev" > 0 AND "zone" IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM holdfast_zones WHERE holdfast_zones.zone = here."zone" AND ack IS NOT NULL)
        """)
      zones.formUnion(strays.compactMap { $0[0].text })
    }
    return zones
  }

  /// Removes the files of pages that no row names, and of snapshots whose zones do not wait for one. Call under the writer's lock:
  /// a page that is just being saved by another process has no row yet.
  func removeStrayFiles() throws {
    database.pages.removeAll(
      but: TextSet(try connection.rows("SELECT file FROM holdfast_pages").compactMap { $0[0].text }))
    database.snapshots?.removeAll(
      but: try connection.rows("SELECT zone FROM holdfast_zones WHERE ack = ''").compactMap { $0[0].text })
  }
}
