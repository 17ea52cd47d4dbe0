package import HoldfastCore

/// Answers of a restored server to devices that have more of its history than the backup: docs/RESTORING.md, section 3.
extension SyncAnswers {
  /// Marks the zones whose acks are from another epoch. Also returns the zones that do not exist.
  package func verified(_ zones: [ZoneProgress]) throws -> ([ZoneProgress], unknown: TextSet) {
    let foreign = zones.filter { history.previous != nil && history.isForeign($0.ack) }.map(\.zone)
    if foreign.isEmpty { return (zones, []) }
    let restored = try store.restored(foreign)
    let verified = zones.map { zone in
      var zone = zone
      zone.isForeign = history.isForeign(zone.ack)
      zone.isOfBothHistories =
        zone.isForeign && history.agrees(with: zone.ack, in: restored[zone.zone])
      return zone
    }
    return (verified, TextSet(foreign).subtracting(restored.keys))
  }

  /// Finds out which zones have moved to another database: nobody recovers them here. Returns the names of the databases, too.
  func placed(_ zones: [ZoneProgress]) throws -> ([ZoneProgress], moved: TextMap<String>) {
    let hidden = zones.filter(\.role.isEmpty).map(\.zone)
    if hidden.isEmpty { return (zones, [:]) }
    let moved = try store.places(of: hidden).compactMapValues(\.leftFor)
    let placed = zones.map { zone in
      var zone = zone
      if moved[zone.zone] != nil { zone.isForeign = false }
      return zone
    }
    return (placed, moved)
  }

  func write(_ moved: TextMap<String>, to writer: inout JSONWriter) {
    if moved.isEmpty { return }
    writer.key("moved")
    writer.beginArray()
    for (zone, database) in moved.sorted(by: { $0.key < $1.key }) {
      writer.beginObject()
      writer.key("zone")
      writer.string(zone)
      writer.key("database")
      writer.string(database)
      writer.endObject()
    }
    writer.endArray()
  }

  /// Whether the zone awaits recovery: the device is ahead, and keeps its copy.
  func isAwaitingRecovery(_ zone: ZoneProgress) -> Bool {
    zone.isForeign && !zone.isOfBothHistories && !zone.wasLost
  }

  /// Whether the device acks more of a zone than exists in the current epoch. Only a proof shows whether that is true.
  func isAhead(_ zone: ZoneProgress) -> Bool {
    zone.ack.epoch == epoch && !zone.wasLost && max(zone.ack.seq, zone.ack.purged) > zone.seq
  }

  /// The proofs that the server requests from a device, and the state of its earlier claims.
  package struct Questions {
    /// The zones for which the device must send proofs.
    var zones: TextSet = []
    var claims: TextMap<ZoneClaim.Mark> = [:]
  }

  /// The zones in which the device is ahead of the database, and for which it has not sent its proofs yet.
  func questions(
    _ zones: [ZoneProgress], _ request: SyncRequest, of device: DeviceKey, at now: Int64
  ) throws -> Questions {
    let ahead = zones.filter { isAhead($0) || isAwaitingRecovery($0) }
    if ahead.isEmpty { return Questions() }
    var questions = Questions(claims: try store.claims(of: device.user))
    let shown = TextSet(request.claims.map(\.zone))
    let unproven = questions.claims.values.count { !$0.isProven }
    let isRecovering = history.isRecovering(at: now) && unproven < ZoneClaim.unprovenLimit
    for zone in ahead where !shown.contains(zone.zone) {
      guard isAhead(zone) || isRecovering && questions.claims[zone.zone]?.device != device.number else {
        continue
      }
      questions.zones.insert(zone.zone)
      if questions.zones.count == RecoveryClaim.limit { break }
    }
    return questions
  }

  package func write(_ questions: Questions, to writer: inout JSONWriter) {
    if questions.zones.isEmpty { return }
    Trace.took(.proofWanted)
    writer.key("prove")
    writer.beginArray()
    for zone in questions.zones.sorted() { writer.string(zone) }
    writer.endArray()
  }

  /// Writes the proofs that the device stores: of its confirmed operations, and of the user's roles. It includes the roles in the answer's
  /// zones, and in zones for which the device has no proof.
  package func write(
    _ parts: [(zone: String, role: String, seq: Int64)], _ zones: [ZoneProgress], _ request: SyncRequest,
    of device: KnownDevice, to writer: inout JSONWriter
  ) {
    writer.key("proof")
    let progress = Prover.Progress(
      epoch: epoch, confirmed: device.confirmed, chain: device.chain.text)
    writer.string(store.prover.proof(of: progress, of: device.key.number))
    var proofs = parts
    if !request.unproven.isEmpty {
      let wanted = TextSet(request.unproven).subtracting(parts.map(\.zone))
      proofs += zones.filter { wanted.contains($0.zone) && !$0.role.isEmpty }.map {
        ($0.zone, $0.role, $0.seq)
      }
    }
    if proofs.isEmpty { return }
    writer.key("proofs")
    writer.beginObject()
    for (zone, role, seq) in proofs {
      guard let role = Role(rawValue: role) else { continue }
      writer.key(named: zone)
      writer.string(
        store.prover.proof(of: .init(epoch: epoch, seq: seq, role: role), of: device.key.user, in: zone))
    }
    writer.endObject()
  }

  func writeAwaitingRecovery(
    _ zones: [ZoneProgress], _ unknown: TextSet, _ questions: Questions, to writer: inout JSONWriter
  ) {
    if zones.isEmpty { return }
    Trace.took(.zoneAwaitingRecovery)
    writer.key("awaiting_recovery")
    writer.beginArray()
    for zone in zones {
      writer.beginObject()
      writer.key("zone")
      writer.string(zone.zone)
      writer.key("unknown")
      writer.bool(unknown.contains(zone.zone))
      let isRefused = questions.claims[zone.zone]?.state == .refused
      if isRefused || unknown.contains(zone.zone) {
        writer.key("until")
        writer.int64(isRefused ? 0 : history.recoveryEnd ?? 0)
      }
      writer.endObject()
    }
    writer.endArray()
  }

  /// Writes the result of a request's recovered records.
  package func write(_ recovery: RecoveryOutcome, to writer: inout JSONWriter) {
    writer.key("recovered")
    writer.beginObject()
    writer.key("count")
    writer.int64(Int64(recovery.count))
    writer.key("refused")
    writer.beginArray()
    for refusal in recovery.refused {
      writer.beginObject()
      writer.key("index")
      writer.int64(Int64(refusal.index))
      writer.key("problem")
      writer.rawValue(refusal.problem.document)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
  }
}
