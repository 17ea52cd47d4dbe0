package import HoldfastCore

/// What a commit changed, as far as the streams of devices care: names, and nothing of a record.
///
/// Too much in it costs a device a pull, too little costs it a change. Source: docs/PUSH.md.
package struct ZoneChanges: Sendable, Equatable {
  /// The zones that moved, each with the number of the device that alone wrote it; nil when there were several, or it is not known.
  package private(set) var zones: TextMap<Int64?> = [:]
  /// The users who gained or lost a zone, or whose devices got other sessions.
  package var users: TextSet = []
  /// The numbers of the devices whose session ended, or which began or ended to follow a zone.
  package var devices: Set<Int64> = []

  package init() {}

  package var isEmpty: Bool { zones.isEmpty && users.isEmpty && devices.isEmpty }

  /// Adds a zone that moved.
  package mutating func add(zone: String, by device: Int64?) {
    if let known = zones[zone], known != device {
      zones[zone] = .some(nil)
    } else {
      zones[zone] = .some(device)
    }
  }

  /// Adds what another commit changed.
  package mutating func add(_ other: ZoneChanges) {
    for (zone, device) in other.zones { add(zone: zone, by: device) }
    users.formUnion(other.users)
    devices.formUnion(other.devices)
  }
}
