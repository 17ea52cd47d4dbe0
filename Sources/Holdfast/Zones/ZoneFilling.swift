import HoldfastCore
import HoldfastSQLite

/// Fetching all zones again for columns that are new to the app. See docs/SCHEMA-CHANGES.md, section 3.
struct ZoneFilling {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }

  /// Records that came before a column was known are fetched again, so that the column is filled.
  func begin() throws {
    try connection.execute("DELETE FROM holdfast_pages")
    try connection.execute(
      """
      UPDATE holdfast_zones SET ack = '', sent = 0,
        resync = CASE WHEN resync IN (1, 2, 5) THEN resync WHEN token = '' THEN 1 ELSE 3 END
      WHERE ack IS NOT NULL
      """)
  }

  /// Whether a part, the first of its zone, is of another history than what is here and is only to be filled in: from one that has it from the
  /// beginning the server can't tell what it has lost.
  func isOfOtherHistory(_ part: SyncAnswer.Part) throws -> Bool {
    // One for which there was no room says nothing.
    guard part.from.isEmpty, !part.to.isEmpty, !part.isReset else { return false }
    let known = try connection.row(
      "SELECT token, resync FROM holdfast_zones WHERE zone = ?", [.text(part.zone)])
    guard let known, known[1].integer == ResyncReason.filled.rawValue else { return false }
    return Self.history(known[0].text ?? "") != Self.history(part.to)
  }

  /// What tells the histories of two tokens apart. Source: PROTOCOL.md, section 1.
  static func history(_ token: String) -> Substring { token.prefix { $0 != "." } }

  /// Says again up to where a zone is whole here, so that the server judges that.
  ///
  /// - Returns: false when the zone is not one that is filled in.
  func askAgain(_ zone: String) throws -> Bool {
    try connection.run(
      "UPDATE holdfast_zones SET ack = token, sent = 0, resync = 4 WHERE zone = ? AND resync = 3",
      [.text(zone)]
    )
    if connection.changes == 0 { return false }
    Trace.took(.fillingVerified)
    try connection.run("DELETE FROM holdfast_pages WHERE zone = ?", [.text(zone)])
    return true
  }

  /// Goes on to fill in the zones of which the server has found nothing wrong.
  func goOn() throws {
    try connection.run(
      """
      UPDATE holdfast_zones SET ack = '', sent = 0, resync = 3
      WHERE resync = 4 AND ack = token AND sent = 1 AND zone NOT IN (SELECT zone FROM holdfast_awaiting_recovery)
        AND zone NOT IN (SELECT zone FROM holdfast_resets WHERE until IS NOT NULL)
      """)
  }
}
