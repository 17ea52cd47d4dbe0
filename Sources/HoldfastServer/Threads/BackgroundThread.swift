import HoldfastConcurrency
import HoldfastHTTP
import HoldfastService

/// A thread that handles work and waits for more, until it is stopped.
///
/// @unchecked Sendable: `isStopping` is accessed only with the lock held, `thread` only by the owner.
final class BackgroundThread: @unchecked Sendable {
  /// The result of a look for work.
  enum Next<Work> {
    case work(Work)
    /// No work. The thread sleeps until the time, or until a signal; nil means only a signal.
    case nothing(until: MonotonicTime?)
  }

  /// Guards the state that the thread shares with others. They broadcast on it when there is work.
  let lock = Lock()
  private(set) var isStopping = false
  private var thread: SystemThread?

  /// Starts the thread. Call it once.
  ///
  /// - Parameter body: returns when `next` returns nil.
  /// - Throws: `ServerError.unreachable` if the system can't start a thread.
  func start(_ body: @escaping @Sendable () -> Void) throws(ServerError) { thread = try startThread(body) }

  /// Waits for work; nil when the thread must stop.
  ///
  /// - Parameter look: runs with the lock held.
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

  /// Sleeps; false when the thread must stop.
  ///
  /// - Parameter isDue: whether a signal ends the sleep early; runs with the lock held.
  func sleep(_ duration: Duration, unless isDue: () -> Bool = { false }) -> Bool {
    let end = MonotonicTime.exact + duration
    let isOver: Void? = next {
      isDue() || MonotonicTime.exact >= end ? .work(()) : .nothing(until: end)
    }
    return isOver != nil
  }

  /// Lets the thread end after its current work.
  func end() {
    lock.hold {
      isStopping = true
      lock.broadcast()
    }
  }

  /// Stops the thread after its current work, and joins it. Call it once.
  func stop() {
    end()
    thread?.join()
    thread = nil
  }
}
