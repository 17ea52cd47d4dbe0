import HoldfastCore
import HoldfastService

/// Decisions of an operator after a restore: docs/RESTORING.md, section 7.
extension Administration {
  /// Lists the recovery claims: each names a zone, and a device and user that have more of it than the database.
  public func recoveryClaims() throws -> Listing {
    let (accounts, devices) = (operators.store.accounts, operators.store.devices)
    let rows = try operators.zoneClaims().map { claim in
      let shown = claim.moment == nil ? "no" : "yes"
      let state =
        switch claim.state {
        case .waiting: claim.zoneExists ? "zone exists" : "waiting"
        case .granted: "granted"
        case .refused: "refused"
        }
      return [
        claim.zone, try accounts.name(ofID: claim.user) ?? claim.user, claim.role?.rawValue ?? "", shown,
        try devices.owner(of: claim.device)?.id ?? "", String(claim.records),
        Timestamp.text(milliseconds: claim.at), state,
      ]
    }
    return Listing(
      columns: ["zone", "user", "role", "proven", "device", "records", "claimed", "state"], rows: rows)
  }

  /// Grants a recovery claim: the user becomes owner of the zone, and the user's devices upload it. The database must not know the zone.
  ///
  /// - Throws: `ServerError`: `notFound` if there is no such user or claim; `refused` if the zone exists.
  public func grantRecovery(of zone: String, toUser name: String) throws {
    try decide(.grant, zone, name) { work, claim, now in
      guard try !work.stores.ledger.exists(zone) else {
        throw ServerError(
          .refused,
          try isMember(claim)
            ? Self.settled(zone, name)
            : "The zone \(zone) is there by now. `holdfast zones grant` makes \(name) a member of it.")
      }
      try work.stores.ledger.create(zone)
      try work.stores.makeOwner(claim.user, of: zone, at: now)
      claim.state = .granted
    }
  }

  /// Refuses a user's recovery claim. The user's devices drop the zone. Records that the user could write go to quarantine.
  ///
  /// - Throws: `ServerError`: `notFound` if there is no such user or claim; `refused` if it was granted before.
  public func refuseRecovery(of zone: String, toUser name: String) throws {
    try decide(.refuse, zone, name) { work, claim, now in
      if claim.state == .granted {
        throw ServerError(
          .refused, "\(name) has recovered the zone \(zone) already. `holdfast zones` lists it.")
      }
      if try isMember(claim) { throw ServerError(.refused, Self.settled(zone, name)) }
      claim.state = .refused
    }
  }

  private func isMember(_ claim: ZoneClaim) throws -> Bool {
    try operators.membership(of: claim.user, in: claim.zone) != nil
  }

  private static func settled(_ zone: String, _ name: String) -> String {
    "The zone \(zone) is there, and \(name) is a member of it: there is nothing to decide."
  }

  private func decide(
    _ action: AuditedAction, _ zone: String, _ name: String,
    _ decision: (UnitOfWork, inout ZoneClaim, Stamp) throws -> Void
  ) throws {
    try change(action, Footprint(zones: [zone])) { work, now, audited in
      let store = work.store
      guard let user = try store.accounts.id(ofName: name) else {
        throw ServerError(.notFound, "There is no user \(name). `holdfast users` lists them.")
      }
      guard var claim = try store.recovery.zoneClaims(of: zone).first(where: { $0.user == user }) else {
        throw ServerError(
          .notFound, "\(name) has not claimed the zone \(zone). `holdfast restore --report` lists claims.")
      }
      audited = Audited(target: zone, detail: claim.user)
      try decision(work, &claim, now)
      try store.recovery.put(claim)
    }
  }
}
