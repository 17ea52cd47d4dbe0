/// A zone that a restored server can't give to this user yet: docs/RESTORING.md, section 7.
///
/// ```swift
/// for zone in try await store.zonesAwaitingRecovery() {
///   print("\(zone.zone) comes back when its owner has synced.")
/// }
/// ```
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
