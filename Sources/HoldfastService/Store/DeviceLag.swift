package import HoldfastCore

/// How far a device is behind what its server has.
package struct DeviceLag: Sendable, Equatable {
  package let id: String
  package let name: String
  /// When it was last seen, in milliseconds since 1970; written once a day at least, as long as it comes.
  package let seenAt: Int64
  /// What it said of itself last; nil for one that said nothing.
  package let client: ClientVersion?
  /// How many zones it has.
  package var zones = 0
  /// How many of them have changes that it has not acked.
  package var behind = 0
  /// How many numbers of theirs it has not acked: as many changes at the most.
  package var changes: Int64 = 0

  package init(
    id: String, name: String, seenAt: Int64, client: ClientVersion?, zones: Int = 0, behind: Int = 0,
    changes: Int64 = 0
  ) {
    (self.id, self.name, self.seenAt, self.client, self.zones, self.behind, self.changes) = (
      id, name, seenAt, client, zones, behind, changes
    )
  }

  /// Counts a zone.
  ///
  /// - Parameters:
  ///   - ack: the seq up to which the device has it.
  ///   - seq: the zone's last.
  package mutating func add(ack: Int64, seq: Int64) {
    zones += 1
    if seq <= ack { return }
    behind += 1
    changes += seq - ack
  }
}
