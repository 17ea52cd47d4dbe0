package import HoldfastCore

/// Processes the proofs and claims of devices: docs/RESTORING.md, sections 3 and 4.
package struct ZoneRecovery {
  package let work: UnitOfWork

  package init(_ work: UnitOfWork) { self.work = work }

  // MARK: A history that went back

  /// Checks whether a device proves a later moment of this epoch than the database has. Only a proof with this database's key counts.
  ///
  /// - Throws: `HistoryWentBack`.
  func requireHistory(_ request: SyncRequest, of device: DeviceState, _ key: DeviceKey) throws {
    let epoch = work.history.epoch
    if work.store.prover.isBehind(request, device.confirmed, device.chain, of: key.number, in: epoch) {
      throw HistoryWentBack(epoch: epoch)
    }
    for claim in request.claims {
      guard let shown = work.store.prover.role(shownBy: claim.proof, of: key.user, in: claim.zone),
        shown.epoch == epoch
      else { continue }
      // Zones are never removed, and their seq never decreases.
      if try shown.seq > work.stores.ledger.storedSeq(of: claim.zone) { throw HistoryWentBack(epoch: epoch) }
    }
  }

  // MARK: Claims

  /// Processes a device's claims for zones in which it is ahead of the database.
  package func take(_ claims: [RecoveryClaim], by author: Author) throws {
    let now = work.environment.now()
    guard work.history.isRecovering(at: work.clock.trusted.now()), !claims.isEmpty else { return }
    var unproven = try work.store.recovery.unprovenClaims(of: author.user)
    for claim in claims where try mayBeClaimed(claim.zone) {
      let restored = try work.store.recovery.restored(claim.zone)
      let zoneClaims = try work.store.recovery.zoneClaims(of: claim.zone)
      let known = zoneClaims.first { $0.user == author.user }
      if known?.state == .refused { continue }
      var zoneClaim = ZoneClaim(
        zone: claim.zone, user: author.user, role: Role(rawValue: claim.role), moment: nil,
        device: author.device, records: claim.records, at: now, state: known?.state ?? .waiting)
      if let (role, moment) = proven(claim, of: author.user, restored: restored) {
        (zoneClaim.role, zoneClaim.moment) = (role, moment)
      }
      if let known, let before = known.moment, zoneClaim.moment.map({ $0 < before }) ?? true {
        // An older proof, such as one from another device of the user, does not replace a later one.
        (zoneClaim.role, zoneClaim.moment) = (known.role, before)
      }
      if zoneClaim.role == .owner, zoneClaim.moment != nil, restored?.seq ?? 0 == 0 {
        try inPart {
          try recover(&zoneClaim, besides: zoneClaims.filter { $0.user != author.user }, at: author.clock)
        }
      }
      if known == nil, zoneClaim.moment == nil {
        // Anybody can invent zones. The limit keeps the real claims visible to an operator.
        if unproven >= ZoneClaim.unprovenLimit { continue }
        unproven += 1
      }
      try work.store.recovery.put(zoneClaim)
      work.recovery.claim(claim.zone, zoneClaim.moment?.seq ?? 0)
    }
  }

  /// Runs `body` in a savepoint. Rolls it back if a rule forbids it.
  private func inPart(_ body: () throws -> Void) throws {
    work.stores.ledger.beginChangeSet(by: 0)
    do { _ = try work.part(body) } catch is Problem {
      try work.transaction.undoPart()
    }
  }

  /// Whether a zone can be claimed: only zones of records and users, whose names cannot be guessed. Public zones cannot, nor those that have
  /// moved to another database.
  private func mayBeClaimed(_ zone: String) throws -> Bool {
    try Identifier.isUUID(zone) && !work.stores.schema.publicZones.contains(zone)
      && work.stores.ledger.leftFor(zone) == nil
  }

  /// The role and moment that a claim proves; nil without a valid proof of a moment that the database lacks.
  private func proven(
    _ claim: RecoveryClaim, of user: String, restored: RestoredZone?
  ) -> (Role, ZoneClaim.Moment)? {
    guard let shown = work.store.prover.role(shownBy: claim.proof, of: user, in: claim.zone),
      let ago = work.history.earlier.firstIndex(of: shown.epoch)
    else { return nil }
    let moment = ZoneClaim.Moment(epochsAgo: Int64(ago), seq: shown.seq)
    // The backup itself knows the roles up to its own moment.
    if let restored, restored.seq > 0, moment <= ZoneClaim.Moment(epochsAgo: 0, seq: restored.seq) {
      return nil
    }
    return (shown.role, moment)
  }

  /// Makes a proven owner the owner of a zone that the backup lacks, unless another user has proved a later moment of it.
  private func recover(_ zoneClaim: inout ZoneClaim, besides others: [ZoneClaim], at now: Stamp) throws {
    let zone = zoneClaim.zone
    if try !work.stores.ledger.exists(zone) {
      Trace.took(.zoneRecovered)
      try work.stores.ledger.create(zone)
    } else if try work.stores.ledger.isPublic(zone) {
      return
    } else if try work.store.zones.moveNumber(of: zone) > 0 {
      // It has come from another database since the restore, with its members.
      guard try work.stores.memberList.ownRole(of: zoneClaim.user, in: zone) == .owner else { return }
    } else if let best = others.compactMap(\.recovered).max() {
      guard let moment = zoneClaim.moment, moment > best else { return }
    } else if others.contains(where: { $0.state == .granted }) {
      return
    } else if zoneClaim.state != .granted, try !isMaker(zoneClaim.user, of: zone) {
      // Users who created the zone again since the restore have no proof of it. They lose their memberships, and whom they invited the invitations.
      for member in try work.stores.memberList.all(of: zone) { try remove(member.id, at: now) }
    }
    try work.stores.makeOwner(zoneClaim.user, of: zone, at: now)
    zoneClaim.state = .granted
  }

  /// Whether a user is an owner by a membership that no other user has made.
  private func isMaker(_ user: String, of zone: String) throws -> Bool {
    guard try work.stores.memberList.ownRole(of: user, in: zone) == .owner,
      let member = try work.stores.membership(of: user, in: zone),
      let creation = RecordStamps(member.stamps)?.creation
    else { return false }
    return try work.stores.devices.owner(of: creation.device)?.user == user
  }

  private func remove(_ member: String, at now: Stamp) throws {
    guard let record = try work.stores.tables[work.stores.members].record(member) else { return }
    let run = ChangeSetRun([], by: Author(device: 0, user: "", clock: now), on: work.stores, isErasing: true)
    try Deleting(run: run).remove(record, at: now) { _ in false }
    try Deleting(run: run).removeMember(record)
  }

  /// Ends the memberships of owners who have recovered a zone with an earlier proof, once the owner with the latest proof recovers its members and they
  /// are not among these: they were removed in between.
  ///
  /// - Parameter recovered: the recovered records of one request.
  func endEarlier(_ recovered: [RecoveredRecord], by author: Author) throws {
    var users: TextMap<TextSet> = [:]
    for record in recovered where record.table == work.stores.members {
      guard let user = record.values?[work.stores.memberColumns.user].text else { continue }
      users[record.zone, default: []].insert(user)
    }
    for (zone, users) in users.sorted(by: { $0.key < $1.key })
    where try work.stores.recoverer(of: zone) == author.user {
      for var claim in try work.store.recovery.zoneClaims(of: zone)
      where claim.recovered != nil && claim.user != author.user && !users.contains(claim.user) {
        guard let member = try work.stores.membership(of: claim.user, in: zone), !isRecovered(member) else {
          continue
        }
        try inPart { try remove(member.id, at: author.clock) }
        claim.state = .waiting
        try work.store.recovery.put(claim)
      }
    }
  }

  /// Whether a device has recovered a membership, or its role.
  private func isRecovered(_ member: StoredRecord) -> Bool {
    let role = TableSchema.members.columns[work.stores.memberColumns.role].name
    return RecordStamps(member.stamps)?[role].isRecovered ?? false
  }
}

extension Prover {
  /// Whether a request proves that the server has confirmed more operations to the device, or other ones, than the database knows.
  func isBehind(
    _ request: SyncRequest, _ confirmed: Int64, _ chain: Fingerprint, of device: Int64, in epoch: String
  ) -> Bool {
    guard !request.proof.isEmpty, request.acknowledgedRefusals >= confirmed,
      let shown = progress(shownBy: request.proof, of: device), shown.epoch == epoch
    else { return false }
    return shown.confirmed > confirmed || shown.confirmed == confirmed && shown.chain != chain.text
  }
}

extension History {
  /// How long after a restore zones can be claimed: 30 days.
  static let recoveryTime: Int64 = 30 * 86_400_000

  /// The end of that time; nil if the database was never restored.
  var recoveryEnd: Int64? { previous == nil ? nil : began + Self.recoveryTime }

  func isRecovering(at now: Int64) -> Bool { recoveryEnd.map { now < $0 } ?? false }
}
