package import HoldfastCore

/// Computes the answer to one sync request.
package struct SyncAnswers {
  /// The number of zones per read.
  private static let zonesAtOnce = 16
  /// The most bytes of a usual change as JSON.
  private static let usualChange = 512

  package let store: any StoreReader
  package var history: History { store.history }
  package var epoch: String { history.epoch }
  /// The answer size in bytes from which no further change is begun.
  private let answerSize: Int
  /// The maximum number of zones for a device.
  private let zoneLimit: Int
  private let schema: SchemaWords

  package init(_ store: any StoreReader, answerSize: Int, zoneLimit: Int, _ schema: SchemaWords) {
    self.store = store
    self.answerSize = answerSize
    self.zoneLimit = zoneLimit
    self.schema = schema
  }

  /// The same over another view of the database.
  package func reading(_ store: any StoreReader) -> SyncAnswers {
    SyncAnswers(store, answerSize: answerSize, zoneLimit: zoneLimit, schema)
  }

  /// Whether a request contains anything that must be written.
  package func mustBeWritten(
    _ command: SyncCommand, of device: KnownDevice, zones: [ZoneProgress], now: Int64
  )
    throws
    -> Bool
  {
    if command.request.isWriting || command.request.isComplete || command.newClient != nil { return true }
    if store.prover.isBehind(
      command.request, device.confirmed, device.chain, of: device.key.number, in: epoch)
    {
      return true
    }
    if Self.isDue(device, now: now) { return true }
    // Many acks rarely match completely, and comparing them here would delay other requests.
    if command.acks.count > 64 { return true }
    for (zone, ack) in command.acks {
      let known = zones.first { $0.zone == zone && $0.isStored }
      // The resync of a lost zone clears the zone's mark.
      if known?.ack != ack || known?.wasLost == true && ack?.epoch == "" { return true }
    }
    guard command.request.acknowledgedRefusals > 0 else { return false }
    return try store.refusals(of: device.key.number).contains {
      $0.last <= command.request.acknowledgedRefusals
    }
  }

  /// Whether the server must store that the device is alive: once per session and once a day.
  private static func isDue(_ device: KnownDevice, now: Int64) -> Bool {
    !device.isSessionUsed || device.seenAt + 86_400_000 < now
  }

  /// The cached answer to a quiet request that the device has sent before; nil if there is none.
  ///
  /// - Parameter find: finds what was kept of it, in the state of the database from which `device` is.
  package static func keptAnswer(
    to request: SyncRequest, of device: KnownDevice, clock: Stamp, now: Int64,
    _ find: (QuietRequest) -> [UInt8]?
  ) -> [UInt8]? {
    guard request.client == device.client, request.acknowledgedRefusals >= device.acknowledgedRefusals,
      let quiet = QuietRequest(request), !isDue(device, now: now), let rest = find(quiet)
    else { return nil }
    return beginning(clock) + rest
  }

  /// Caches the answer to a quiet request until something is written.
  package func keep(
    _ answer: [UInt8], to request: SyncRequest, of device: KnownDevice, clock: Stamp, now: Int64
  ) {
    // While claims are open, the answer depends on the time.
    guard let quiet = QuietRequest(request), !history.isRecovering(at: now) else { return }
    store.keep(Array(answer.dropFirst(Self.beginning(clock).count)), to: quiet, of: device.key)
  }

  /// The beginning of an answer: the only part that depends on the time.
  private static func beginning(_ clock: Stamp) -> [UInt8] { Array(#"{"clock":"\#(clock.text)""#.utf8) }

  /// Whether the answer contains changes of a zone.
  package func hasParts(_ zones: [ZoneProgress]) -> Bool {
    zones.contains { !$0.role.isEmpty && $0.hasChanges }
  }

  /// Writes the answer of `POST /v1/sync`: PROTOCOL.md, section 3. If it has parts, call this inside `moment` of the store.
  ///
  /// - Parameter outcome: what the writing part of the request came to.
  package func answer(
    _ request: SyncRequest, of device: KnownDevice, zones found: [ZoneProgress], clock: Stamp, now: Int64,
    outcome: SyncOutcome = SyncOutcome()
  ) throws -> [UInt8] {
    let (verified, unknown) = try verified(found)
    let (zones, moved) = try placed(verified)
    let questions = try questions(zones, request, of: device.key, at: now)
    var digest = AckDigest()
    for zone in zones { digest.add(zone: zone.zone, token: zone.token) }
    let mustResend = !request.isComplete && (digest.text != request.digest || device.hasPurgedAcks)
    if mustResend { Trace.took(.resendAsked) }
    // An unproven ack ahead of the server has no effect yet.
    let settled = zones.filter { !isAhead($0) || !questions.zones.contains($0.zone) }
    let offered = offered(settled)
    let expected = mustResend ? 0 : offered.reduce(0) { $0 + expectedSize(of: $1) }
    let (bytes, _) = try JSONWriter.text(capacity: 512 + min(expected, answerSize)) { writer in
      writer.beginObject()
      writer.key("clock")
      writer.string(clock.text)
      writer.key("confirmed")
      writer.int64(device.confirmed)
      writer.key("chain")
      writer.string(device.chain.text)
      writer.key("refused")
      try writeRefused(device.key.number, to: &writer)
      writer.key("resend")
      writer.bool(mustResend)
      writer.key("zones")
      writer.beginArray()
      var proofs: [(zone: String, role: String, seq: Int64)] = []
      if !mustResend {
        try writeParts(
          offered, outcome.created, snapshotsFrom: request.snapshotsFrom, to: &writer, &proofs)
      }
      writer.endArray()
      writer.key("lost")
      writer.beginArray()
      for zone in settled where zone.role.isEmpty && !isAwaitingRecovery(zone) {
        Trace.took(.lossSent)
        writer.string(zone.zone)
      }
      writer.endArray()
      write(moved, to: &writer)
      writeAwaitingRecovery(
        zones.filter { $0.role.isEmpty && isAwaitingRecovery($0) }, unknown, questions, to: &writer)
      write(proofs, zones, request, of: device, to: &writer)
      write(questions, to: &writer)
      if let recovery = outcome.recovery, !request.recovered.isEmpty { write(recovery, to: &writer) }
      if offered.count < settled.count {
        writer.key("withheld")
        writer.int64(Int64(settled.count - offered.count))
      }
      writer.key("schema")
      writer.string(schema.fingerprint)
      if let renamed = schema.renamed {
        writer.key("renamed")
        writer.rawValue(renamed)
      }
      writer.endObject()
    }
    return bytes
  }

  /// The zones that a device follows, and others up to the limit. A device thus never has more acks than a request may contain.
  private func offered(_ zones: [ZoneProgress]) -> [ZoneProgress] {
    if zones.count <= zoneLimit { return zones }
    let known = zones.filter(\.isStored)
    let others = zones.filter { !$0.isStored && !$0.role.isEmpty }.sorted { $0.zone < $1.zone }
    return known + others.prefix(max(0, zoneLimit - known.count))
  }

  private func writeRefused(_ device: Int64, to writer: inout JSONWriter) throws {
    writer.beginArray()
    for refusal in try store.refusals(of: device) {
      writer.beginObject()
      writer.key("first")
      writer.int64(refusal.first)
      writer.key("last")
      writer.int64(refusal.last)
      writer.key("operation")
      writer.int64(refusal.operation)
      writer.key("problem")
      writer.rawValue(refusal.problem)
      writer.endObject()
    }
    writer.endArray()
  }

  /// Writes the zones with changes, the shortest remainder first, until the answer is full.
  ///
  /// - Parameter snapshotsFrom: the number of changes beyond which a zone that is new to the device has none in the answer.
  private func writeParts(
    _ zones: [ZoneProgress], _ created: [CreatedSet], snapshotsFrom: Int64?, to writer: inout JSONWriter,
    _ proofs: inout [(zone: String, role: String, seq: Int64)]
  ) throws {
    for zone in zones where !zone.role.isEmpty && zone.isFenced(epoch: epoch) {
      Trace.took(.fenced)
      writer.beginObject()
      writer.key("zone")
      writer.string(zone.zone)
      writer.key("reset")
      writer.bool(true)
      if isAwaitingRecovery(zone) {
        Trace.took(.aheadOfRestore)
        writer.key("restored")
        writer.bool(true)
      }
      writer.endObject()
    }
    var waiting = ZoneProgress.waiting(zones, epoch: epoch)
    if let snapshotsFrom {
      let isLeftOut = { (zone: ZoneProgress) in
        zone.ack.epoch.isEmpty && zone.seq > snapshotsFrom && created.all(of: zone, in: epoch).isEmpty
      }
      for zone in waiting where isLeftOut(zone) {
        let end = try writePart(zone, isLeftOut: true, to: &writer, limit: 0)
        proofs.append((zone.zone, zone.role, end.seq))
      }
      waiting.removeAll(where: isLeftOut)
    }
    let limit = writer.count + answerSize
    while !waiting.isEmpty, writer.count < limit {
      let next = Array(waiting.prefix(Self.zonesAtOnce))
      waiting.removeFirst(next.count)
      let unread = next.filter { created.all(of: $0, in: epoch).isEmpty }
      let refreshed = TextMap(
        unread.isEmpty ? [] : try store.refreshed(unread).map { ($0.zone, $0) }, uniquingKeysWith: { $1 })
      for zone in next.map({ refreshed[$0.zone] ?? $0 }) {
        // If the user lost the zone meanwhile, or must resync it, the next answer says so.
        if zone.role.isEmpty || zone.isFenced(epoch: epoch) { continue }
        let asSent = created.all(of: zone, in: epoch)
        let end = try writePart(zone, asSent: asSent, to: &writer, limit: limit)
        proofs.append((zone.zone, zone.role, end.seq))
        if end.hasMore { return }
      }
    }
  }

  /// The end of a part.
  package struct PartEnd {
    /// The device's change token after this part.
    let token: String
    let hasMore: Bool
    let remaining: Int64
    /// The seq of the token.
    let seq: Int64

    /// The content of the part's ETag. Equal tags mean equal parts.
    package var tag: String { hasMore ? "\(token)+\(remaining)" : token }
  }

  /// A part of at most `count` changes as a separate answer.
  package func part(of zone: ZoneProgress, count: Int64) throws -> (bytes: [UInt8], end: PartEnd) {
    let expected = min(expectedSize(of: zone, count: count), answerSize)
    let (bytes, end) = try JSONWriter.text(capacity: 512 + expected) { writer in
      try writePart(zone, to: &writer, limit: answerSize, count: count)
    }
    return (bytes, end)
  }

  /// About how many bytes the changes of a zone take.
  private func expectedSize(of zone: ZoneProgress, count: Int64 = .max) -> Int {
    zone.role.isEmpty ? 0 : Int(max(0, min(count, zone.seq - zone.ack.seq, 1 << 16))) * Self.usualChange
  }

  /// Writes a zone's part, with as many changes as fit, or with none.
  private func writePart(
    _ zone: ZoneProgress, asSent: [CreatedSet] = [], isLeftOut: Bool = false, to writer: inout JSONWriter,
    limit: Int, count: Int64 = .max
  ) throws -> PartEnd {
    writer.beginObject()
    writer.key("zone")
    writer.string(zone.zone)
    writer.key("role")
    writer.string(zone.role)
    writer.key("from")
    writer.string(zone.token)
    writer.key("changes")
    var written = WrittenChanges(last: zone.ack.seq, seq: zone.seq)
    written.hasMore = isLeftOut
    if zone.hasChanges, asSent.isEmpty, !isLeftOut {
      written = try store.writeChanges(of: zone, to: &writer, limit: limit, count: count)
    } else {
      writer.beginArray()
      writer.endArray()
    }
    if !asSent.isEmpty {
      Trace.took(.partAsSent)
      written.last = zone.seq
      written.count = asSent.reduce(0) { $0 + Int64($1.seqs.count) }
      writer.key("as_sent")
      writer.beginArray()
      for set in asSent { writer.int64(set.first) }
      writer.endArray()
    }
    writer.key("count")
    writer.int64(written.count)
    // If no change fits, the part leaves the device's token as it is.
    let isUntouched = written.hasMore && written.last == zone.ack.seq
    Trace.took(isUntouched ? .partWithoutRoom : written.hasMore ? .partUnfinished : .partWhole)
    let reached = written.hasMore ? written.last : written.seq
    let token =
      isUntouched
      ? zone.token
      : ChangeToken(
        epoch: epoch, seq: reached, purged: zone.purgedAtBeginning, isUnfinished: written.hasMore
      ).text
    writer.key("to")
    writer.string(token)
    writer.key("more")
    writer.bool(written.hasMore)
    writer.key("remaining")
    writer.int64(written.seq - reached)
    writer.endObject()
    return PartEnd(
      token: token, hasMore: written.hasMore, remaining: written.seq - reached, seq: reached)
  }
}
