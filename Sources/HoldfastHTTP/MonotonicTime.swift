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

  static func + (time: MonotonicTime, span: Milliseconds) -> MonotonicTime {
    MonotonicTime(milliseconds: time.milliseconds + span.count)
  }

  static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
    time + Milliseconds(duration)
  }
}

/// A duration, converted once: `Duration` divides 128-bit numbers, too dear to be done for every request.
struct Milliseconds: Sendable {
  let count: UInt64

  /// Rounds up. What is negative is none, and what is longer than a century is a century.
  init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    count =
      seconds < 0
      ? 0 : UInt64(min(seconds, 3_155_760_000)) * 1000 + UInt64(attoseconds / 1_000_000_000_000_000) + 1
  }
}
