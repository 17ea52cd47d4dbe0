#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A point in time on the machine's monotonic clock; the only place of this module that reads a clock.
struct Deadline: Sendable, Comparable {
  /// Nanoseconds since the machine's start.
  private let nanoseconds: Int64

  private init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The present.
  static var now: Deadline {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Deadline(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  /// A point from now on; a wait below zero is none, one past a century is a century.
  static func after(_ wait: Duration) -> Deadline { now + wait }

  static func + (time: Deadline, wait: Duration) -> Deadline {
    let (seconds, attoseconds) = wait.components
    let whole = min(max(seconds, 0), 3_155_760_000) * 1_000_000_000
    return Deadline(nanoseconds: time.nanoseconds + whole + max(attoseconds, 0) / 1_000_000_000)
  }

  static func < (left: Deadline, right: Deadline) -> Bool { left.nanoseconds < right.nanoseconds }

  /// How long until then in milliseconds, rounded up, for `poll`; 0 when it has passed.
  var milliseconds: Int32 {
    Int32(clamping: max(nanoseconds - Deadline.now.nanoseconds + 999_999, 0) / 1_000_000)
  }

  /// The point itself.
  var time: timespec {
    timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }

  /// How long until then.
  var remaining: timespec {
    let left = max(nanoseconds - Deadline.now.nanoseconds, 0)
    return timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
  }
}
