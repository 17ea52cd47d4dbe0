import HoldfastConcurrency
import HoldfastHTTP
import HoldfastService

/// A bounded queue of jobs in which clients take turns, and the threads that take them in batches.
///
/// @unchecked Sendable: `waiting`, `isStopping`, `isEnded` and `asleep` are touched under the lock alone; `threads` is set before another thread
/// has the worker, and read only by its owner.
final class Worker<Job: Sendable>: @unchecked Sendable {
  private let limit: Int
  private let batch: Int
  private let threadCount: Int
  private let body: @Sendable ([Job], _ thread: Int) -> Int
  private let lock = Lock()
  private var waiting: FairQueue<Job>
  private var isStopping = false
  private var isEnded = false
  /// How many threads wait for a job.
  private var asleep = 0
  private var threads: [SystemThread] = []

  /// Starts the threads.
  ///
  /// - Parameters:
  ///   - limit: how many jobs may wait; of one client a quarter of them, rounded up.
  ///   - batch: how many jobs are taken at once; of several threads each leaves half of what waits to the others.
  ///   - threads: how many threads there are.
  ///   - running: how many jobs of one client may be under way; any number unless given.
  ///   - body: does a batch of jobs, on the thread of a number from 0, and says for how many at its end it had no time: not for all.
  /// - Throws: `ServerError.unreachable` when the system has no thread left.
  init(
    limit: Int, batch: Int, threads count: Int = 1, running: Int = .max,
    _ body: @escaping @Sendable ([Job], _ thread: Int) -> Int
  ) throws(ServerError) {
    self.limit = limit
    self.batch = batch
    threadCount = count
    self.body = body
    waiting = FairQueue(share: .init(waiting: (limit + 3) / 4, running: running))
    for number in 0..<count {
      do { threads.append(try startThread { [unowned self] in run(number) }) } catch {
        stop()
        throw error
      }
    }
  }

  /// Adds a job; false when too many wait, in all or of the client, or the worker is stopping.
  func enqueue(_ job: Job, of client: Client) -> Bool {
    lock.hold {
      if isStopping || waiting.count >= limit || !waiting.append(job, of: client) { return false }
      if asleep > 0 { lock.signal() }
      return true
    }
  }

  /// Adds a job that must be done, however many wait; after `stop` it is done at once.
  func enqueueOwed(_ job: Job, of client: Client) {
    if !enqueueBegun(job, of: client) { finish([job]) }
  }

  /// Adds a job of which a part is done, however many wait; false after `stop`.
  func enqueueBegun(_ job: Job, of client: Client) -> Bool {
    lock.hold {
      if isStopping, isEnded { return false }
      waiting.insert(job, of: client)
      if asleep > 0 { lock.signal() }
      return true
    }
  }

  /// Takes no further jobs, does those that wait, and returns when the thread has ended. Once, before the worker goes.
  func stop() {
    lock.hold {
      isStopping = true
      lock.broadcast()
    }
    for thread in threads { thread.join() }
    threads = []
    finish(lock.hold { end() })
  }

  /// What came after the threads had ended.
  private func end() -> [Job] {
    isEnded = true
    return waiting.removeAll()
  }

  /// Does jobs on this thread, all of them.
  private func finish(_ jobs: [Job]) {
    for job in jobs { _ = body([job], 0) }
  }

  private func run(_ number: Int) {
    while true {
      let taken = lock.hold {
        while !waiting.isReady, !(isStopping && waiting.count == 0) {
          asleep += 1
          lock.wait()
          asleep -= 1
        }
        return waiting.take(threadCount > 1 ? min(batch, (waiting.count + 1) / 2) : batch)
      }
      if taken.isEmpty { return }
      let left = body(taken.map(\.job), number)
      lock.hold {
        // Those that there was no time for come first among their client's, in the order that they had.
        for (client, job) in taken.suffix(left).reversed() { waiting.insert(job, of: client, atFront: true) }
        for (client, _) in taken { waiting.finish(client) }
        if asleep > 0 { lock.broadcast() }
      }
    }
  }
}
