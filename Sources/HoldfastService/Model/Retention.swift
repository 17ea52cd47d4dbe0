import HoldfastCore

/// The retention times of data that devices or users may still need: docs/RETENTION.md.
public struct Retention: Sendable, Equatable {
  /// The minimum lifetime of a tombstone. The default is one day.
  public var tombstones: Duration
  /// How long an unseen device counts as alive. The default is 90 days.
  public var devices: Duration
  /// The lifetime of an entry in the conflict log. The default is 90 days.
  public var conflicts: Duration

  /// Sets the retention times.
  public init(
    tombstones: Duration = .seconds(86_400), devices: Duration = .seconds(90 * 86_400),
    conflicts: Duration = .seconds(90 * 86_400)
  ) {
    (self.tombstones, self.devices, self.conflicts) = (tombstones, devices, conflicts)
  }
}

/// The criteria of a retention pass. Times are milliseconds since 1970.
package struct RetentionTerms: Sendable {
  /// The maximum number of rows that one command removes.
  package static let step = 500

  /// Only acks of this history's epoch count.
  package var history: History
  /// The trusted time.
  package let now: Int64
  /// The time of the wall clock.
  package let shown: Int64
  /// Devices last seen at or before this time are dead.
  package let devicesSeenAfter: Int64
  /// Tombstones of deletions up to this time can be purged.
  package let deletedUpTo: Int64
  /// Conflicts logged before this time are purged.
  let conflictsFrom: Int64

  package init(_ retention: Retention, in history: History, at time: TrustedTime) {
    let now = time.time
    func before(_ duration: Duration) -> Int64 {
      max(0, now.subtractingReportingOverflow(duration.wholeMilliseconds).partialValue)
    }
    self.history = history
    self.now = now
    shown = time.shown
    devicesSeenAfter = before(retention.devices)
    deletedUpTo = before(retention.tombstones)
    conflictsFrom = before(retention.conflicts)
  }

  /// Whether devices that have not synced since the epoch began are still waited for. One that writes over REST alone never syncs.
  package var awaitsDevices: Bool { history.began > devicesSeenAfter }

  /// The seq up to which a zone's tombstones can be purged while a device with access has not synced since the epoch began. That device may
  /// recover records that were deleted since.
  ///
  /// - Parameter seq: the zone's seq when the epoch began.
  package func limit(purged: Int64, restored seq: Int64) -> Int64 { history.isForkKnown ? seq : purged }

  /// Devices whose first session began before this time are deleted, if they never synced or wrote.
  package var unusedBefore: Int64 { now - 30 * 86_400_000 }

  /// Stored answers to REST requests up to this time are purged.
  package var answersBefore: Int64 { now - RequestRetention.time }

  /// Data about a restore before this time is purged. Every device has since been given up, has recovered its records, or is dead.
  package var restoredUpTo: Int64 { devicesSeenAfter - (now - devicesSeenAfter) }

  /// The least id of a conflict that stays. The ids begin with the time of the conflict.
  package var firstConflict: String {
    let digits = String(conflictsFrom, radix: 16)
    let padded = String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    return "\(padded.prefix(8))-\(padded.dropFirst(8))"
  }
}
