import HoldfastCore
import HoldfastSQLite

/// Applying the answer of the server, in one transaction. See PROTOCOL.md, section 6.3.
struct AnswerApplying {
  let database: LocalDatabase
  let answer: SyncAnswer
  /// The bytes of the answer, which have the changes of its parts.
  let body: [UInt8]
  let request: PreparedRequest
  /// Whether a zone of so many changes, of which the device has nothing, is to come as a snapshot.
  var prefersSnapshot: (_ zone: String, _ changes: Int64) -> Bool = { _, _ in false }

  /// From how many bytes, and how many claims, on an answer has brought much.
  private static let (muchContent, manyClaims) = (256 << 10, 100)
  private static let day: Int64 = 86_400_000

  private var connection: SQLiteConnection { database.connection }
  private var sealing: Sealing { Sealing(database: database) }
  private var outbox: Outbox { Outbox(database: database) }
  private var missingCreates: MissingCreates { MissingCreates(database: database) }
  private var recoveredRecords: RecoveredRecords { RecoveredRecords(database: database) }
  private var unapplied: UnappliedChangeSets { UnappliedChangeSets(database: database) }
  private var awaiting: AwaitingRecovery { AwaitingRecovery(database: database) }
  private var proofs: Proofs { Proofs(database: database) }
  private var zones: Zones { Zones(database: database) }
  private var zoneDownload: ZoneDownload { ZoneDownload(database: database) }
  private var zoneChanges: ZoneChanges { ZoneChanges(database: database) }
  private var comparison: ZoneComparison { ZoneComparison(database: database) }
  private var filling: ZoneFilling { ZoneFilling(database: database) }
  private var resets: ResetPacing { ResetPacing(database: database) }
  private var orphans: Orphans { Orphans(database: database) }
  private var unknownResending: UnknownResending { UnknownResending(database: database) }

  /// Applies the answer; a second time without orphans where foreign keys do not hold.
  ///
  /// - Throws: `Inapplicable`; `SQLiteError`. Then nothing of the answer happened.
  func run() throws -> Applied {
    do {
      do { return try apply() } catch let error as SQLiteError where error.code == .constraintForeignKey {
        // An orphan that nothing here explains must not stop all that comes behind it.
        Trace.took(.orphansDropped)
        return try apply(mayHaveOrphans: true)
      }
    } catch Inapplicable.incomplete(let zone) {
      Trace.took(.pageMissing)
      try beginAgain(zone)
      return Applied(hasMore: true)
    } catch Inapplicable.unreadable(let zone, let reason) {
      // What the server sent so would come so again.
      guard try database.transaction(.immediate, { try resets.mayReset(zone) }) else { throw reason }
      try beginAgain(zone)
      return Applied(hasMore: true)
    } catch {
      // Pages saved for an answer that failed would gather with each try, most of all on a full disk.
      try? database.transaction(.immediate) { try zones.removeStrayFiles() }
      throw error
    }
  }

  private func beginAgain(_ zone: String) throws {
    try database.transaction(.immediate) {
      try zones.resync(zone)
      try zones.removeStrayFiles()
    }
  }

  /// All steps, in their order. Each line names what its step needs and what it gives.
  private func apply(mayHaveOrphans: Bool = false) throws -> Applied {
    var applied = Applied()
    var usedPages: [String] = []
    try database.transaction(.immediate) {
      let state = try checkIdentity()
      try sealing.sealForeign()
      let hasOtherSchema = try database.serverSchema.keep(answer)
      let isComparing = try comparison.isComparing()
      try database.whileApplying {
        // What the server decided of this device's change sets and recovered records. Confirmed change sets leave the outbox.
        let sent = try outbox.created(inSets: answer.parts.flatMap(\.asSent))
        try outbox.noteMoved(answer.moved)
        let created = try settleChangeSets(state, &applied)
        applied.quarantined += try settleRecovered()
        try zones.noteSent(request.acks)
        // The zones' parts.
        var session = ApplySession(hasEdits: try database.edits.hasAny() || isComparing)
        let lost = try unapplied.keepLost(answer)
        applied.quarantined += lost
        session.hasLost = lost > 0
        session.sent = sent
        try applyParts(&session, &applied)
        try zoneChanges.removeUnseen(&session)
        try restartForgotten(&applied)
        if lost > 0 { try unapplied.replaceLost(answer) }
        if !answer.parts.isEmpty { try database.serverSchema.nameConflicts() }
        try unapplied.purge(answer)
        try zoneChanges.removeDeleted(&session, at: answer.clock)
        applied.quarantined += try comparison.quarantineUnrecorded(session)
        usedPages = session.usedPages
        // The zones that are gone, or not known yet.
        try removeLostZones(&applied)
        try missingCreates.await(created)
        if !answer.mustResend {
          applied.quarantined += try awaiting.remember(answer.awaitingRecovery, at: answer.clock)
          try awaiting.release(answer)
        }
        try proofs.keep(answer, shown: request.claims)
        // References to records that are gone.
        try orphans.settle()
        // What a refused deletion put back may have lost its parent since.
        if applied.quarantined > 0 || mayHaveOrphans { try orphans.remove() }
      }
      // What a comparison found is in no change set, and edits of change sets were written behind it.
      if isComparing { try database.edits.bringLooseToEnd() }
      if hasOtherSchema { try resendUnknown(&applied) }
      if !answer.lost.isEmpty || answer.parts.contains(where: \.isReset) { try zones.removeStrayFiles() }
      try advanceClock()
      if !answer.mustResend {
        try resets.note(TextSet(answer.parts.filter(\.isReset).map(\.zone)))
        try filling.goOn()
      }
      let isMore = try isMoreToExchange()
      applied.hasMore = applied.hasMore || answer.mustResend || isMore
      applied.resetWait = try resets.wait()
      applied.progress = progress(since: state, applied)
      applied.moved += answer.moved.count
    }
    database.pages.remove(usedPages)
    return applied
  }

  // MARK: The steps

  /// What is said to an identity that was replaced meanwhile does not concern the one of now.
  ///
  /// - Returns: what the database says of the device.
  private func checkIdentity() throws -> DeviceState {
    let state = try database.state()
    guard state.device == request.device, state.isSignedIn else { throw Inapplicable.outdated }
    return state
  }

  /// Takes the refused change sets back, and purges the confirmed ones.
  ///
  /// - Returns: the records that they created, and those that are back by it, as far as no answer has brought them.
  private func settleChangeSets(_ state: DeviceState, _ applied: inout Applied) throws -> [CreatedRecord] {
    guard answer.confirmed >= state.confirmed else { return [] }
    guard try outbox.isOwnHistory(answer, state) else { throw Inapplicable.diverged }
    // Edits of sets that are confirmed are gone.
    var created =
      answer.confirmed > state.confirmed ? try missingCreates.records(inSets: 0...answer.confirmed) : []
    let refused = try outbox.refuse(answer.refused, &created)
    applied.quarantined += refused.count
    applied.moved += refused.moved
    try unapplied.note(answer)
    try outbox.confirm(answer, after: state)
    return created
  }

  /// Purges what the server has back.
  ///
  /// - Returns: how many change sets went into quarantine.
  private func settleRecovered() throws -> Int {
    guard let recovered = answer.recovered else { return 0 }
    return try recoveredRecords.settle(
      recovered: request.recovered.prefix(max(0, Int(clamping: recovered.count))), refused: recovered.refused)
  }

  private func applyParts(_ session: inout ApplySession, _ applied: inout Applied) throws {
    for part in answer.parts {
      if try filling.isOfOtherHistory(part), try filling.askAgain(part.zone) {
        applied.hasMore = true
      } else if try !zoneDownload.isLarge(part, &applied, prefersSnapshot) {
        try zoneDownload.apply(part, body: body, &session, &applied)
      }
    }
  }

  /// An answer names a zone of which pages are staged until it is whole, unless it is full. Where it names none, a false answer has staged them: the
  /// zone begins again.
  private func restartForgotten(_ applied: inout Applied) throws {
    if answer.mustResend || !answer.parts.isEmpty { return }
    let staged = try connection.rows(
      "SELECT DISTINCT p.zone FROM holdfast_pages p JOIN holdfast_zones z ON z.zone = p.zone AND z.sent = 1")
    let recovering = TextSet(answer.wanted + answer.awaitingRecovery.map(\.zone))
    for zone in staged.compactMap({ $0[0].text }) where !recovering.contains(zone) {
      try zones.resync(zone)
      applied.hasMore = true
    }
  }

  private func progress(since state: DeviceState, _ applied: Applied) -> AnswerProgress {
    // What a newer app has sent in vain is sent again with each other schema.
    let isUnknown = answer.refused.contains { refused in
      refused.last == answer.confirmed
        && Problem(document: refused.problem).map(UnknownResending.isUnknown) == true
    }
    let isSettled =
      answer.confirmed > state.confirmed && !isUnknown || (answer.recovered?.count ?? 0) > 0
      || request.claims.count >= Self.manyClaims
    if isSettled || applied.hasAdvanced || body.count >= Self.muchContent { return .much }
    return answer.parts.isEmpty && answer.lost.isEmpty && applied.quarantined == 0 ? .none : .little
  }

  private func removeLostZones(_ applied: inout Applied) throws {
    var (abandoned, lost): ([String], [String]) = ([], [])
    for zone in TextSet(answer.lost).sorted() {
      if try filling.askAgain(zone) {
        applied.hasMore = true
      } else if try awaiting.contains(zone) {
        // Nobody has what was held.
        abandoned.append(zone)
      } else {
        lost.append(zone)
      }
    }
    applied.quarantined += try awaiting.abandon(abandoned)
    try zones.lose(lost)
  }

  /// Sends again what the server did not know of a newer app, now that it has another schema.
  private func resendUnknown(_ applied: inout Applied) throws {
    let isAny = try unknownResending.run { try sealing.sealOwn(isUndoable: false) }
    if isAny { applied.hasMore = true }
  }

  /// The clocks only grow, but for one that a false answer has put far ahead: it follows the next one back, once no edit has a stamp of it.
  private func advanceClock() throws {
    let farthest = Stamp(
      milliseconds: max(answer.clock.milliseconds, try database.wallClock()) + Self.day)
    try connection.run(
      """
      UPDATE holdfast_local SET resend = ?2,
        clock = CASE WHEN clock > ?3 AND NOT EXISTS (SELECT 1 FROM holdfast_outbox)
          AND NOT EXISTS (SELECT 1 FROM holdfast_edits WHERE \(DeviceTables.isLoose)) THEN ?1 ELSE max(clock, ?1) END,
        last_server_clock = CASE WHEN last_server_clock > ?4 THEN ?1 ELSE max(last_server_clock, ?1) END
      """,
      [
        .integer(answer.clock.rawValue), .integer(answer.mustResend ? 1 : 0), .integer(farthest.rawValue),
        .integer(Stamp(milliseconds: answer.clock.milliseconds + Self.day).rawValue),
      ])
  }

  /// Whether there is something to send, or a zone that is not whole. A zone that waits to be resynced or recovered brings no further
  /// pages.
  private func isMoreToExchange() throws -> Bool {
    let open = try connection.value(
      """
      SELECT EXISTS (SELECT 1 FROM holdfast_outbox) OR EXISTS (SELECT 1 FROM holdfast_edits WHERE \(DeviceTables.isLoose)) OR EXISTS (SELECT 1 FROM holdfast_pages p WHERE p.zone NOT IN
        (SELECT zone FROM holdfast_resets WHERE until IS NOT NULL UNION ALL SELECT zone FROM holdfast_awaiting_recovery))
      OR EXISTS (SELECT 1 FROM holdfast_recovered) OR EXISTS (SELECT 1 FROM holdfast_recovery_claims)
      OR EXISTS (SELECT 1 FROM holdfast_zones WHERE sent = 0 AND (ack IS NULL OR ack = ''))
      """)
    return open?.integer == 1
  }
}
