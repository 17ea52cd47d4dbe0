package import HoldfastCore

/// What users have agreed to, and what not, as the database has it: docs/SHARING.md, sections 2 and 3.
package protocol ConsentTable: AnyObject {
  /// Whether a user has left a zone, and so is in it by an own membership alone.
  func hasLeft(_ user: String, _ zone: String) throws -> Bool

  /// The users who have left a zone.
  func leavers(of zone: String) throws -> TextSet

  /// Whether a user has blocked another.
  func hasBlocked(_ user: String, _ other: String) throws -> Bool

  /// Those who have blocked a user.
  func blockers(of other: String) throws -> TextSet

  /// How many users a user has blocked.
  func blockCount(of user: String) throws -> Int

  /// Blocks a user for another, or ends that.
  func setBlocked(_ isBlocked: Bool, _ other: String, by user: String) throws

  /// Whether two users are in one zone that is not public, besides some zones.
  func share(_ user: String, _ other: String, besides zones: [String]) throws -> Bool

  /// How many zones a user is in, besides some; those beyond a limit are not counted.
  func zoneCount(of user: String, besides zones: [String], upTo limit: Int) throws -> Int

  /// How many of them have ended: their root record is deleted.
  func endedZoneCount(of user: String, besides zones: [String]) throws -> Int

  /// The memberships of a user who has no answer yet, each with who made it.
  func inviters(of user: String) throws -> [(id: String, inviter: String)]
}

/// A membership that waits for the word of its user.
package struct PendingMembership {
  /// Of the record.
  package let id: String
  package let zone: String
  package let role: String
  /// Who made it.
  package let inviter: String
  package let inviterName: String

  package init(id: String, zone: String, role: String, inviter: String, inviterName: String) {
    (self.id, self.zone, self.role, self.inviter, self.inviterName) = (id, zone, role, inviter, inviterName)
  }
}

/// A zone that names another as its group.
package struct GroupGrant {
  /// Of the record.
  package let id: String
  package let zone: String
  package let role: String

  package init(id: String, zone: String, role: String) {
    (self.id, self.zone, self.role) = (id, zone, role)
  }
}

/// A user whom another has blocked.
package struct BlockedUser {
  package let id: String
  package let name: String

  package init(id: String, name: String) {
    (self.id, self.name) = (id, name)
  }
}
