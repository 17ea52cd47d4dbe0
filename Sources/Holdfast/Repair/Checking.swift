import HoldfastCore
import HoldfastSQLite

/// What is wrong with a device's database.
public struct StoreFindings: Sendable, Hashable {
  /// What SQLite says of pages and indexes, at most 100 lines; empty when they are well.
  public internal(set) var file: [String] = []
  /// The zones with records whose reference names none, or which the device does not have.
  public internal(set) var zones: TextSet = []

  /// Whether all is well.
  public var isSound: Bool { file.isEmpty && zones.isEmpty }
}

/// Checking the device's copy, and resyncing it. See docs/SNAPSHOTS.md, section 5.
extension LocalDatabase {
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
    findings.zones.formUnion(try unknownZones())
    return findings
  }

  /// The zones that the device does not have, and of which confirmed records are here. Looks at whole tables.
  func unknownZones() throws -> TextSet {
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

  /// Resyncs zones; what is here stays until the new copies are whole.
  ///
  /// - Parameter zone: nil for all.
  func reset(_ zone: String?) throws {
    try transaction(.immediate) {
      let zones =
        try zone.map { [$0] } ?? connection.rows("SELECT zone FROM holdfast_zones").compactMap { $0[0].text }
      for zone in zones {
        try resync(zone)
        // It may be of before what this device has sent since.
        snapshots?.remove(zone)
      }
      try removeStrayFiles()
    }
  }

  /// Checks, and resyncs what is not sound.
  func repair() throws -> StoreFindings {
    let findings = try check()
    if findings.isSound { return findings }
    // Before anything is written by way of them.
    if !findings.file.isEmpty { try connection.execute("REINDEX") }
    try transaction(.immediate) {
      for zone in findings.zones { try know(zone) }
      let all = try connection.rows("SELECT zone FROM holdfast_zones").compactMap { $0[0].text }
      for zone in findings.file.isEmpty ? Array(findings.zones) : all { try resync(zone) }
      try removeStrayFiles()
    }
    return findings
  }

  /// Makes a zone one of the device's, so that the server says what is in it, or that it is lost. A public one that is not followed goes.
  func know(_ zone: String) throws {
    let known = try connection.value(
      "SELECT 1 FROM holdfast_zones WHERE zone = ? AND ack IS NOT NULL", [.text(zone)])
    if known != nil { return }
    if schema.publicZones.contains(zone) {
      return try whileApplying {
        try lose(zone)
        try settleOrphans()
      }
    }
    try connection.run(
      "INSERT INTO holdfast_zones (zone) VALUES (?) ON CONFLICT (zone) DO UPDATE SET ack = ''", [.text(zone)])
  }
}
