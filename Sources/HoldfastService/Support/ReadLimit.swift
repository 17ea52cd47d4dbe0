package import HoldfastConcurrency

/// The time limit of reads. The databases apply it when they lend a connection. The default is no limit.
package enum ReadLimit: Equatable, Sendable {
  /// 20 ms, because other requests wait for the thread. A longer read restarts where no request waits for it.
  case brief
  /// This duration. A longer read fails.
  case long(Duration)

  /// The limit for the current task.
  @TaskLocal package static var current: ReadLimit?

  /// The deadline of a read that begins now.
  package var deadline: MonotonicTime {
    switch self {
    case .brief: .exact + .milliseconds(20)
    case .long(let duration): .exact + duration
    }
  }
}
