import HoldfastCore

/// How far a device is behind what its server has.
struct DeviceLag: Sendable, Equatable {
  let id: String
  let name: String
  /// When it was last seen, in milliseconds since 1970; written once a day at least, as long as it comes.
  let seenAt: Int64
  /// What it said of itself last; nil for one that said nothing.
  let client: ClientVersion?
  /// How many zones it has.
  var zones = 0
  /// How many of them have changes that it has not acked.
  var behind = 0
  /// How many numbers of theirs it has not acked: as many changes at the most.
  var changes: Int64 = 0

  /// Counts a zone.
  ///
  /// - Parameters:
  ///   - ack: the seq up to which the device has it.
  ///   - seq: the zone's last.
  mutating func add(ack: Int64, seq: Int64) {
    zones += 1
    if seq <= ack { return }
    behind += 1
    changes += seq - ack
  }
}
