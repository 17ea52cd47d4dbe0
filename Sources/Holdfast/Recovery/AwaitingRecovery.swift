import HoldfastCore
import HoldfastSQLite

/// Zones that wait for a restored server to know whose they are. See docs/RESTORING.md, section 7.
package struct AwaitingRecovery {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var zones: Zones { Zones(database: database) }
  private var quarantine: Quarantine { Quarantine(database: database) }
  private var recoveredRecords: RecoveredRecords { RecoveredRecords(database: database) }

  package init(database: LocalDatabase) { self.database = database }

  /// So long a zone stays that the restored server knows, without its user: an owner's device may hand the membership back.
  private static let holding: Int64 = 24 * 3_600_000
  /// How many operations a change set has that keeps what a zone had, and about how many bytes.
  private static let (keptCount, keptSize) = (500, 1 << 20)

  /// Keeps zones of which the restored server can't say whether they may be read, until it can, or the time for that is over.
  ///
  /// - Returns: how many change sets went into quarantine.
  func remember(_ awaited: [SyncAnswer.AwaitingZone], at clock: Stamp) throws -> Int {
    var ended: TextSet = []
    for zone in awaited {
      let known = try connection.value(
        "SELECT 1 FROM holdfast_zones WHERE zone = ? AND ack IS NOT NULL", [.text(zone.zone)])
      guard known != nil else { continue }
      var until = zone.until
      if until == nil {
        until = try connection.value(
          "SELECT until FROM holdfast_awaiting_recovery WHERE zone = ?", [.text(zone.zone)])?
          .integer
      }
      let end = until ?? clock.milliseconds + Self.holding
      if end < clock.milliseconds {
        ended.insert(zone.zone)
      } else {
        try connection.run(
          "INSERT OR REPLACE INTO holdfast_awaiting_recovery (zone, until, is_unknown) VALUES (?, ?, ?)",
          [.text(zone.zone), .integer(end), .integer(zone.isUnknown ? 1 : 0)])
      }
    }
    return try abandon(ended.sorted())
  }

  /// Ends the wait of the zones that an answer names no longer.
  func release(_ answer: SyncAnswer) throws {
    let awaiting = TextSet(answer.awaitingRecovery.map(\.zone))
    let zones = try connection.rows("SELECT zone FROM holdfast_awaiting_recovery").compactMap { $0[0].text }
    for zone in zones where !awaiting.contains(zone) {
      try connection.run("DELETE FROM holdfast_awaiting_recovery WHERE zone = ?", [.text(zone)])
    }
  }

  func contains(_ zone: String) throws -> Bool {
    try connection.value("SELECT 1 FROM holdfast_awaiting_recovery WHERE zone = ?", [.text(zone)]) != nil
  }

  /// Lets zones go that were not recovered: what the user could write there goes into quarantine, as the server has none of it.
  ///
  /// - Parameter zones: each once.
  /// - Returns: how many change sets.
  func abandon(_ zones: [String]) throws -> Int {
    if zones.isEmpty { return 0 }
    Trace.took(.zoneGivenUp)
    var missing: TextMap<ResyncedZone> = [:]
    for zone in zones {
      let role = try connection.value("SELECT role FROM holdfast_zones WHERE zone = ?", [.text(zone)])?.text
      missing[zone] = ResyncedZone(writable: recoveredRecords.writable(role.flatMap(Role.init)))
    }
    // They are noted as if they were to be recovered, and kept as edits that can be sent again.
    try recoveredRecords.noteMissing(in: &missing)
    var kept = 0
    var (set, size): ([[UInt8]], Int) = ([], 0)
    var lacking = LackingRecords()
    func keep() throws {
      if set.isEmpty { return }
      let body = Array("[".utf8) + set.joined(separator: Array(",".utf8)) + Array("]".utf8)
      try quarantine.add(
        first: -1, body: body, operation: -1, problem: Problem(.zoneNotRecovered).document, RolledBack(),
        &lacking)
      kept += 1
      (set, size) = ([], 0)
    }
    let user = try database.state().user
    var zone = SQLiteValue.null
    // A change set has records of one zone.
    try connection.forEachRow(
      """
      SELECT zone, body, arrived_in FROM holdfast_recovered WHERE zone IN (SELECT value FROM json_each(?))
      ORDER BY zone, n
      """, [.list(zones)]
    ) { statement in
      let row = statement.values
      if row[0] != zone { try keep() }
      zone = row[0]
      if let arrival = row[2].text { try self.zones.resync(arrival) }
      guard let operation = try recoveredRecords.operation(of: row[1].blob ?? [], exceptMembershipOf: user)
      else { return }
      set.append(operation)
      size += operation.count
      if set.count == Self.keptCount || size > Self.keptSize { try keep() }
    }
    try keep()
    try self.zones.lose(zones)
    return kept
  }

  /// The zones that await recovery.
  package func awaitingZones() throws -> [ZoneAwaitingRecovery] {
    try connection.rows("SELECT zone, until, is_unknown FROM holdfast_awaiting_recovery ORDER BY zone").map {
      ZoneAwaitingRecovery(
        zone: $0[0].text ?? "", reason: $0[2].integer == 1 ? .zone : .membership,
        until: Timestamp.text(milliseconds: $0[1].integer ?? 0))
    }
  }
}
