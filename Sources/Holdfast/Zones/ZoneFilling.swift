import HoldfastCore
import HoldfastSQLite

/// Fetching all zones again for columns that are new to the app. See docs/SCHEMA-CHANGES.md, section 3.
struct ZoneFilling {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var zoneStates: ZoneStates { ZoneStates(database: database) }

  /// Records that came before a column was known are fetched again, so that the column is filled.
  func begin() throws {
    try connection.execute("DELETE FROM holdfast_pages")
    try zoneStates.changeAll { $0.fill() }
  }

  /// Whether a part, the first of its zone, is of another history than what is here and is only to be filled in: from one that has it from the
  /// beginning the server can't tell what it has lost.
  func isOfOtherHistory(_ part: SyncAnswer.Part) throws -> Bool {
    // One for which there was no room says nothing.
    guard part.from.isEmpty, !part.to.isEmpty, !part.isReset else { return false }
    guard let known = try zoneStates.state(of: part.zone), known.resync == .filled else { return false }
    return Self.history(known.token) != Self.history(part.to)
  }

  /// What tells the histories of two tokens apart. Source: PROTOCOL.md, section 1.
  static func history(_ token: String) -> Substring { token.prefix { $0 != "." } }

  /// Sends the last whole position of a zone again, so that the server verifies it.
  ///
  /// - Returns: false when the zone is not one that is filled in.
  func askAgain(_ zone: String) throws -> Bool {
    guard try zoneStates.change(zone, { $0?.verify() == true }) else { return false }
    Trace.took(.fillingVerified)
    try connection.run("DELETE FROM holdfast_pages WHERE zone = ?", [.text(zone)])
    return true
  }

  /// Goes on to fill in the zones of which the server has found nothing wrong.
  func goOn() throws {
    let verified = try connection.rows(
      """
      SELECT zone FROM holdfast_zones WHERE resync = 'verified'
      AND zone NOT IN (SELECT zone FROM holdfast_awaiting_recovery)
      AND zone NOT IN (SELECT zone FROM holdfast_resets WHERE until IS NOT NULL)
      """)
    for zone in verified.compactMap({ $0[0].text }) { try zoneStates.change(zone) { $0?.goOnFilling() } }
  }
}
