package import HoldfastConcurrency

/// How long a request may read. The databases look at it when they lend a connection; none, unless somebody says so.
package enum ReadLimit: Equatable, Sendable {
  /// As long as other requests can wait for the thread: 20 ms. What takes longer begins again where it keeps nobody waiting.
  case brief
  /// So long; then the request has failed.
  case long(Duration)

  /// The limit of what this thread reads now.
  @TaskLocal package static var current: ReadLimit?

  /// The moment at which reading that begins now is to end.
  package var deadline: MonotonicTime {
    switch self {
    case .brief: .exact + .milliseconds(20)
    case .long(let duration): .exact + duration
    }
  }
}
