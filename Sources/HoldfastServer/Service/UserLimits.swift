/// What one user may have: PROTOCOL.md, section 8.
public struct UserLimits: Sendable {
  /// How many zones a user may be in, as owner or member, those whose root record is deleted included. Who is there by a group may be in more.
  public var zones = 20_000
  /// How many invitations to zones may wait for a user's answer.
  public var invitations = 1_000
  /// How many of them may be of one inviter.
  public var invitationsOfInviter = 20
  /// How many users a user may block.
  public var blocks = 10_000
  /// How many zones the server offers to a device; it follows no more.
  public var zonesOfDevice = 50_000

  /// The limits unless others are given.
  public init() {}
}
