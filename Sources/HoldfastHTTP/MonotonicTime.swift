import Glibc

/// A point in time in milliseconds since the machine's start; the only place of this module that reads a clock.
struct MonotonicTime: Sendable, Comparable {
  var milliseconds: UInt64

  /// The present, exact to some 4 ms: the coarse clock costs a tenth of the exact one.
  static var now: MonotonicTime {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    return MonotonicTime(milliseconds: UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000)
  }

  static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
    left.milliseconds < right.milliseconds
  }

  /// Rounds up, and holds any duration: what is longer than a century is a century.
  static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
    let (seconds, attoseconds) = duration.components
    if seconds < 0 { return time }
    let whole = UInt64(min(seconds, 3_155_760_000)) * 1000
    return MonotonicTime(
      milliseconds: time.milliseconds + whole + UInt64(attoseconds / 1_000_000_000_000_000) + 1)
  }
}
