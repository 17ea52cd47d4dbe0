import HoldfastConcurrency
import HoldfastHTTP
import HoldfastService

/// A thread that does what there is to do, and waits while there is nothing, until it is stopped.
///
/// @unchecked Sendable: `isStopping` is touched under the lock alone, `thread` by its owner alone.
final class BackgroundThread: @unchecked Sendable {
  /// What the thread finds when it looks.
  enum Next<Work> {
    case work(Work)
    /// Nothing, unless it is signalled, before a time; nil when it has to be signalled.
    case nothing(until: MonotonicTime?)
  }

  /// Guards what the thread shares with others, who signal when it is to look again.
  let lock = Lock()
  private(set) var isStopping = false
  private var thread: SystemThread?

  /// Starts the thread; once.
  ///
  /// - Parameter body: ends when `next` gives nil.
  /// - Throws: `ServerError.unreachable` when the system has no thread left.
  func start(_ body: @escaping @Sendable () -> Void) throws(ServerError) { thread = try startThread(body) }

  /// Waits for something to do; nil when the thread is to end.
  ///
  /// - Parameter look: runs under the lock.
  func next<Work>(_ look: () -> Next<Work>) -> Work? {
    lock.hold {
      while !isStopping {
        switch look() {
        case .work(let work): return work
        case .nothing(let time?): lock.wait(until: time)
        case .nothing(nil): lock.wait()
        }
      }
      return nil
    }
  }

  /// Ends the thread, after what it does now; once.
  func stop() {
    lock.hold {
      isStopping = true
      lock.broadcast()
    }
    thread?.join()
    thread = nil
  }
}
