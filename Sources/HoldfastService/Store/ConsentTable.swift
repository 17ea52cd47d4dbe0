package import HoldfastCore

/// The stored consents of users, and the zones they have left: docs/SHARING.md, sections 2 and 3.
package protocol ConsentTable: AnyObject {
  /// Whether a user has left a zone. Groups no longer grant that user access to it.
  func hasLeft(_ user: String, _ zone: String) throws -> Bool

  /// The users who have left a zone.
  func leavers(of zone: String) throws -> TextSet

  /// Whether a user has blocked another.
  func hasBlocked(_ user: String, _ other: String) throws -> Bool

  /// Those of some users whom a user has blocked.
  func blocked(by user: String, among others: [String]) throws -> TextSet

  /// The users who have blocked a user.
  func blockers(of other: String) throws -> TextSet

  /// The number of users that a user has blocked.
  func blockCount(of user: String) throws -> Int

  /// Blocks a user for another, or removes the block.
  func setBlocked(_ isBlocked: Bool, _ other: String, by user: String) throws

  /// A zone that two users share, that is not public, other than `zones`; nil for none.
  ///
  /// - Parameter user: the user with fewer zones.
  func sharedZone(of user: String, _ other: String, besides zones: [String]) throws -> String?

  /// The number of zones of a user. Stops counting at `limit`.
  func zoneCount(of user: String, upTo limit: Int) throws -> Int

  /// The number of accepted memberships of a user, without what groups grant. Stops counting at `limit`.
  func membershipCount(of user: String, upTo limit: Int) throws -> Int

  /// The bytes in the zones that a user owns, without public ones.
  func bytes(of user: String) throws -> Int64

  /// The number of the user's zones that have ended: their root record is deleted.
  func endedZoneCount(of user: String, besides zones: [String]) throws -> Int

  /// The pending memberships of a user, each with its inviter.
  /// Those of users who are being erased are not among them: nobody sees them.
  func inviters(of user: String) throws -> [(id: String, inviter: String)]
}

/// A membership that its user has not accepted yet.
package struct PendingMembership {
  /// The id of the `members` record.
  package let id: String
  package let zone: String
  package let role: String
  /// The id of the user who made the membership.
  package let inviter: String
  package let inviterName: String

  package init(id: String, zone: String, role: String, inviter: String, inviterName: String) {
    (self.id, self.zone, self.role, self.inviter, self.inviterName) = (id, zone, role, inviter, inviterName)
  }
}

/// A zone that grants access to a group.
package struct GroupGrant {
  /// The id of the `members` record.
  package let id: String
  package let zone: String
  package let role: String

  package init(id: String, zone: String, role: String) {
    (self.id, self.zone, self.role) = (id, zone, role)
  }
}

/// A user that another user has blocked.
package struct BlockedUser {
  package let id: String
  package let name: String

  package init(id: String, name: String) {
    (self.id, self.name) = (id, name)
  }
}
