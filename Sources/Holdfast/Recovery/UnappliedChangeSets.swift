import HoldfastCore
import HoldfastSQLite

/// What a restored server may have lost while its zone was still coming in parts. See docs/RESTORING.md, section 4.
struct UnappliedChangeSets {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var zones: Zones { Zones(database: database) }
  private var zoneStates: ZoneStates { ZoneStates(database: database) }
  private var quarantine: Quarantine { Quarantine(database: database) }

  /// Purges the half of a download that came from the history before a restore: the zone is as it was when it was whole, and says so.
  ///
  /// - Parameter hasLost: whether edits of this device that the server has lost may show in it; then it resyncs.
  /// - Returns: false when nothing of the zone was under way.
  func goBack(_ zone: String, hasLost: Bool) throws -> Bool {
    guard try zoneStates.change(zone, { $0?.dropPages(hasLost: hasLost) == true }) else { return false }
    try connection.run("DELETE FROM holdfast_pages WHERE zone = ?", [.text(zone)])
    return true
  }

  /// Keeps the change sets that an answer confirms before their zones are whole here: the device does not know yet what became of them, and
  /// nobody else may. Call while they are in the outbox.
  func note(_ answer: SyncAnswer) throws {
    if answer.bringsAll { return }
    try connection.run(
      """
      INSERT INTO holdfast_unapplied (first, body) SELECT first, body FROM holdfast_outbox WHERE first <= ?1 AND last <= ?1
      """,
      [.integer(answer.confirmed)])
  }

  /// Purges them when nothing is on its way any more.
  func purge(_ answer: SyncAnswer) throws {
    if !answer.bringsAll { return }
    try connection.run(
      "DELETE FROM holdfast_unapplied WHERE NOT EXISTS (SELECT 1 FROM holdfast_pages)")
  }

  /// Takes those that a restored server has lost into quarantine.
  ///
  /// - Returns: how many.
  func keepLost(_ answer: SyncAnswer) throws -> Int {
    guard answer.showsRestore else { return 0 }
    let lost = try connection.rows(
      "SELECT body FROM holdfast_unapplied WHERE first > ? ORDER BY n", [.integer(answer.confirmed)])
    if lost.isEmpty { return 0 }
    Trace.took(.unappliedLost)
    var lacking = try quarantine.lackingRecords()
    for row in lost {
      try quarantine.add(
        first: -1, body: row[0].blob ?? [], operation: -1, problem: Problem(.changeSetLost).document,
        RolledBack(), &lacking)
    }
    try connection.run("DELETE FROM holdfast_unapplied WHERE first > ?", [.integer(answer.confirmed)])
    return lost.count
  }

  /// Begins the zones again in which lost edits may show: all in which there is nothing to recover. Call behind the answer's parts.
  func replaceLost(_ answer: SyncAnswer) throws {
    let ahead = TextSet(answer.parts.filter(\.isRestored).map(\.zone) + answer.awaitingRecovery.map(\.zone))
    for (zone, state) in try zoneStates.all() where !ahead.contains(zone) {
      if let state, state.isFollowed, !state.resync.replacesAll { try zones.resync(zone) }
    }
  }
}

extension SyncAnswer {
  /// Whether each zone that it tells of is whole with it.
  fileprivate var bringsAll: Bool { !parts.isEmpty && !parts.contains { $0.hasMore || $0.isReset } }

  /// Whether it can be seen that the server was restored.
  fileprivate var showsRestore: Bool {
    !awaitingRecovery.isEmpty
      || parts.contains {
        $0.isRestored || !$0.from.isEmpty && ZoneFilling.history($0.from) != ZoneFilling.history($0.to)
      }
  }
}
