package import HoldfastCore

/// A link that shares a zone with people whose user names are unknown: docs/SHARING.md, section 4.
package struct Invitation: Sendable, Equatable {
  /// The maximum number of invitations per zone, of uses per invitation, and of seconds until expiry.
  package static let zoneLimit = 100
  package static let useLimit: Int64 = 1000
  package static let secondsLimit: Int64 = 30 * 86_400

  package let id: String
  package let zone: String
  package let role: Role
  /// The id of the owner who created the invitation.
  package let inviter: String
  /// Milliseconds since 1970.
  package let expiresAt: Int64
  /// The number of remaining uses.
  package var uses: Int64

  package init?(id: String, zone: String, role: String, inviter: String, expiresAt: Int64, uses: Int64) {
    guard let role = Role(rawValue: role) else { return nil }
    self.init(id: id, zone: zone, role: role, inviter: inviter, expiresAt: expiresAt, uses: uses)
  }

  package init(id: String, zone: String, role: Role, inviter: String, expiresAt: Int64, uses: Int64) {
    (self.id, self.zone, self.role, self.inviter) = (id, zone, role, inviter)
    (self.expiresAt, self.uses) = (expiresAt, uses)
  }

  /// Whether the invitation has uses left and has not expired.
  ///
  /// An invitation created while the clock was ahead is not valid for longer than the maximum.
  package func isGood(at now: Int64) -> Bool {
    uses > 0 && now < expiresAt && expiresAt - now <= (Self.secondsLimit + 86_400) * 1000
  }
}

/// The invitations to zones. Changes take the zone's lock.
package protocol InvitationTable: AnyObject {
  /// The invitation of a token, or nil.
  func invitation(_ token: TokenHash) throws -> Invitation?

  /// The number of invitations to a zone.
  func count(of zone: String) throws -> Int

  /// Adds an invitation under the hash of its token.
  func add(_ invitation: Invitation, _ token: TokenHash) throws

  /// Stores the number of remaining uses.
  func setUses(_ uses: Int64, of id: String, in zone: String) throws

  /// Removes an invitation of a zone.
  ///
  /// - Returns: whether the invitation existed.
  func remove(_ id: String, from zone: String) throws -> Bool

  /// Removes the expired invitations of a zone. Used-up invitations stay until they expire, so that a repeated acceptance gets the same
  /// answer.
  func sweep(_ zone: String, at now: Int64) throws
}
