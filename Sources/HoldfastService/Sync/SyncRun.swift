package import HoldfastCore

/// Does what a sync request says, in the transaction of its command: docs/PROTOCOL.md, section 3.
package struct SyncRun {
  package let work: UnitOfWork

  package init(_ work: UnitOfWork) { self.work = work }

  /// How many refusals a device may have that it has not dealt with, before it sends more.
  static let refusalLimit = SyncRequest.changeSetLimit

  /// Writes all that a sync request says: answers, acks, change sets, the device's number and chain.
  ///
  /// - Returns: `synced`, or `unfinished` where a deletion goes on in another transaction.
  /// - Throws: `Problem` before anything is written.
  package func sync(_ command: SyncCommand, at now: Stamp) throws -> Outcome {
    let (zones, records) = (ZoneRecovery(work), RecordRecovery(work))
    var device = try work.device(command.key)
    try zones.requireHistory(command.request, of: device, command.key)
    try command.requireAcknowledgements(from: device.acknowledgedRefusals)
    let replays = try command.replays(confirmed: device.confirmed, chain: device.chain)
    let (number, request) = (command.key.number, command.request)
    if device.isUnseenSinceRestore, !request.isComplete, request.digest != AckDigest().text {
      // What it has may be what the restore has lost. It is answered `resend`, as the restore purged its acks.
      Trace.took(.unseenDeviceAsked)
      return .synced(refusedRecoveries: nil)
    }
    try requireLimits(command, of: number, isReplay: replays == request.changeSets.count)
    if request.acknowledgedRefusals > 0 {
      try work.stores.devices.purgeRefusals(number, upTo: request.acknowledgedRefusals)
    }
    let ahead = try records.zonesAhead(command.acks)
    let isOld = command.isOld(device)
    if isOld {
      Trace.took(.oldRequest)
    } else {
      try takeAcks(command, of: device, ahead: ahead)
      try acceptRecovered(in: command, by: Author(device: number, user: device.user, clock: now))
    }
    // An old one that brings nothing must not make those old that the device sends meanwhile.
    let isEmpty =
      replays == request.changeSets.count && request.recovered.isEmpty && request.claims.isEmpty
    let written = isOld && isEmpty ? device.clock : now
    if let client = command.newClient { try work.store.devices.setClient(client, of: number) }
    if !ahead.isEmpty {
      // What it sends may build on what the restore has lost: it hands that back first.
      device.acknowledgedRefusals = max(device.acknowledgedRefusals, request.acknowledgedRefusals)
      try work.stores.devices.advance(number, to: device, clock: written, at: work.clock.trusted.written())
      return .synced(refusedRecoveries: nil)
    }
    if replays > 0 { Trace.took(.replaySkipped) }
    let author = Author(device: number, user: device.user, clock: now)
    var isUnfinished = false
    try zones.take(request.claims, by: author)
    let refused = try records.take(request.recovered, by: author)
    for index in replays..<request.changeSets.count {
      // What is left stays unconfirmed, and the device sends it again behind what others send.
      let applied = index - replays
      if applied > 0, work.hasDoneEnough(applied) {
        Trace.took(.setsLeft)
        break
      }
      let set = request.changeSets[index]
      let (refusal, hasMore) = try apply(set, by: author, isCut: command.isCut && index == replays)
      if hasMore {
        isUnfinished = true
        break
      }
      if let refusal {
        try work.stores.devices.addRefusal(number, first: device.confirmed + 1, count: set.count, refusal)
      }
      Trace.took(refusal == nil ? .setApplied : .setRefused)
      device.move(past: set, chain: command.chains[index])
      device.applied.add(.init(last: device.confirmed, chain: device.chain), isRefused: refusal != nil)
    }
    device.acknowledgedRefusals = max(device.acknowledgedRefusals, request.acknowledgedRefusals)
    try work.stores.devices.advance(number, to: device, clock: written, at: work.clock.trusted.written())
    return isUnfinished ? .unfinished(RestProgress(isCut: true)) : .synced(refusedRecoveries: refused)
  }

  /// Requires that a device deals with its refusals before it sends more, and that it says all its zones where they are too many to be known.
  private func requireLimits(_ command: SyncCommand, of number: Int64, isReplay: Bool) throws {
    let request = command.request
    if !isReplay,
      try work.stores.devices.refusals(number, after: request.acknowledgedRefusals) > Self.refusalLimit
    {
      // All of them are in each answer. A device that reads its answers never gets here.
      throw Problem(.invalidRequest, "acknowledged_refusals: deal with the refusals before sending more.")
    }
    if !command.acks.isEmpty, !request.isComplete,
      try work.stores.devices.hasAcks(number, beyond: SyncRequest.ackLimit)
    {
      throw Problem(
        .invalidRequest, "The device has more than \(SyncRequest.ackLimit) zones: say all with complete.")
    }
  }

  /// Stores what a device says of its zones.
  ///
  /// - Parameter ahead: the zones of which it has more than the restored database, and whether there is such a zone at all.
  private func takeAcks(_ command: SyncCommand, of device: DeviceState, ahead: TextMap<Bool>) throws {
    let (number, isComplete) = (command.key.number, command.request.isComplete)
    if isComplete {
      Trace.took(.completeAcks)
      try work.stores.devices.purgeAcks(number)
    }
    for (zone, ack) in command.acks {
      // What it has of a zone in which it is ahead is not to be thrown away, unless the server has given it up since the restore, and may have
      // purged deletions there.
      let mayHandBack = ahead[zone].map { isKnown in device.isUnseenSinceRestore || !isKnown } ?? false
      work.stores.devices.setAck(
        number, zone: zone, ack, isDoubted: device.hasPurgedAcks && !mayHandBack)
    }
    if device.hasPurgedAcks, isComplete { try work.stores.devices.remember(number) }
    if isComplete || command.acks.contains(where: { $0.ack?.epoch.isEmpty ?? true }) {
      // It may have begun or ended to follow a public zone.
      work.changes.devices.insert(number)
    }
  }

  /// Accepts memberships that were recovered after a restore, for a user whose own device says that it had the zones: nobody else could.
  private func acceptRecovered(in command: SyncCommand, by author: Author) throws {
    guard work.history.previous != nil else { return }
    for case (let zone, let ack?) in command.acks where work.history.isForeign(ack) {
      guard try work.stores.ledger.exists(zone),
        let member = try work.stores.membership(of: author.user, in: zone),
        member.values[work.stores.memberColumns.inviter] != .null
      else { continue }
      // Beyond a limit it waits for the user's word.
      do { try work.stores.accept(member, by: author) } catch is Problem {}
    }
  }

  private func apply(
    _ set: ReceivedChangeSet, by author: Author, isCut: Bool
  ) throws -> (refused: RefusedOperation?, isUnfinished: Bool) {
    switch set.content {
    case .failure(let refused):
      work.count(refused: refused.problem.code)
      return (refused, false)
    case .success(let operations): return try work.runPiece(operations, by: author, isCut: isCut)
    }
  }
}

extension DeviceState {
  fileprivate mutating func move(past set: ReceivedChangeSet, chain: Fingerprint) {
    confirmed += Int64(set.count)
    self.chain = chain
  }
}
