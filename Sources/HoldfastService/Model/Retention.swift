import HoldfastCore

/// How long the server keeps what somebody may still need: docs/RETENTION.md.
public struct Retention: Sendable, Equatable {
  /// For how long a tombstone stays at least; a day unless given.
  public var tombstones: Duration
  /// For how long a device that is not seen counts; 90 days unless given.
  public var devices: Duration
  /// For how long an overlap stays in the log; 90 days unless given.
  public var conflicts: Duration

  /// Times of their own; each has a default.
  public init(
    tombstones: Duration = .seconds(86_400), devices: Duration = .seconds(90 * 86_400),
    conflicts: Duration = .seconds(90 * 86_400)
  ) {
    (self.tombstones, self.devices, self.conflicts) = (tombstones, devices, conflicts)
  }
}

/// What a pass decides by; the moments are milliseconds since 1970.
package struct RetentionTerms: Sendable {
  /// How many rows one command removes at the most.
  package static let step = 500

  /// Acks of its epoch count.
  package var history: History
  /// What is trusted.
  package let now: Int64
  /// What the clock shows.
  package let shown: Int64
  /// A device that was not seen after it is dead.
  package let devicesSeenAfter: Int64
  /// Of what was deleted up to it the tombstones may go.
  package let deletedUpTo: Int64
  /// Conflicts that were logged before it go.
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

  /// Up to where a zone's tombstones may go while a device that may read it is not heard since the epoch began: it may recover what was deleted since.
  ///
  /// - Parameter seq: what the zone had when it began.
  package func limit(purged: Int64, restored seq: Int64) -> Int64 { history.isForkKnown ? seq : purged }

  /// Devices whose first session began before it, and that never synced or wrote, go.
  package var unusedBefore: Int64 { now - 30 * 86_400_000 }

  /// Answers to requests of REST that are as old go.
  package var acknowledgedUpTo: Int64 { now - RequestRetention.time }

  /// A restore that was before it has no part in what devices say any more: those not heard since were given up, and those that were and
  /// did not recover all that they have are dead by now.
  package var restoredUpTo: Int64 { devicesSeenAfter - (now - devicesSeenAfter) }

  /// The least id of a conflict that stays: they begin with the time at which they were made.
  package var firstConflict: String {
    let digits = String(conflictsFrom, radix: 16)
    let padded = String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    return "\(padded.prefix(8))-\(padded.dropFirst(8))"
  }
}
