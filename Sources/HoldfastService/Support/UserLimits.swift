/// The limits per user: PROTOCOL.md, section 8.
public struct UserLimits: Sendable {
  /// The maximum number of zones with an own membership. Groups may grant more. Zones whose root record is deleted count only toward
  /// `zonesOfDevice`.
  public var zones = 20_000
  /// The maximum number of bytes in the zones that a user owns; nil for no limit. Several nodes may exceed it by what they let pass before they
  /// count again: `UserRoom`.
  public var bytes: Int64? = 10 << 30
  /// The maximum number of a user's pending invitations.
  public var invitations = 1_000
  /// The maximum number of pending invitations from one inviter.
  public var invitationsOfInviter = 20
  /// The maximum number of users that a user may block.
  public var blocks = 10_000
  /// The maximum number of a user's devices with a session. A further sign-in signs out the least recently seen device.
  public var devices = 1_000
  /// The maximum number of sign-ins of a user and new identities of a device, per hour and node.
  public var sessionsInHour = 100
  /// The maximum number of sign-ups from one address, per hour and node.
  public var signUpsInHour = 100
  /// The maximum number of a user's look-ups of other users by name, per hour and node.
  public var lookUpsInHour = 1_000
  /// The maximum number of a user's event streams per node.
  public var eventStreams = 100
  /// How long a session stays valid without a sync or write.
  public var sessionIdle = Duration.seconds(180 * 86_400)
  /// The maximum lifetime of a session.
  public var sessionLifetime = Duration.seconds(400 * 86_400)
  /// The maximum number of zones that the server offers to a device.
  public var zonesOfDevice = 50_000

  /// Whether some users may be guests, whose home is another database: docs/DIRECTORY.md.
  package var mayHaveGuests = false

  /// Creates the default limits.
  public init() {}
}
