import Dispatch
import HoldfastSystem

/// Notices that somebody wrote to a database: another process, or another store of this one.
///
/// The system tells of each write to the write-ahead log. Where it can't (Windows, a user with too many watches), the file is looked at every
/// half second.
final class ForeignWrites: Sendable {
  private struct State {
    var isStarted = false
    var version: Int64?
    var watch: FileWatch?
    var poll: Task<Void, Never>?
  }

  /// How often the file is looked at where nothing tells of writes.
  static let interval = Duration.milliseconds(500)

  private let log: String?
  private let sleep: @Sendable (Duration) async throws -> Void
  private let state: Guarded<State>

  /// - Parameters:
  ///   - path: the database; nil for one in memory, which nobody else has.
  ///   - version: SQLite's counter of commits of others, as it is when the database is opened.
  init(path: String?, version: Int64?, sleep: @escaping @Sendable (Duration) async throws -> Void) {
    log = path.map { $0 + "-wal" }
    self.sleep = sleep
    state = Guarded(State(version: version))
  }

  deinit { stop() }

  /// Begins to watch; a second call does nothing.
  ///
  /// - Parameter look: is called when something was written, by whomever.
  func start(_ look: @escaping @Sendable () -> Void) {
    guard let log else { return }
    let isFirst = state.withLock { state in
      defer { state.isStarted = true }
      return !state.isStarted
    }
    guard isFirst else { return }
    if let watch = FileWatch(log, look) {
      state.withLock { $0.watch = watch }
    } else {
      let poll = Task { [sleep] in while (try? await sleep(Self.interval)) != nil { look() } }
      state.withLock { $0.poll = poll }
    }
    // What was written before.
    look()
  }

  /// Whether the counter has moved since the last call.
  func isNew(_ version: Int64) -> Bool {
    state.withLock { state in
      defer { state.version = version }
      return state.version != version
    }
  }

  /// Ends to watch; `start` begins again.
  func stop() {
    let (watch, poll) = state.withLock { state in
      defer { (state.isStarted, state.watch, state.poll) = (false, nil, nil) }
      return (state.watch, state.poll)
    }
    watch?.stop()
    poll?.cancel()
  }
}
