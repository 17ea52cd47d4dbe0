package import HoldfastCore

/// The changes of a transaction, written in one batch.
package struct Delta {
  /// The zones that the transaction creates.
  package let newZones: [String]
  /// In the order of their first change.
  package let records: [ChangedRecord]

  // The members below are written right before the commit.

  /// The stamp of the transaction.
  package var clock = Stamp.zero
  package var movedZones: [MovedZone] = []
  /// The new effective roles of users in zones; nil removes access.
  package var roles: [(member: ZoneUser, role: Role?)] = []
  /// The users who left a zone, or returned to it.
  package var left: [(member: ZoneUser, hasLeft: Bool)] = []
  package var movedDevices: [MovedDevice] = []
  /// Each device's refusals up to this operation number are purged.
  package var purgedRefusals: [(device: Int64, last: Int64)] = []
  package var refusals: [NewRefusal] = []
  /// The devices whose acks are deleted, except acks of lost zones. Applied before `acks`.
  package var clearedAcks: [Int64] = []
  package var acks: [NewAck] = []
  package var losses: [LostZone] = []
  package var requests = RequestDelta()

  package init(newZones: [String], records: [ChangedRecord]) {
    (self.newZones, self.records) = (newZones, records)
  }

  /// The increment of each user's loss counter: more than what the zones lost added to `CollectionScope.age`, which grows so also by a loss.
  /// Sorted by user, because each update takes a row lock.
  package var lossesByUser: [(user: String, sum: Int64)] {
    var sums: TextMap<Int64> = [:]
    for loss in losses { sums[loss.user, default: 0] += loss.seq &+ 2 }
    return sums.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}

/// A record's stored and new state.
package struct ChangedRecord {
  package let key: Footprint.Key
  package let before: RecordEntry?
  package let now: RecordEntry

  package init(key: Footprint.Key, before: RecordEntry?, now: RecordEntry) {
    (self.key, self.before, self.now) = (key, before, now)
  }
}

/// A user in a zone.
package struct ZoneUser: Hashable, Comparable {
  package let zone: String
  package let user: String

  package init(zone: String, user: String) { (self.zone, self.user) = (zone, user) }

  package static func < (one: ZoneUser, other: ZoneUser) -> Bool {
    one.zone == other.zone ? one.user < other.user : one.zone < other.zone
  }
}

/// A zone's last seq and counts.
package struct MovedZone {
  package let zone: String
  /// The stored seq; 0 for a zone that the transaction creates.
  package let before: Int64
  package let seq: Int64
  package let counts: ZoneCounts
}

/// A device's progress.
package struct MovedDevice {
  package let number: Int64
  package let state: DeviceState
}

/// The reason why a device's change set was refused.
package struct NewRefusal {
  package let device: Int64
  package let first: Int64
  package let last: Int64
  package let operation: Int64
  package let problem: [UInt8]
}

/// A zone on a device.
package struct AckKey: Hashable, Comparable {
  package let device: Int64
  package let zone: String

  package static func < (one: AckKey, other: AckKey) -> Bool {
    one.device == other.device ? one.zone < other.zone : one.device < other.device
  }
}

/// An ack to store. If the user lost the zone since the previous ack, the device must resync or drop the zone.
package struct NewAck {
  package let key: AckKey
  /// Nil: the device no longer has the zone.
  package let ack: ZoneAck?
  /// Whether an ack without a stored predecessor is stored as one of a lost zone, so that the device must resync.
  package let isDoubted: Bool
}

/// A zone that all devices of a user lose, and the zone's seq at the loss.
package struct LostZone {
  package let zone: String
  package let user: String
  package let seq: Int64
}

/// The changes of the stored requests.
package struct RequestDelta {
  /// Each device's stored answers up to this number are purged.
  package var purged: [Int64: Int64] = [:]
  package var additions: [RequestAddition] = []
  /// New progress of unfinished requests. It replaces the stored progress; the numbers stay the same.
  package var changes: [(device: Int64, answered: AnsweredRequest)] = []
  package var created: [NewCreation] = []

  package init() {}
}

/// An answer to store.
package struct RequestAddition {
  package let device: Int64
  /// A running number per device.
  package let number: Int64
  /// The total size of the device's earlier answers, in bytes.
  package let before: Int64
  package let answered: AnsweredRequest
}

/// Links a record to the request that created it.
package struct NewCreation {
  package let request: RequestKey
  package let device: Int64
  package let user: String
  package let record: CreatedRecord
}
