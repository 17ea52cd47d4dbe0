import HoldfastCore
import HoldfastSQLite

/// One zone's part of an answer: kept until its zone is whole, then applied. See PROTOCOL.md, section 6.3,
/// step 5.
struct ZoneDownload {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var zones: Zones { Zones(database: database) }
  private var zoneStates: ZoneStates { ZoneStates(database: database) }
  private var resets: ResetPacing { ResetPacing(database: database) }
  private var unapplied: UnappliedChangeSets { UnappliedChangeSets(database: database) }
  private var recoveredRecords: RecoveredRecords { RecoveredRecords(database: database) }
  private var zoneChanges: ZoneChanges { ZoneChanges(database: database) }

  /// From how many records of zones that were downloaded again on the others of these zones are removed, before more of them are in memory.
  private static let manyResynced = 20_000

  /// From how many changes on preparing all statements again costs less than the triggers.
  private static let manyChanges = 1000

  /// Whether a part begins a zone that is to come as a snapshot; then the zone is left at its beginning.
  func isLarge(
    _ part: SyncAnswer.Part, _ applied: inout Applied, _ prefersSnapshot: (String, Int64) -> Bool
  ) throws -> Bool {
    let changes = part.count.addingReportingOverflow(part.remaining)
    guard part.from.isEmpty, part.hasMore, !part.isReset, !changes.overflow,
      prefersSnapshot(part.zone, changes.partialValue)
    else { return false }
    var state = try zoneStates.state(of: part.zone) ?? ZoneState()
    // Records that a restored server has lost, and edits that no trigger recorded, are found by comparing with each record that comes.
    if state.ack != "" || state.resync == .recovered || state.resync == .compared { return false }
    state.role = part.role
    try zoneStates.change(part.zone) { $0 = state }
    applied.remaining += Int(clamping: changes.partialValue)
    applied.hasMore = true
    if applied.largeZone == nil { applied.largeZone = (part.zone, Int(clamping: changes.partialValue)) }
    return true
  }

  /// Applies a part that its zone is whole with, keeps a page, or begins a resync.
  func apply(
    _ part: SyncAnswer.Part, body: [UInt8], _ session: inout ApplySession, _ applied: inout Applied
  ) throws {
    if part.isReset {
      if part.isRestored, try unapplied.goBack(part.zone, hasLost: session.hasLost) {
        applied.hasMore = true
        return
      }
      // Also of a zone that is not here: the server waits to hear so.
      guard try resets.mayReset(part.zone, isRestored: part.isRestored) else { return }
      Trace.took(.resetBegun)
      try zones.begin(part.zone, isRestored: part.isRestored)
      try connection.run("DELETE FROM holdfast_awaiting_recovery WHERE zone = ?", [.text(part.zone)])
      applied.hasMore = true
      return
    }
    // A part that follows another ack than this device's is out of date: another process was here first.
    let known = try zoneStates.state(of: part.zone) ?? ZoneState()
    guard known.ack == part.from else {
      Trace.took(.partOutdated)
      applied.hasMore = true
      return
    }
    if !part.from.isEmpty, part.to != part.from { applied.hasAdvanced = true }
    try zoneStates.change(part.zone) {
      $0 = $0 ?? ZoneState()
      $0?.receive(upTo: part.to, as: part.role)
    }
    applied.remaining += Int(part.remaining)
    applied.changes += Int(part.count)
    applied.hasMore = applied.hasMore || part.hasMore
    if !part.hasMore {
      try applyWhole(part, body: body, known: known, &session)
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
    let name = Self.name(of: bytes, of: part.zone)
    try database.pages.save(bytes, name: name)
    Trace.took(.pageStaged)
    try connection.run(
      "INSERT INTO holdfast_pages (zone, file) VALUES (?, ?)", [.text(part.zone), .text(name)])
  }

  /// The name of a page's file, which shows whether the file is as it was written.
  private static func name(of page: UnsafeBufferPointer<UInt8>, of zone: String) -> String {
    Fingerprint(of: zone).chained(with: page).text
  }

  /// Applies the staged pages of a zone and its last part.
  ///
  /// - Parameter known: the zone's state before the part.
  private func applyWhole(
    _ part: SyncAnswer.Part, body: [UInt8], known: ZoneState, _ session: inout ApplySession
  ) throws {
    let reason = known.resync
    let roles = [part.role, known.claimedRole].compactMap(Role.init)
    // What came with a zone that is named twice is not only what came first.
    if session.resyncedCount > Self.manyResynced || session.resynced[part.zone] != nil {
      try zoneChanges.removeUnseen(&session)
    }
    session.begin(
      zone: part.zone, isResync: reason != .none && reason != .verified, isCompared: reason == .compared,
      writable: reason == .recovered ? recoveredRecords.writable(roles.max()) : nil)
    let files = try connection.rows(
      "SELECT file FROM holdfast_pages WHERE zone = ? ORDER BY n", [.text(part.zone)]
    ).compactMap { $0[0].text }
    // What came before the last part since the zone was whole is in pages.
    if files.isEmpty, !part.from.isEmpty, part.from != known.token {
      throw Inapplicable.incomplete(zone: part.zone)
    }
    func parseAhead(_ index: Int) throws -> Ahead<ParsedPage> {
      if index == files.count {
        return Ahead { [forms = database.serverSchema.forms] in
          try PageParser.parse(body, part.changes, tables: forms)
        }
      }
      // Read here, since what happens to files must not depend on the timing of threads.
      let (zone, name) = (part.zone, files[index])
      guard let bytes = database.pages.load(name) else { throw Inapplicable.incomplete(zone: zone) }
      return Ahead { [forms = database.serverSchema.forms] in
        guard bytes.withUnsafeBufferPointer({ Self.name(of: $0, of: zone) }) == name else {
          throw Inapplicable.incomplete(zone: zone)
        }
        do { return try PageParser.parse(bytes, bytes.indices, tables: forms) } catch {
          throw Inapplicable.unreadable(zone: zone, reason: error)
        }
      }
    }
    func applyPages() throws {
      // While one page is written, another thread parses the next. One alone, so that two are in memory whatever a zone's size.
      var next = try parseAhead(0)
      for index in files.indices {
        let page = try next.value()
        next = try parseAhead(index + 1)
        try zoneChanges.apply(page, &session)
      }
      try zoneChanges.apply(next.value(), &session)
    }
    let isMuch = !files.isEmpty || part.count >= Self.manyChanges
    if isMuch { try database.withoutIdleTriggers(applyPages) } else { try applyPages() }
    session.usedPages += files
    if !files.isEmpty {
      Trace.took(.pagesApplied)
      try connection.run("DELETE FROM holdfast_pages WHERE zone = ?", [.text(part.zone)])
    }
    for set in part.asSent {
      guard let created = session.sent[set] else { throw Inapplicable.incomplete(zone: part.zone) }
      try zoneChanges.take(created, &session)
    }
    if session.end() { Trace.took(.resetDone) }
    try zoneStates.change(part.zone) { $0?.becomeWhole() }
  }
}
