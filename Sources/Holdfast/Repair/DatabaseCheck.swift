import HoldfastCore
import HoldfastSQLite

/// Checking the device's copy, and resyncing it. See docs/SNAPSHOTS.md, section 5.
struct DatabaseCheck {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var zones: Zones { Zones(database: database) }
  private var sealing: Sealing { Sealing(database: database) }

  /// Looks through the whole database.
  func check() throws -> StoreFindings {
    var findings = StoreFindings()
    findings.file = try connection.rows("PRAGMA integrity_check(100)").compactMap { $0[0].text }
      .filter { $0 != "ok" }
    for row in try connection.rows("PRAGMA foreign_key_check") {
      guard let name = row[0].text, let table = schema.table(name), let number = row[1].integer else {
        continue
      }
      let zone = try connection.value(
        "SELECT \"zone\" FROM \"\(table.name)\" WHERE rowid = ?", [.integer(number)])
      if let zone = zone?.text { findings.zones.insert(zone) }
    }
    findings.zones.formUnion(try zones.unknown())
    return findings
  }

  /// Resyncs zones; what is here stays until the new copies are whole.
  ///
  /// - Parameter zone: nil for all.
  func reset(_ zone: String?) throws {
    try database.transaction(.immediate) {
      let all = { try self.connection.rows("SELECT zone FROM holdfast_zones").compactMap { $0[0].text } }
      for zone in try zone.map({ [$0] }) ?? all() {
        try zones.fill(zone)
        // It may be of before what this device has sent since.
        database.snapshots?.remove(zone)
      }
      try zones.removeStrayFiles()
    }
  }

  /// Checks, and resyncs what is not sound.
  func repair() throws -> StoreFindings {
    let findings = try check()
    if findings.isSound { return findings }
    // Before anything is written by way of them.
    if !findings.file.isEmpty { try connection.execute("REINDEX") }
    try database.transaction(.immediate) {
      // Records of a public zone that is not followed go.
      try sealing.sealForeign()
      for zone in findings.zones { try zones.add(zone) }
      let all = try connection.rows("SELECT zone FROM holdfast_zones").compactMap { $0[0].text }
      for zone in findings.file.isEmpty ? Array(findings.zones) : all { try zones.fill(zone) }
      try zones.removeStrayFiles()
    }
    return findings
  }
}
