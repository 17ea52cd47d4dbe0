/// What one sync did.
///
/// ```swift
/// let summary = try await engine.sync()
/// print("\(summary.sent) sent, \(summary.received) received")
/// ```
public struct SyncSummary: Sendable, Hashable {
  /// Operations that the server has dealt with.
  public var sent = 0
  /// Changes that came down.
  public var received = 0
  /// Change sets that the server refused for good, now in quarantine.
  public var quarantined = 0
  /// Zones that are in another database by now, and refused change sets for such: docs/MOVING.md.
  public var moved = 0
  /// Zones that a restored server can't give to this user yet: `SyncState.awaitingRecovery` names them.
  public var awaitingRecovery = 0
  /// Zones that are resynced later, as it was done a moment ago: `SyncState.waiting` names them.
  public var waitingZones = 0
}
