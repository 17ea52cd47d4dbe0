import HoldfastCore
import HoldfastSQLite

/// What an answer changed on the device.
struct Applied: Sendable {
  /// Whether there is more to ask for or to send.
  var hasMore = false
  /// How many changes came down in this answer.
  var changes = 0
  /// At most so many are still to come.
  var remaining = 0
  /// A large zone that the device has nothing of, whose snapshot is to be downloaded; it counts in `remaining`.
  var largeZone: (zone: String, changes: Int)?
  /// How many change sets went into quarantine.
  var quarantined = 0
  /// How long the first of the zones waits that are to be resynced later; nil for none.
  var resetWait: Duration?
}

/// Why an answer was not applied.
enum Inapplicable: Error {
  /// The device's identity changed after the request was made; ask again.
  case outdated
  /// The server knows other content under this device's numbers: this database is a copy.
  case diverged
  /// The file of a staged page is gone.
  case pageMissing(zone: String)
}

/// Applying the answer of the server, in one transaction. See PROTOCOL.md, section 6.3.
extension LocalDatabase {
  /// - Parameter prefersSnapshot: whether a zone of so many changes, of which the device has nothing, is to come as a snapshot.
  func apply(
    _ answer: SyncAnswer, body: [UInt8], to request: PreparedRequest,
    prefersSnapshot: (_ zone: String, _ changes: Int64) -> Bool = { _, _ in false }
  ) throws -> Applied {
    do {
      do {
        return try applyInTransaction(answer, body: body, to: request, prefersSnapshot)
      } catch let error as SQLiteError where error.code == .constraintForeignKey {
        // An orphan that nothing here explains must not stop all that comes behind it.
        Trace.took(.orphansDropped)
        return try applyInTransaction(answer, body: body, to: request, prefersSnapshot, mayHaveOrphans: true)
      }
    } catch Inapplicable.pageMissing(let zone) {
      Trace.took(.pageMissing)
      try transaction(.immediate) {
        try zones.resync(zone)
        try zones.removeStrayFiles()
      }
      return Applied(hasMore: true)
    } catch {
      // Pages saved for an answer that failed would gather with each try, most of all on a full disk.
      try? transaction(.immediate) { try zones.removeStrayFiles() }
      throw error
    }
  }

  private func applyInTransaction(
    _ answer: SyncAnswer, body: [UInt8], to request: PreparedRequest,
    _ prefersSnapshot: (String, Int64) -> Bool, mayHaveOrphans: Bool = false
  ) throws -> Applied {
    var applied = Applied()
    var usedPages: [String] = []
    try transaction(.immediate) {
      let state = try state()
      guard state.device == request.device, state.token != nil else { throw Inapplicable.outdated }
      try sealing.seal(isStrict: false)
      let hasOtherSchema = try database.serverSchema.keep(answer)
      try whileApplying {
        var created: [CreatedRecord] = []
        if answer.confirmed >= state.confirmed {
          guard try outbox.isOwnHistory(answer, state) else { throw Inapplicable.diverged }
          created = try missingCreates.records(inSets: 0...max(0, answer.confirmed))
          applied.quarantined = try outbox.refuse(answer.refused, &created)
          try noteUnapplied(answer)
          try outbox.confirm(answer)
        }
        if let recovered = answer.recovered {
          applied.quarantined += try settle(
            recovered: request.recovered.prefix(max(0, Int(clamping: recovered.count))),
            refused: recovered.refused)
        }
        try zones.noteSent(request.acks)
        var session = ApplySession(hasEdits: try database.edits.hasAny() || isComparing())
        let lost = try keepLost(answer)
        applied.quarantined += lost
        session.hasLost = lost > 0
        for part in answer.parts {
          if try filling.isOfOtherHistory(part), try filling.askAgain(part.zone) {
            applied.hasMore = true
          } else if try !isLarge(part, &applied, prefersSnapshot) {
            try apply(part, body: body, &session, &applied)
          }
        }
        if lost > 0 { try replaceLost(answer) }
        if !answer.parts.isEmpty { try database.serverSchema.nameConflicts() }
        try purgeUnapplied(answer)
        try removeDeleted(&session, at: answer.clock)
        applied.quarantined += try quarantineUnrecorded(session)
        usedPages = session.usedPages
        for zone in answer.lost {
          if try filling.askAgain(zone) {
            applied.hasMore = true
          } else if try isAwaitingRecovery(zone) {
            // Nobody has what was held.
            applied.quarantined += try giveUp(zone)
          } else {
            try zones.lose(zone)
          }
        }
        try missingCreates.await(created)
        if !answer.mustResend {
          applied.quarantined += try hold(answer.awaitingRecovery, at: answer.clock)
          try release(answer)
        }
        try keepProofs(answer, shown: request.claims)
        try orphans.settle()
        // What a refused deletion put back may have lost its parent since.
        if applied.quarantined > 0 || mayHaveOrphans { try orphans.remove() }
      }
      if hasOtherSchema, try unknownResending.run(sealing: { try sealing.seal(isStrict: false) }) {
        applied.hasMore = true
      }
      if !answer.lost.isEmpty || answer.parts.contains(where: \.isReset) { try zones.removeStrayFiles() }
      try connection.run(
        "UPDATE holdfast_local SET clock = max(clock, ?1), last_server_clock = max(last_server_clock, ?1), resend = ?2",
        [.integer(answer.clock.rawValue), .integer(answer.mustResend ? 1 : 0)])
      if !answer.mustResend {
        try resets.note(answer.parts.filter(\.isReset).map(\.zone))
        try filling.goOn()
      }
      // A zone that waits to be resynced brings no further pages.
      let open = try connection.value(
        """
        SELECT EXISTS (SELECT 1 FROM holdfast_outbox) OR EXISTS (SELECT 1 FROM holdfast_edits WHERE change_set IS NULL) OR EXISTS (SELECT 1 FROM holdfast_pages p WHERE p.zone NOT IN
          (SELECT zone FROM holdfast_resets WHERE until IS NOT NULL))
        OR EXISTS (SELECT 1 FROM holdfast_recovered) OR EXISTS (SELECT 1 FROM holdfast_recovery_claims)
        OR EXISTS (SELECT 1 FROM holdfast_zones WHERE sent = 0 AND (ack IS NULL OR ack = ''))
        """)
      applied.hasMore = applied.hasMore || answer.mustResend || open?.integer == 1
      applied.resetWait = try resets.wait()
    }
    pages.remove(usedPages)
    return applied
  }

  func hasEdits() throws -> Bool { try count("SELECT EXISTS (SELECT 1 FROM holdfast_edits)") == 1 }

  // MARK: Zones

  /// Whether a part begins a zone that is to come as a snapshot; then the zone is left at its beginning.
  private func isLarge(
    _ part: SyncAnswer.Part, _ applied: inout Applied, _ prefersSnapshot: (String, Int64) -> Bool
  ) throws -> Bool {
    let changes = part.count.addingReportingOverflow(part.remaining)
    guard part.from.isEmpty, part.hasMore, !part.isReset, !changes.overflow,
      prefersSnapshot(part.zone, changes.partialValue)
    else { return false }
    let known = try connection.row(
      "SELECT ack, resync FROM holdfast_zones WHERE zone = ?", [.text(part.zone)])
    // What a restored server has lost, and what no trigger recorded, is found by comparing with each record that comes.
    if let known, known[0].text != "" || [2, 5].contains(known[1].integer) { return false }
    try connection.run(
      """
      INSERT INTO holdfast_zones (zone, role) VALUES (?, ?) ON CONFLICT (zone) DO UPDATE SET role = excluded.role
      """, [.text(part.zone), .text(part.role)])
    applied.remaining += Int(clamping: changes.partialValue)
    applied.hasMore = true
    if applied.largeZone == nil { applied.largeZone = (part.zone, Int(clamping: changes.partialValue)) }
    return true
  }

  private func apply(
    _ part: SyncAnswer.Part, body: [UInt8], _ session: inout ApplySession, _ applied: inout Applied
  ) throws {
    let known = try connection.row(
      "SELECT ack, resync, token FROM holdfast_zones WHERE zone = ?", [.text(part.zone)])
    if part.isReset {
      if part.isRestored, try goBack(part.zone, hasLost: session.hasLost) {
        applied.hasMore = true
        return
      }
      // Also of a zone that is not here: the server waits to hear so.
      guard try resets.mayReset(part.zone) else { return }
      Trace.took(.resetBegun)
      try zones.begin(part.zone, isRestored: part.isRestored)
      try connection.run("DELETE FROM holdfast_awaiting_recovery WHERE zone = ?", [.text(part.zone)])
      applied.hasMore = true
      return
    }
    // A part that follows another ack than this device's is out of date: another process was here first.
    guard (known.map { $0[0].text } ?? "") == part.from else {
      Trace.took(.partOutdated)
      applied.hasMore = true
      return
    }
    try connection.run(
      """
      INSERT INTO holdfast_zones (zone, role, ack) VALUES (?, ?, ?)
      ON CONFLICT (zone) DO UPDATE SET role = excluded.role, ack = excluded.ack, sent = 0
      """, [.text(part.zone), .text(part.role), .text(part.to)])
    applied.remaining += Int(part.remaining)
    applied.changes += Int(part.count)
    applied.hasMore = applied.hasMore || part.hasMore
    if !part.hasMore {
      try applyWhole(
        part, body: body, reason: known?[1].integer ?? 0, whole: known?[2].text ?? "", &session)
    } else if part.to != part.from {
      // Else there was no room for this zone; the page before has this token too.
      try body.withUnsafeBufferPointer {
        try stage(UnsafeBufferPointer(rebasing: $0[part.changes]), of: part)
      }
    }
  }

  /// Keeps a page until its zone is whole.
  private func stage(_ bytes: UnsafeBufferPointer<UInt8>, of part: SyncAnswer.Part) throws {
    // Under the writer's lock nobody else stages this page; one of the same name is left over from a crash.
    let name = Fingerprint(of: part.zone, "=", part.to).text
    try pages.save(bytes, name: name)
    Trace.took(.pageStaged)
    try connection.run(
      "INSERT INTO holdfast_pages (zone, file) VALUES (?, ?)", [.text(part.zone), .text(name)])
  }

  /// Applies the staged pages of a zone and its last part.
  ///
  /// - Parameter whole: up to where the zone was whole here.
  private func applyWhole(
    _ part: SyncAnswer.Part, body: [UInt8], reason: Int64, whole: String, _ session: inout ApplySession
  ) throws {
    let reason = ResyncReason(rawValue: reason) ?? .replaced
    session.begin(
      zone: part.zone, isResync: ![.none, .verified].contains(reason), isCompared: reason == .compared,
      writable: reason == .recovered ? try writable(roles(part)) : nil)
    let files = try connection.rows(
      "SELECT file FROM holdfast_pages WHERE zone = ? ORDER BY n", [.text(part.zone)]
    ).compactMap { $0[0].text }
    // What came before the last part since the zone was whole is in pages.
    if files.isEmpty, !part.from.isEmpty, part.from != whole {
      throw Inapplicable.pageMissing(zone: part.zone)
    }
    func parseAhead(_ index: Int) throws -> Ahead<ParsedPage> {
      if index == files.count {
        return Ahead { [forms = database.serverSchema.forms] in
          try PageParser.parse(body, part.changes, tables: forms)
        }
      }
      // Read here, since what happens to files must not depend on the timing of threads.
      guard let bytes = pages.load(files[index]) else { throw Inapplicable.pageMissing(zone: part.zone) }
      return Ahead { [forms = database.serverSchema.forms] in
        try PageParser.parse(bytes, bytes.indices, tables: forms)
      }
    }
    // While one page is written, another thread parses the next. One alone, so that two are in memory whatever a zone's size.
    var next = try parseAhead(0)
    for index in files.indices {
      let page = try next.value()
      next = try parseAhead(index + 1)
      try applyChanges(page, &session)
    }
    session.usedPages += files
    if !files.isEmpty {
      Trace.took(.pagesApplied)
      try connection.run("DELETE FROM holdfast_pages WHERE zone = ?", [.text(part.zone)])
    }
    try applyChanges(next.value(), &session)
    try removeUnseen(&session)
    try connection.run(
      "UPDATE holdfast_zones SET token = ack, resync = iif(resync = 4, 4, 0), claimed_role = '' WHERE zone = ?",
      [.text(part.zone)])
  }

  /// The user's role in a zone: of now, or the one that was claimed to have been given since the backup; the server decides.
  private func roles(_ part: SyncAnswer.Part) throws -> Role? {
    let claimed = try connection.value(
      "SELECT claimed_role FROM holdfast_zones WHERE zone = ?", [.text(part.zone)])?.text
    return [Role(rawValue: part.role), claimed.flatMap(Role.init)].compactMap { $0 }.max()
  }

}
