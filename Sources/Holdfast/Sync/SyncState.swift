import HoldfastCore

/// What the sync engine is about, for an app to show.
public enum SyncState: Sendable, Hashable {
  /// Everything is sent and everything is here, as of the last answer.
  case idle
  /// Everything is sent and everything is here but these zones, which are resynced later: it was done a moment ago, and comes in steps.
  case waiting([WaitingZone])
  /// Everything else is sent and here, but the server was restored, and does not know yet whether this user may have these zones. Their records stay
  /// readable; edits of them wait in quarantine.
  case awaitingRecovery([ZoneAwaitingRecovery])
  /// Change sets go up: of `total` operations that waited, `done` were confirmed.
  case uploading(done: Int, total: Int)
  /// Changes come down: of about `total`, `done` are here.
  case downloading(done: Int, total: Int)
  /// The server can't be reached, or has no time; another try comes by itself.
  case offline(reason: String)
  /// Nobody is signed in, or the session expired. Nothing is lost; sign in to go on.
  case signedOut
}

/// A zone that a restored server can't give to this user yet: docs/RESTORING.md, section 7.
public struct ZoneAwaitingRecovery: Sendable, Hashable {
  /// What it waits for.
  public enum Reason: Sendable, Hashable {
    /// The server does not know the zone: a device of an owner brings it back with its next sync, or an operator gives it to who claims it
    /// (`holdfast restore --report` and `--grant`).
    case zone
    /// The server knows the zone without this user: a device of an owner brings the membership back, or an owner makes the user a member again.
    case membership
  }

  /// The zone.
  public let zone: String
  /// What it waits for.
  public let reason: Reason
  /// Until when the zone stays here, as a timestamp. Then what the user could write there goes into quarantine, and the rest goes.
  public let until: String
}

/// What one sync did.
public struct SyncSummary: Sendable, Hashable {
  /// Operations that the server has dealt with.
  public var sent = 0
  /// Changes that came down.
  public var received = 0
  /// Change sets that the server refused for good, now in quarantine.
  public var quarantined = 0
  /// Zones that a restored server can't give to this user yet: `SyncState.awaitingRecovery` names them.
  public var awaitingRecovery = 0
}
