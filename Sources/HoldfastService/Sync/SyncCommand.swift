package import HoldfastCore

/// The writing part of a `POST /v1/sync`.
package struct SyncCommand: Sendable {
  package let key: DeviceKey
  package let request: SyncRequest
  /// The device's app and schema version, if they changed.
  package var newClient: ClientVersion?
  /// The acks; nil for a zone that is no longer on the device.
  package let acks: [(zone: String, ack: ZoneAck?)]
  /// The device's chain after each change set.
  package let chains: [Fingerprint]
  /// What earlier transactions have done of it.
  package var progress = RestProgress()
  /// Names of users that this database does not know, while the directory did not answer.
  package var unreachable: TextSet = []

  /// Parses the acks of a request, and computes the chains.
  ///
  /// - Throws: `Problem.invalidRequest` for an ack that is not a change token, and for change sets other than those that the device sent.
  package init(_ request: SyncRequest, body: [UInt8], key: DeviceKey) throws(Problem) {
    self.key = key
    self.request = request
    var acks: [(zone: String, ack: ZoneAck?)] = []
    acks.reserveCapacity(request.acks.count)
    for ack in request.acks {
      guard (1...64).contains(ack.zone.utf8.count), !ack.zone.utf8.contains(0) else {
        throw Problem(.invalidRequest, "A zone in acks has no zone's name.")
      }
      guard let text = ack.token else {
        acks.append((ack.zone, nil))
        continue
      }
      if text.isEmpty {
        acks.append((ack.zone, ZoneAck(zone: ack.zone, epoch: "", seq: 0)))
      } else if let token = ChangeToken(text) {
        acks.append(
          (ack.zone, ZoneAck(zone: ack.zone, epoch: token.epoch, seq: token.seq, purged: token.purged)))
      } else {
        throw Problem(.invalidRequest, "acks holds a text that is no change token.")
      }
    }
    self.acks = acks
    chains = body.withUnsafeBufferPointer { bytes in
      var chain = request.chain
      return request.changeSets.map { set in
        chain = chain.chained(with: UnsafeBufferPointer(rebasing: bytes[set.range]))
        return chain
      }
    }
    if let last = request.lastChain, last != chains.last ?? request.chain {
      throw Problem(
        .invalidRequest, "The change sets are not those of last_chain: they were damaged on their way.")
    }
  }

  /// Checks that the device has not gone back behind refusals that it acknowledged. Those are purged, so a copy that sends the same change
  /// sets again could never receive them.
  ///
  /// - Throws: `Problem.deviceDiverged`.
  package func requireAcknowledgements(from acknowledged: Int64) throws(Problem) {
    if request.acknowledgedRefusals < acknowledged {
      Trace.took(.divergedAnswers)
      throw Problem(.deviceDiverged, "Refusals up to \(acknowledged) are acknowledged already.")
    }
  }

  /// Whether the request is stale: the server has already stored a request of the device with a later `last_server_clock`. The network
  /// delivered this one late or twice. Its acks may be outdated, and could clear the mark of a zone that was lost meanwhile.
  package func isStale(_ device: DeviceState) -> Bool {
    guard device.isSessionUsed, let clock = request.lastServerClock else { return false }
    return clock < device.clock
  }

  /// The number of change sets that are replays.
  ///
  /// - Parameters:
  ///   - confirmed: the device's highest processed operation number.
  ///   - chain: the device's fingerprint up to there.
  /// - Throws: `Problem.deviceDiverged` if the device has another history: PROTOCOL.md, section 7.
  func replays(confirmed: Int64, chain: Fingerprint) throws(Problem) -> Int {
    if request.changeSets.isEmpty { return 0 }
    var before = request.first - 1
    guard before <= confirmed else {
      Trace.took(.divergedNumber)
      throw Problem(.deviceDiverged, "The number \(before) never arrived here.")
    }
    var own = request.chain
    for (index, set) in request.changeSets.enumerated() {
      if before == confirmed {
        guard own == chain else { throw divergedChain() }
        return index
      }
      before += Int64(set.count)
      own = chains[index]
      if before > confirmed {
        throw Problem(.deviceDiverged, "A change set reaches across the number \(confirmed).")
      }
    }
    if before == confirmed, own != chain { throw divergedChain() }
    return request.changeSets.count
  }

  private func divergedChain() -> Problem {
    Trace.took(.divergedChain)
    return Problem(.deviceDiverged)
  }
}

extension SyncCommand {
  /// The footprint of the command.
  func footprint(_ schema: SyncSchema) -> Footprint {
    var footprint = Footprint(device: key, user: key.user)
    footprint.zones = request.claims.map(\.zone)
    for case .success(let item) in request.recovered {
      footprint.records.append(Footprint.Key(table: item.table, id: item.id))
      footprint.zones.append(item.zone)
    }
    var first = request.first
    for set in request.changeSets {
      let cut = progress.cut.flatMap { $0.place == first ? $0 : nil }
      first += Int64(set.count)
      guard case .success(let operations) = set.content else { continue }
      // Of a deletion in pieces, each piece needs only some of the records, and finds them.
      if let cut {
        footprint.zones += TextSet(cut.zones.compactMap { $0 }).sorted()
        continue
      }
      for operation in operations { footprint.add(operation, schema, user: key.user) }
    }
    return footprint
  }
}

extension LookUp {
  /// What the answer to a request asks for whose writes are committed.
  package init(answering command: SyncCommand, _ outcome: SyncOutcome) {
    self.init(
      command.key.token, .written(acks: command.acks, created: outcome.created), written: outcome.written)
  }
}
