#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A point in time, in milliseconds since the machine's start.
package struct MonotonicTime: Sendable, Comparable {
  package var milliseconds: UInt64

  package init(milliseconds: UInt64) { self.milliseconds = milliseconds }

  /// The current time, accurate to about 4 ms. The coarse clock costs a tenth of the exact one.
  package static var now: MonotonicTime {
    #if canImport(Darwin)
      exact
    #else
      read(CLOCK_MONOTONIC_COARSE)
    #endif
  }

  /// The current time, accurate to the millisecond.
  package static var exact: MonotonicTime { read(CLOCK_MONOTONIC) }

  /// The milliseconds left until this time; 0 if it has passed.
  package var remaining: UInt64 {
    let now = Self.exact.milliseconds
    return milliseconds > now ? milliseconds - now : 0
  }

  private static func read(_ clock: clockid_t) -> MonotonicTime {
    var time = timespec()
    clock_gettime(clock, &time)
    return MonotonicTime(milliseconds: UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000)
  }

  package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
    left.milliseconds < right.milliseconds
  }

  package static func + (time: MonotonicTime, span: Milliseconds) -> MonotonicTime {
    MonotonicTime(milliseconds: time.milliseconds + span.count)
  }

  package static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
    time + Milliseconds(duration)
  }
}

/// A duration in milliseconds, converted once. `Duration` divides 128-bit numbers, which is too expensive for every request.
package struct Milliseconds: Sendable {
  package let count: UInt64

  /// Rounds up, and limits the duration to a range from zero to a century.
  package init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    count =
      seconds < 0
      ? 0
      : UInt64(min(seconds, 3_155_760_000)) * 1000 + UInt64(max(attoseconds, 0) / 1_000_000_000_000_000) + 1
  }
}
