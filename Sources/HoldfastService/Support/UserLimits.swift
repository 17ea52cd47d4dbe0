/// What one user may have: PROTOCOL.md, section 8.
public struct UserLimits: Sendable {
  /// How many zones a user may be in, as owner or member. Who is there by a group may be in more. Those whose root record is deleted count only
  /// among `zonesOfDevice`.
  public var zones = 20_000
  /// How many invitations to zones may wait for a user's answer.
  public var invitations = 1_000
  /// How many of them may be of one inviter.
  public var invitationsOfInviter = 20
  /// How many users a user may block.
  public var blocks = 10_000
  /// How many devices of a user have a session. The one seen least recently is signed out for another.
  public var devices = 1_000
  /// How often a user signs in, or a device gets a new identity, in an hour at one node.
  public var sessionsInHour = 100
  /// How many accounts are asked for from an address in an hour at one node.
  public var signUpsInHour = 100
  /// How often a user looks others up by name in an hour at one node.
  public var lookUpsInHour = 1_000
  /// How many streams of events a user has at one node.
  public var eventStreams = 100
  /// How long a session lasts in which nothing is synced or written.
  public var sessionIdle = Duration.seconds(180 * 86_400)
  /// How long any session lasts.
  public var sessionLifetime = Duration.seconds(400 * 86_400)
  /// How many zones the server offers to a device; it follows no more.
  public var zonesOfDevice = 50_000

  /// The limits unless others are given.
  public init() {}
}
