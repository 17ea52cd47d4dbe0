package import HoldfastCore

/// Executes a sync request, in the transaction of its command: docs/PROTOCOL.md, section 3.
package struct SyncRun {
  package let work: UnitOfWork

  package init(_ work: UnitOfWork) { self.work = work }

  /// The maximum number of unacknowledged refusals with which a device may send more change sets.
  static let refusalLimit = SyncRequest.changeSetLimit
  /// The maximum number of acks that one transaction stores.
  static let ackPiece = 5000

  /// Writes everything that a sync request contains: acknowledged refusals, acks, change sets, the device's number and chain.
  ///
  /// - Returns: `synced`, or `unfinished` if another transaction must go on with the acks or a deletion.
  /// - Throws: `Problem` before anything is written.
  package func sync(_ command: SyncCommand, at now: Stamp) throws -> Outcome {
    let (zones, records) = (ZoneRecovery(work), RecordRecovery(work))
    var device = try work.device(command.key)
    try zones.requireHistory(command.request, of: device, command.key)
    try command.requireAcknowledgements(from: device.acknowledgedRefusals)
    let replays = try command.replays(confirmed: device.confirmed, chain: device.chain)
    let (number, request) = (command.key.number, command.request)
    if device.isUnseenSinceRestore, !request.isComplete, request.digest != AckDigest().text {
      // The device may have records that the restore has lost. The answer requests `resend`, because the restore purged the device's acks.
      Trace.took(.unseenDeviceAsked)
      return .synced(SyncOutcome())
    }
    try requireLimits(command, of: number, isReplay: replays == request.changeSets.count)
    if request.acknowledgedRefusals > 0 {
      try work.stores.devices.purgeRefusals(number, upTo: request.acknowledgedRefusals)
    }
    let author = Author(device: number, user: device.user, clock: now)
    let acks = command.acks.dropFirst(command.progress.acks).prefix(Self.ackPiece)
    let ahead = try records.zonesAhead(acks)
    let isStale = command.isStale(device)
    if isStale {
      Trace.took(.oldRequest)
    } else {
      try take(acks, in: command, of: device, ahead: ahead)
      try acceptRecovered(acks, by: author)
    }
    let isAhead = command.progress.isAhead || !ahead.isEmpty
    if acks.endIndex < command.acks.endIndex {
      return .unfinished(RestProgress(acks: acks.endIndex, isAhead: isAhead))
    }
    if !isStale { device.isUnseenSinceRestore = false }
    // A stale request without new content must not advance the clock: requests that the device sends meanwhile would become stale.
    let isEmpty =
      replays == request.changeSets.count && request.recovered.isEmpty && request.claims.isEmpty
    let written = isStale && isEmpty ? device.clock : now
    if let client = command.newClient { try work.store.devices.setClient(client, of: number) }
    if isAhead {
      // The change sets may build on records that the restore has lost. The device recovers those first.
      device.acknowledgedRefusals = max(device.acknowledgedRefusals, request.acknowledgedRefusals)
      try work.stores.devices.advance(number, to: device, clock: written, at: work.clock.trusted.written())
      return .synced(SyncOutcome())
    }
    if replays > 0 { Trace.took(.replaySkipped) }
    var unfinished: CutDeletion?
    try zones.take(request.claims, by: author)
    var outcome = SyncOutcome()
    let recovery = try records.take(request.recovered, by: author)
    outcome.recovery = recovery
    // The change sets may build on records that the device sends again first.
    let last = recovery.count < request.recovered.count ? replays : request.changeSets.count
    for index in replays..<last {
      // The remaining change sets stay unconfirmed. The device sends them again, after requests of other devices.
      let applied = index - replays
      if applied > 0, work.hasDoneEnough(applied) {
        Trace.took(.setsLeft)
        break
      }
      let set = request.changeSets[index]
      let first = device.confirmed + 1
      let cut = command.progress.cut.flatMap { $0.place == first ? $0 : nil }
      let result = try apply(set, by: author, after: cut, origin: request.origin(ofSetAt: first))
      if var cut = result.cut {
        cut.place = first
        unfinished = cut
        break
      }
      if request.takesAsSent, work.store.isVerbatim, var created = result.created {
        created.first = first
        outcome.created.append(created)
      }
      if let refusal = result.refused {
        try work.stores.devices.addRefusal(number, first: first, count: set.count, refusal)
      }
      Trace.took(result.refused == nil ? .setApplied : .setRefused)
      device.move(past: set, chain: command.chains[index])
      device.applied.add(.init(last: device.confirmed, chain: device.chain), isRefused: result.refused != nil)
    }
    device.acknowledgedRefusals = max(device.acknowledgedRefusals, request.acknowledgedRefusals)
    try work.stores.devices.advance(number, to: device, clock: written, at: work.clock.trusted.written())
    return unfinished.map { .unfinished(RestProgress(acks: command.acks.count, cut: $0)) } ?? .synced(outcome)
  }

  /// Requires that a device acknowledges its refusals before it sends more. A device with too many zones must send all acks.
  private func requireLimits(_ command: SyncCommand, of number: Int64, isReplay: Bool) throws {
    let request = command.request
    if !isReplay,
      try work.stores.devices.refusals(number, after: request.acknowledgedRefusals) > Self.refusalLimit
    {
      // Each answer contains all refusals, so a device that reads its answers never gets here.
      throw Problem(
        .invalidRequest,
        "acknowledged_refusals: acknowledge the refusals in the answers before you send more change sets.")
    }
    if !command.acks.isEmpty, !request.isComplete,
      try work.stores.devices.hasAcks(number, beyond: SyncRequest.ackLimit)
    {
      throw Problem(
        .invalidRequest,
        "The device has more than \(SyncRequest.ackLimit) zones: list all acks in one request with \"complete\"."
      )
    }
  }

  /// Stores some acks of a request, behind those that earlier transactions have stored. Should no other transaction follow, the device's digest
  /// is another than that of its stored acks, and it is asked for all of them.
  ///
  /// - Parameter ahead: the zones in which the device is ahead of the restored database. The value is whether the zone exists.
  private func take(
    _ acks: ZoneAcks, in command: SyncCommand, of device: DeviceState, ahead: TextMap<Bool>
  ) throws {
    let (number, isComplete) = (command.key.number, command.request.isComplete)
    if acks.isEmpty, command.progress != RestProgress() { return }
    if isComplete, command.progress.acks == 0 {
      Trace.took(.completeAcks)
      try work.stores.devices.purgeAcks(number)
    }
    for (zone, ack) in acks {
      // The device keeps its copy of a zone in which it is ahead. Exception: the server has given the device up since the restore, and may
      // have purged tombstones of the zone.
      let mayRecover = ahead[zone].map { isKnown in device.isUnseenSinceRestore || !isKnown } ?? false
      work.stores.devices.setAck(
        number, zone: zone, ack, isDoubted: device.hasPurgedAcks && !mayRecover)
    }
    if acks.endIndex < command.acks.endIndex { return }
    if device.hasPurgedAcks, isComplete { try work.stores.devices.remember(number) }
    if isComplete || command.acks.contains(where: { $0.ack?.epoch.isEmpty ?? true }) {
      // The device may have begun or stopped following a public zone.
      work.changes.devices.insert(number)
    }
  }

  /// Accepts recovered memberships of a user whose own device acks the zones in an earlier epoch. Only that user can make this statement.
  private func acceptRecovered(_ acks: ZoneAcks, by author: Author) throws {
    guard work.history.previous != nil else { return }
    for case (let zone, let ack?) in acks where work.history.isForeign(ack) {
      guard try work.stores.ledger.exists(zone), try work.stores.isOfBefore(zone),
        let member = try work.stores.membership(of: author.user, in: zone),
        member.values[work.stores.memberColumns.inviter] != .null
      else { continue }
      // Beyond the user's limit, the membership stays pending.
      do { try work.stores.accept(member, by: author) } catch is Problem {}
    }
  }

  private func apply(
    _ set: ReceivedChangeSet, by author: Author, after cut: CutDeletion?, origin: String?
  ) throws -> PieceResult {
    switch set.content {
    case .failure(let refused):
      work.count(refused: refused.problem.code)
      return PieceResult(refused: refused)
    case .success(let operations):
      return try work.runPiece(operations, by: author, after: cut, origin: origin)
    }
  }
}

extension DeviceState {
  fileprivate mutating func move(past set: ReceivedChangeSet, chain: Fingerprint) {
    confirmed += Int64(set.count)
    self.chain = chain
  }
}
