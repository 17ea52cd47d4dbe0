package import HoldfastCore

/// What a transaction has changed, to be written in one go.
package struct Delta {
  /// Zones that it makes.
  package let newZones: [String]
  /// In the order in which they were changed first.
  package let records: [ChangedRecord]

  // What follows is written right before the commit.

  /// The time of what is written.
  package var clock = Stamp.zero
  package var movedZones: [MovedZone] = []
  /// What users may do in zones from now on.
  package var roles: [(member: ZoneUser, role: Role?)] = []
  /// Who has left which zone, or came back.
  package var left: [(member: ZoneUser, hasLeft: Bool)] = []
  package var movedDevices: [MovedDevice] = []
  /// Up to which number the refusals of devices are purged.
  package var purgedRefusals: [(device: Int64, last: Int64)] = []
  package var refusals: [NewRefusal] = []
  /// The devices whose acks go, but for those of zones that were lost; before the new ones come.
  package var clearedAcks: [Int64] = []
  package var acks: [NewAck] = []
  package var losses: [LostZone] = []
  package var requests = RequestDelta()

  package init(newZones: [String], records: [ChangedRecord]) {
    (self.newZones, self.records) = (newZones, records)
  }

  /// What is added to the number of each user who loses zones; in one order, as each is a lock.
  package var lossesByUser: [(user: String, sum: Int64)] {
    var sums: TextMap<Int64> = [:]
    for loss in losses { sums[loss.user, default: 0] += loss.seq &+ 1 }
    return sums.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}

/// What a record was in the database, and what it becomes.
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

/// The last seq of a zone, and what it holds.
package struct MovedZone {
  package let zone: String
  package let seq: Int64
  package let counts: ZoneCounts
}

/// How far a device has come, and when it was seen.
package struct MovedDevice {
  package let number: Int64
  package let state: DeviceState
  /// In milliseconds since 1970.
  package let seenAt: Int64
}

/// Why a change set of a device was refused.
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

/// An ack to be stored. A zone that was lost in between must be resynced, or given up.
package struct NewAck {
  package let key: AckKey
  /// Nil says that the zone is gone from the device.
  package let ack: ZoneAck?
  /// Whether one that is not known counts as that of a zone that was lost in between.
  package let isDoubted: Bool
}

/// A zone that all devices of a user lose, and its seq at this moment.
package struct LostZone {
  package let zone: String
  package let user: String
  package let seq: Int64
}

/// What is remembered of requests.
package struct RequestDelta {
  /// Up to which number a device's answers are purged.
  package var purged: [Int64: Int64] = [:]
  package var additions: [RequestAddition] = []
  /// What is remembered of requests that are not done yet, in the place of what was; their numbers stay.
  package var changes: [(device: Int64, answered: AnsweredRequest)] = []
  package var created: [NewCreation] = []

  package init() {}
}

/// An answer to be remembered.
package struct RequestAddition {
  package let device: Int64
  /// Counts the answers of the device.
  package let number: Int64
  /// The size of all answers before it.
  package let before: Int64
  package let answered: AnsweredRequest
}

/// Which request created a record.
package struct NewCreation {
  package let request: RequestKey
  package let device: Int64
  package let user: String
  package let record: CreatedRecord
}
