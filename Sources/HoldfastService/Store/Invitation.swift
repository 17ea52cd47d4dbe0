package import HoldfastCore

/// A link by which a zone is shared with people whose names need not be known: docs/SHARING.md, section 4.
package struct Invitation: Sendable, Equatable {
  /// How many a zone may have, how many may accept one, and for how long it may be good.
  package static let zoneLimit = 100
  package static let useLimit: Int64 = 1000
  package static let secondsLimit: Int64 = 30 * 86_400

  package let id: String
  package let zone: String
  package let role: Role
  /// The id of the owner who made it.
  package let inviter: String
  /// In milliseconds since 1970.
  package let expiresAt: Int64
  /// How many may still accept it.
  package var uses: Int64

  package init?(id: String, zone: String, role: String, inviter: String, expiresAt: Int64, uses: Int64) {
    guard let role = Role(rawValue: role) else { return nil }
    self.init(id: id, zone: zone, role: role, inviter: inviter, expiresAt: expiresAt, uses: uses)
  }

  package init(id: String, zone: String, role: Role, inviter: String, expiresAt: Int64, uses: Int64) {
    (self.id, self.zone, self.role, self.inviter) = (id, zone, role, inviter)
    (self.expiresAt, self.uses) = (expiresAt, uses)
  }

  /// Whether somebody may accept it now, as far as it says itself.
  ///
  /// One that was made when the clock was ahead is good no longer than any other.
  package func isGood(at now: Int64) -> Bool {
    uses > 0 && now < expiresAt && expiresAt - now <= (Self.secondsLimit + 86_400) * 1000
  }
}

/// The invitations to zones. Those of a zone change under the zone's lock.
package protocol InvitationTable: AnyObject {
  /// The invitation of a token, or nil.
  func invitation(_ token: TokenHash) throws -> Invitation?

  /// How many a zone has.
  func count(of zone: String) throws -> Int

  /// Adds an invitation with the hash of its token.
  func add(_ invitation: Invitation, _ token: TokenHash) throws

  /// Says how many may still accept an invitation.
  func setUses(_ uses: Int64, of id: String, in zone: String) throws

  /// Removes an invitation of a zone.
  ///
  /// - Returns: whether there was one.
  func remove(_ id: String, from zone: String) throws -> Bool

  /// Removes those of a zone that have expired. Those that are used up stay until then, as who used them may ask again.
  func sweep(_ zone: String, at now: Int64) throws
}
