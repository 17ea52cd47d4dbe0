import HoldfastHTTP

/// A bounded queue of jobs, and the threads that take them in batches.
///
/// @unchecked Sendable: `waiting` and `isStopping` are touched under the lock alone; `threads` is set before another thread
/// has the worker, and read only by its owner.
final class Worker<Job: Sendable>: @unchecked Sendable {
  private let limit: Int
  private let batch: Int
  private let body: @Sendable ([Job], _ thread: Int) -> Void
  private let lock = Lock()
  private var waiting: [Job] = []
  private var isStopping = false
  private var isEnded = false
  private var threads: [HoldfastHTTP.Thread] = []

  /// Starts the threads.
  ///
  /// - Parameters:
  ///   - limit: how many jobs may wait.
  ///   - batch: how many jobs are taken at once.
  ///   - threads: how many threads there are.
  ///   - body: does a batch of jobs, on the thread of a number from 0.
  /// - Throws: `ServerError.unreachable` when the system has no thread left.
  init(
    limit: Int, batch: Int, threads count: Int = 1, _ body: @escaping @Sendable ([Job], _ thread: Int) -> Void
  ) throws(ServerError) {
    self.limit = limit
    self.batch = batch
    self.body = body
    for number in 0..<count {
      do { threads.append(try startThread { [unowned self] in run(number) }) } catch {
        stop()
        throw error
      }
    }
  }

  /// Adds a job; false when too many wait, or the worker is stopping.
  func enqueue(_ job: Job) -> Bool {
    lock.hold {
      if isStopping || waiting.count >= limit { return false }
      waiting.append(job)
      // Only a queue that is as good as empty can have a thread asleep.
      if waiting.count <= threads.count { lock.signal() }
      return true
    }
  }

  /// Adds a job that must be done, however many wait; after `stop` it is done at once.
  func enqueueOwed(_ job: Job) {
    let isTaken = lock.hold {
      if isStopping, isEnded { return false }
      waiting.append(job)
      lock.signal()
      return true
    }
    if !isTaken { body([job], 0) }
  }

  /// Takes no further jobs, does those that wait, and returns when the thread has ended. Once, before the worker goes.
  func stop() {
    lock.hold {
      isStopping = true
      lock.signal()
    }
    for thread in threads { thread.join() }
    threads = []
    for job in lock.hold({ end() }) { body([job], 0) }
  }

  /// What came after the threads had ended.
  private func end() -> [Job] {
    isEnded = true
    defer { waiting = [] }
    return waiting
  }

  private func run(_ number: Int) {
    while true {
      let jobs: [Job] = lock.hold {
        while waiting.isEmpty, !isStopping { lock.wait() }
        let jobs = Array(waiting.prefix(batch))
        waiting.removeFirst(jobs.count)
        return jobs
      }
      if jobs.isEmpty { return }
      body(jobs, number)
    }
  }
}

/// Starts a thread that runs `body` and must be joined.
func startThread(_ body: @escaping @Sendable () -> Void) throws(ServerError) -> HoldfastHTTP.Thread {
  guard let thread = HoldfastHTTP.Thread(body) else {
    throw ServerError(.unreachable, "The system has no thread left.")
  }
  return thread
}
