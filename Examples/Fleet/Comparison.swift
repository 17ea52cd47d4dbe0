import Foundation
import Holdfast
import HoldfastPostgres

/// What must hold in the end, counted in the databases.
struct Comparison {
  private let crew: Crew
  private let server: PostgresConnection

  /// - Parameter database: the URL of the servers' database.
  init(_ crew: Crew, database: String) throws {
    self.crew = crew
    server = try PostgresConnection(database)
  }

  /// The devices that hold something else than the server, or have edits that did not arrive.
  func behind() throws -> [Device] {
    let truth = try Snapshot(of: server)
    let zones = try self.zones()
    return try crew.devices.filter { device in
      let here = try Snapshot(of: device)
      return here.unsettled != 0
        || here.zones != truth.zones.filter { zones[device.user]?.contains($0.key) == true }
    }
  }

  /// Checks everything.
  ///
  /// - Parameter say: takes a line for each check.
  /// - Returns: how many went wrong.
  func run(_ say: (String) -> Void) throws -> Int {
    var wrong = 0
    func check(_ what: String, _ found: Int, expected: Int = 0) {
      if found != expected { wrong += 1 }
      let words = what.padding(toLength: 74, withPad: " ", startingAt: 0)
      say("  \(words) \(found)  \(found == expected ? "ok" : "WRONG, expected \(expected)")")
    }
    let snapshots = try crew.devices.map { try Snapshot(of: $0) }
    check("edits that wait on a device, or were refused", snapshots.reduce(0) { $0 + Int($1.unsettled) })
    check("devices of \(snapshots.count) that differ from the server", try behind().count)
    check("zones of \(crew.listCount) in which two devices differ", try disagreements(snapshots))

    let made = try self.made()
    let live = try revisions()
    let gone = try tombstones()
    let created = made.filter(\.value.isCreated)
    check(
      "items lost, of \(created.count) made", created.count { live[$0.key] == nil && gone[$0.key] == nil })
    check("items gone that nobody deleted", gone.keys.count { made[$0]?.isDeleted != true })
    check("items that came back from their deletion", live.keys.count { made[$0]?.isDeleted == true })
    check("items that nobody made", live.keys.count { made[$0]?.isCreated != true })
    let updates = live.keys.reduce(0) { $0 + Int(made[$1]?.updates ?? 0) }
    check(
      "items with an edit lost or doubled, of \(updates) edits of \(live.count) items",
      live.count { id, rev in rev != 1 + (made[id]?.updates ?? 0) })
    return wrong
  }

  private func disagreements(_ snapshots: [Snapshot]) throws -> Int {
    var versions: [String: Set<[String]>] = [:]
    for snapshot in snapshots {
      for (zone, lines) in snapshot.zones { versions[zone, default: []].insert(lines) }
    }
    return versions.values.count { $0.count > 1 }
  }

  /// The zones of each person, by name.
  private func zones() throws -> [String: Set<String>] {
    let rows = try server.query("SELECT name, zone FROM holdfast.members")
    return rows.indices.reduce(into: [:]) { $0[rows.text($1, 0), default: []].insert(rows.text($1, 1)) }
  }

  /// What was done to items: by the devices, and by writers of SQL, who note it in the table `fleet_edits`.
  private func made() throws -> [String: Journal.Item] {
    var items = crew.journal.items
    if try server.query("SELECT to_regclass('fleet_edits') IS NULL").bool(0, 0) { return items }
    let rows = try server.query("SELECT id, kind FROM fleet_edits")
    for row in rows.indices {
      switch rows.text(row, 1) {
      case "created": items[rows.text(row, 0), default: .init()].isCreated = true
      case "deleted": items[rows.text(row, 0), default: .init()].isDeleted = true
      default: items[rows.text(row, 0), default: .init()].updates += 1
      }
    }
    return items
  }

  private func revisions() throws -> [String: Int64] {
    try ledger("SELECT id, rev FROM holdfast.records WHERE record_table = 'items' AND state = 0")
  }

  private func tombstones() throws -> [String: Int64] {
    try ledger("SELECT id, rev FROM holdfast.records WHERE record_table = 'items' AND state = 1")
  }

  private func ledger(_ sql: String) throws -> [String: Int64] {
    let rows = try server.query(PostgresStatement(sql))
    return rows.indices.reduce(into: [:]) { $0[rows.text($1, 0)] = rows.int64($1, 1) }
  }
}
