import HoldfastCore

/// What users have agreed to, and what not: docs/SHARING.md, sections 2 and 3.
protocol ConsentTable: AnyObject {
  /// Whether a user has left a zone, and so is in it by an own membership alone.
  func hasLeft(_ user: String, _ zone: String) throws -> Bool

  /// The users who have left a zone.
  func leavers(of zone: String) throws -> TextSet

  /// Remembers that a user has left a zone, or came back.
  func setLeft(_ hasLeft: Bool, _ user: String, _ zone: String) throws

  /// Whether a user has blocked another.
  func hasBlocked(_ user: String, _ other: String) throws -> Bool

  /// Those who have blocked a user.
  func blockers(of other: String) throws -> TextSet

  /// How many users a user has blocked.
  func blockCount(of user: String) throws -> Int

  /// Blocks a user for another, or ends that.
  func setBlocked(_ isBlocked: Bool, _ other: String, by user: String) throws

  /// Whether two users are in one zone that is not public.
  func share(_ user: String, _ other: String) throws -> Bool

  /// How many zones a user is in; those beyond a limit are not counted.
  func zoneCount(of user: String, upTo limit: Int) throws -> Int

  /// How many of them have ended: their root record is deleted.
  func endedZoneCount(of user: String) throws -> Int

  /// The ids of those who have invited a user and have no answer yet, once for each invitation.
  func inviters(of user: String) throws -> [String]
}

/// A membership that waits for the word of its user.
struct PendingMembership {
  /// Of the record.
  let id: String
  let zone: String
  let role: String
  /// Who made it.
  let inviter: String
  let inviterName: String
}

/// A zone that names another as its group.
struct GroupGrant {
  /// Of the record.
  let id: String
  let zone: String
  let role: String
}

/// A user whom another has blocked.
struct BlockedUser {
  let id: String
  let name: String
}
