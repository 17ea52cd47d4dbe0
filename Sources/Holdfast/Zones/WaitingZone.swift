/// A zone that the server wants resynced, and that waits, as it was resynced a moment ago.
///
/// ```swift
/// for zone in try await store.waitingZones() { print(zone.zone) }
/// ```
public struct WaitingZone: Sendable, Hashable {
  /// The id of its root record, the user's id, or the name of a public zone.
  public let zone: String
  /// When it is resynced, as RFC 3339 has it; by the device's clock.
  public let until: String
}
