import HoldfastCore
import HoldfastSQLite

/// The stored states of this device's zones, a row each; `ZoneState` has their transitions.
struct ZoneStates {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }

  private static let columns = "role, token, ack, sent, resync, proof, claimed_role"

  /// Nil for a zone that is none of this device's.
  func state(of zone: String) throws -> ZoneState? {
    try connection.row("SELECT \(Self.columns) FROM holdfast_zones WHERE zone = ?", [.text(zone)]).map {
      Self.state($0[...]) ?? .unreadable
    }
  }

  /// The states of all zones; nil for one whose values no transition leads to.
  func all() throws -> [(zone: String, state: ZoneState?)] {
    try connection.rows("SELECT zone, \(Self.columns) FROM holdfast_zones ORDER BY zone").compactMap { row in
      row[0].text.map { ($0, Self.state(row[1...])) }
    }
  }

  private static func state(_ row: ArraySlice<SQLiteValue>) -> ZoneState? {
    let row = Array(row)
    if row[2] != .null, row[2].text == nil { return nil }
    return ZoneState(
      role: row[0].text, token: row[1].text, ack: row[2].text, isSent: row[3] == .integer(1),
      resync: row[4].text, proof: row[5].text, claimedRole: row[6].text)
  }

  /// Applies a transition to the state of one zone and stores the result.
  @discardableResult
  func change<Result>(_ zone: String, _ transition: (inout ZoneState?) throws -> Result) throws -> Result {
    let before = try state(of: zone)
    var state = before
    let result = try transition(&state)
    // One that could not be read is written also if nothing changes.
    if state == before, before != .unreadable { return result }
    guard let state else {
      try connection.run("DELETE FROM holdfast_zones WHERE zone = ?", [.text(zone)])
      return result
    }
    try connection.run(
      "INSERT OR REPLACE INTO holdfast_zones (zone, \(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      [
        .text(zone), .text(state.role), .text(state.token), state.ack.map(SQLiteValue.text) ?? .null,
        .integer(state.isSent ? 1 : 0), .text(state.resync.rawValue), .text(state.proof),
        .text(state.claimedRole),
      ])
    return result
  }

  /// Applies a transition to the states of all zones.
  func changeAll(_ transition: (inout ZoneState) -> Void) throws {
    for (zone, _) in try all() {
      try change(zone) { state in
        guard var changed = state else { return }
        transition(&changed)
        state = changed
      }
    }
  }
}
