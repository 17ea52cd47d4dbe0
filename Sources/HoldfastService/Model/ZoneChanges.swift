package import HoldfastCore

/// The changes of a commit, for the event streams: names only, no record data.
///
/// A superfluous entry costs a device a sync; a missing entry hides a change from it. docs/PUSH.md.
package struct ZoneChanges: Sendable, Equatable {
  /// The changed zones. The value is the number of the device that made all changes; nil for several devices, or if unknown.
  package private(set) var zones: TextMap<Int64?> = [:]
  /// The users who gained or lost a zone, or whose devices have new sessions.
  package var users: TextSet = []
  /// The numbers of devices whose session ended, or that began or stopped following a zone.
  package var devices: Set<Int64> = []

  package init() {}

  package var isEmpty: Bool { zones.isEmpty && users.isEmpty && devices.isEmpty }

  /// Adds a changed zone.
  package mutating func add(zone: String, by device: Int64?) {
    if let known = zones[zone], known != device {
      zones[zone] = .some(nil)
    } else {
      zones[zone] = .some(device)
    }
  }

  /// Adds the changes of another commit.
  package mutating func add(_ other: ZoneChanges) {
    for (zone, device) in other.zones { add(zone: zone, by: device) }
    users.formUnion(other.users)
    devices.formUnion(other.devices)
  }
}
