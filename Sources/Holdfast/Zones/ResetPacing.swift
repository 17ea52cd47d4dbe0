import HoldfastCore
import HoldfastSQLite

/// How often a zone is resynced because the server says so: docs/RETENTION.md, section 4.
package struct ResetPacing {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }

  package init(database: LocalDatabase) { self.database = database }

  /// Within this time after a reset another one is put off, in milliseconds.
  private static let hour: Int64 = 3_600_000
  /// The first wait; it doubles up to an hour.
  private static let minute: Int64 = 60_000

  /// Within an hour so many resets of a zone go on at once when each is for a restore of the server: it may be restored twice in a row.
  private static let restores: Int64 = 4

  /// Whether a reset that the server asks for is to be followed at once. If so it is counted.
  ///
  /// - Parameter isRestored: whether the server asks for it because it was restored. The zone has then been whole in an epoch that is over, and
  ///   the device may have what the server lacks.
  func mayReset(_ zone: String, isRestored: Bool = false) throws -> Bool {
    let now = try database.wallClock()
    let row = try connection.row("SELECT at, count, until FROM holdfast_resets WHERE zone = ?", [.text(zone)])
    // What no such row can have says nothing.
    guard let row, let at = row[0].integer, let count = row[1].integer, (0..<Int64.max / 2).contains(at),
      (1...60).contains(count)
    else { return try countReset(of: zone, at: now, count: 1) }
    if isRestored, count < Self.restores, now - at < Self.hour {
      return try countReset(of: zone, at: now, count: count + 1)
    }
    let wait = Self.minute << min(max(count - 1, 0), 6)
    if let until = row[2].integer {
      // A clock that went back must not make the wait longer.
      let end = min(until, now + min(wait, Self.hour))
      if end <= now { return try countReset(of: zone, at: now, count: count + 1) }
      if end < until { try putOff(zone, until: end) }
      return false
    }
    if now - at >= Self.hour { return try countReset(of: zone, at: now, count: 1) }
    try putOff(zone, until: now + min(wait, Self.hour))
    return false
  }

  private func countReset(of zone: String, at now: Int64, count: Int64) throws -> Bool {
    try connection.run(
      "INSERT OR REPLACE INTO holdfast_resets (zone, at, count) VALUES (?, ?, ?)",
      [.text(zone), .integer(now), .integer(min(count, 60))])
    return true
  }

  private func putOff(_ zone: String, until: Int64) throws {
    Trace.took(.resetPutOff)
    try connection.run(
      "UPDATE holdfast_resets SET until = ? WHERE zone = ?", [.integer(until), .text(zone)])
  }

  /// The server has said which zones are to be resynced: others wait no longer. Purges the resets of more than an hour ago.
  func note(_ zones: TextSet) throws {
    for waiting in try waitingZones() where !zones.contains(waiting.zone) {
      try connection.run("UPDATE holdfast_resets SET until = NULL WHERE zone = ?", [.text(waiting.zone)])
    }
    try connection.run(
      "DELETE FROM holdfast_resets WHERE until IS NULL AND at < ?",
      [.integer(try database.wallClock() - Self.hour)])
  }

  /// The zones that wait to be resynced.
  package func waitingZones() throws -> [WaitingZone] {
    try connection.rows("SELECT zone, until FROM holdfast_resets WHERE until IS NOT NULL ORDER BY zone").map {
      WaitingZone(zone: $0[0].text ?? "", until: Timestamp.text(milliseconds: $0[1].integer ?? 0))
    }
  }

  /// How long the first of them waits still; nil when none does.
  func wait() throws -> Duration? {
    guard
      let first = try connection.value("SELECT min(until) FROM holdfast_resets WHERE until IS NOT NULL")?
        .integer
    else { return nil }
    let now = try database.wallClock()
    return .milliseconds(first <= now ? 1 : min(first, now + Self.hour) - now)
  }
}
