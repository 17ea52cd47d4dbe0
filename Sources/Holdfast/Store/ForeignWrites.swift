import Dispatch
import HoldfastSystem

/// Notices that somebody wrote to a database: another process, or another store of this one.
///
/// The system tells of each write to the write-ahead log. A commit can be seen only some time after that, when the log is on disk, and nothing tells of
/// that moment: so the file is looked at again a few times. Where the system can't tell (Windows, a user with too many watches), it is looked at every half
/// second.
final class ForeignWrites: Sendable {
  private struct State {
    var isStarted = false
    /// Whether a look has been asked for that has not begun.
    var isAwaited = false
    /// Counts what the system tells, so that the looks behind an older word end.
    var word = 0
    var version: Int64?
    var watch: FileWatch?
    var poll: Task<Void, Never>?
  }

  /// How often the file is looked at where nothing tells of writes.
  static let interval = Duration.milliseconds(500)

  /// When the file is looked at again after a write, in milliseconds after each other.
  private static let delays = [2, 20, 200, 2000, 20_000]

  let file: String?
  private let sleep: @Sendable (Duration) async throws -> Void
  private let state: Locked<State>

  /// - Parameters:
  ///   - file: what changes with each write: the write-ahead log, but no database, as a descriptor that is closed ends its locks; nil for a database in memory, which nobody else has.
  ///   - version: SQLite's counter of commits of others, as it is when the database is opened.
  init(
    watching file: String?, version: Int64?, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.file = file
    self.sleep = sleep
    state = Locked(State(version: version))
  }

  deinit { stop() }

  /// Begins to watch; a second call does nothing.
  ///
  /// - Parameter look: is called when something was written, by whomever, and a few times after that.
  func start(_ look: @escaping @Sendable () -> Void) {
    guard let file else { return }
    let isFirst = state.withLock { state in
      defer { state.isStarted = true }
      return !state.isStarted
    }
    guard isFirst else { return }
    if let watch = FileWatch(file, { [weak self] in self?.hear(look) }) {
      state.withLock { $0.watch = watch }
    } else {
      let poll = Task { [sleep] in while (try? await sleep(Self.interval)) != nil { look() } }
      state.withLock { $0.poll = poll }
    }
    // What was written before.
    look()
  }

  private func hear(_ look: @escaping @Sendable () -> Void) {
    let word = state.withLock { state in
      state.word += 1
      return state.word
    }
    look()
    lookAgain(look, after: word, Self.delays[...])
  }

  private func lookAgain(_ look: @escaping @Sendable () -> Void, after word: Int, _ delays: ArraySlice<Int>) {
    guard let delay = delays.first else { return }
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .milliseconds(delay)) { [weak self] in
      guard let self, state.withLock({ $0.word == word }) else { return }
      look()
      lookAgain(look, after: word, delays.dropFirst())
    }
  }

  /// Whether a look is to be taken: not when one is awaited already.
  func awaitLook() -> Bool {
    state.withLock { state in
      defer { state.isAwaited = true }
      return !state.isAwaited
    }
  }

  /// A look begins.
  func beginLook() { state.withLock { $0.isAwaited = false } }

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
      state.word += 1
      return (state.watch, state.poll)
    }
    watch?.stop()
    poll?.cancel()
  }
}
