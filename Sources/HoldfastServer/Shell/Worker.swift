import HoldfastHTTP

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// One thread with a bounded queue of jobs, which it takes in batches.
///
/// @unchecked Sendable: `waiting` and `isStopping` are touched under the lock alone; `thread` is set before another thread
/// has the worker, and read only by its owner.
final class Worker<Job: Sendable>: @unchecked Sendable {
  private let limit: Int
  private let batch: Int
  private let body: @Sendable ([Job]) -> Void
  private let lock = Lock()
  private var waiting: [Job] = []
  private var isStopping = false
  private var thread: pthread_t?

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - limit: how many jobs may wait.
  ///   - batch: how many jobs are taken at once.
  ///   - body: does a batch of jobs, on the thread.
  /// - Throws: `ServerError.unreachable` when the system has no thread left.
  init(limit: Int, batch: Int, _ body: @escaping @Sendable ([Job]) -> Void) throws(ServerError) {
    self.limit = limit
    self.batch = batch
    self.body = body
    thread = try startThread { [unowned self] in run() }
  }

  /// Adds a job; false when too many wait, or the worker is stopping.
  func enqueue(_ job: Job) -> Bool {
    lock.hold {
      if isStopping || waiting.count >= limit { return false }
      waiting.append(job)
      // Only an empty queue can have its thread asleep.
      if waiting.count == 1 { lock.signal() }
      return true
    }
  }

  /// Takes no further jobs, does those that wait, and returns when the thread has ended. Once, before the worker goes.
  func stop() {
    lock.hold {
      isStopping = true
      lock.signal()
    }
    if let thread { pthread_join(thread, nil) }
    thread = nil
  }

  private func run() {
    while true {
      let jobs: [Job] = lock.hold {
        while waiting.isEmpty, !isStopping { lock.wait() }
        let jobs = Array(waiting.prefix(batch))
        waiting.removeFirst(jobs.count)
        return jobs
      }
      if jobs.isEmpty { return }
      body(jobs)
    }
  }
}

/// Starts a thread that runs `body` and must be joined.
func startThread(_ body: @escaping @Sendable () -> Void) throws(ServerError) -> pthread_t {
  let box = Unmanaged.passRetained(ThreadBody(body))
  #if canImport(Glibc)
    var thread = pthread_t()
  #else
    var thread: pthread_t?
  #endif
  let result = pthread_create(&thread, nil, runThreadBody, box.toOpaque())
  guard result == 0 else {
    box.release()
    throw ServerError(.unreachable, "The system has no thread left: \(systemMessage(result)).")
  }
  #if canImport(Glibc)
    return thread
  #else
    guard let thread else { throw ServerError(.unreachable, "The system has no thread left.") }
    return thread
  #endif
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void

  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func runThreadBody(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let context { Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run() }
  return nil
}
