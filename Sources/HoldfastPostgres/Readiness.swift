import HoldfastConcurrency

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// The operations that a descriptor permits without blocking.
struct Readiness: OptionSet, Sendable {
  let rawValue: Int16

  init(rawValue: Int16) { self.rawValue = rawValue }

  /// Data or the end can be read, or a read will report an error.
  static let readable = Readiness(rawValue: 1)
  /// Bytes can be written, or a write will report an error.
  static let writable = Readiness(rawValue: 2)

  private var events: Int16 {
    Int16(contains(.readable) ? POLLIN : 0) | Int16(contains(.writable) ? POLLOUT : 0)
  }

  private init(events: Int16, asked: Readiness) {
    if events & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 {
      self = asked
    } else {
      self = []
      if events & Int16(POLLIN) != 0 { insert(.readable) }
      if events & Int16(POLLOUT) != 0 { insert(.writable) }
    }
  }

  /// Waits until one of `asked` is ready; empty if the deadline has passed. A nil deadline waits without limit.
  static func wait(for asked: Readiness, of descriptor: Int32, until deadline: MonotonicTime?) -> Readiness {
    wait(for: asked, of: descriptor, orReadable: -1, until: deadline).first
  }

  /// Waits until one of `asked` is ready, or the other descriptor is readable; -1 means no other.
  static func wait(
    for asked: Readiness, of descriptor: Int32, orReadable other: Int32, until deadline: MonotonicTime?
  ) -> (first: Readiness, other: Bool) {
    var places = (
      pollfd(fd: descriptor, events: asked.events, revents: 0),
      pollfd(fd: other, events: Int16(POLLIN), revents: 0)
    )
    while true {
      let ready = withUnsafeMutableBytes(of: &places) { bytes in
        poll(
          bytes.baseAddress?.assumingMemoryBound(to: pollfd.self), 2,
          deadline.map { Int32(clamping: $0.remaining) } ?? -1)
      }
      if ready > 0 {
        return (Readiness(events: places.0.revents, asked: asked), places.1.revents != 0)
      }
      if ready == 0 { return ([], false) }
      // A poll interrupted by a signal is repeated. After any other failure the next read or write reports the error.
      if errno != EINTR { return (asked, false) }
    }
  }
}
