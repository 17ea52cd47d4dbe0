#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// Ends waits for a server, from any thread: one for notifications, or those of `PostgresOptions.interruption`. It is a pipe; the waiting
/// threads poll its reading end.
public final class PostgresWaker: Sendable {
  let reading: Int32
  private let writing: Int32

  /// Creates a waker.
  ///
  /// - Throws: `.outOfDescriptors`.
  public init() throws(PostgresError) {
    var ends: (Int32, Int32) = (-1, -1)
    let result = withUnsafeMutableBytes(of: &ends) { bytes in
      bytes.baseAddress.map { pipe($0.assumingMemoryBound(to: Int32.self)) } ?? -1
    }
    guard result == 0 else {
      throw PostgresError(.outOfDescriptors, "The system has no descriptor left.", while: .waiting)
    }
    (reading, writing) = ends
    for end in [reading, writing] {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
  }

  deinit {
    close(reading)
    close(writing)
  }

  /// Ends the current wait for notifications, or else the next one; all waits of connections that it interrupts, now and later.
  public func wake() {
    // A full pipe wakes too.
    _ = write(writing, "!", 1)
  }

  /// Discards earlier calls of `wake`.
  func reset() {
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { bytes in
      while read(reading, bytes.baseAddress, bytes.count) > 0 {}
    }
  }
}
