import HoldfastConcurrency
import HoldfastHTTP
import HoldfastService
import Synchronization

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A bounded queue of jobs, fair between clients, and the threads that run the jobs in batches.
///
/// @unchecked Sendable: `waiting`, `phase`, `asleep`, `wanted` and `groups` are accessed only with the lock held. `threads` is set before another thread
/// has the worker, and read only by its owner.
final class Worker<Job: Sendable>: @unchecked Sendable {
  private let limit: Int
  private let batch: Int
  private let threadCount: Int
  private let body: @Sendable ([Job], _ thread: Int) -> Int
  private let lock = Lock()
  private var waiting: FairQueue<Client, Job>
  private enum Phase {
    case open
    /// The queued jobs are finished.
    case stopping
    /// The threads have ended. Owed jobs run on the thread that adds them.
    case ended
    /// Nothing is run any more.
    case dropped
  }

  private var phase = Phase.open
  /// The number of threads that wait for a job.
  private var asleep = 0
  /// The number of waiting jobs that a thread gathers.
  private var wanted = Int.max
  /// The number of groups of jobs that are being added. Meanwhile no thread takes a job.
  private var groups = 0
  private var threads: [SystemThread] = []
  private let hasJobs = Atomic<Bool>(false)

  /// Starts the threads.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of waiting jobs. One client may have a quarter of them, rounded up.
  ///   - batch: the maximum number of jobs in a batch. One of several threads leaves half of more than 32 waiting jobs to the others.
  ///   - threads: the number of threads.
  ///   - running: the maximum number of running jobs of one client; unlimited by default.
  ///   - body: runs a batch of jobs on a thread, numbered from 0. It returns how many jobs at the end of the batch it has not run: fewer than all.
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

  /// The number of waiting jobs.
  var waitingCount: Int { lock.hold { waiting.count } }

  /// Adds a job; false if the queue or the client's share is full, or the worker is stopping.
  func enqueue(_ job: Job, of client: Client) -> Bool {
    lock.hold {
      if phase != .open || waiting.count >= limit || !waiting.append(job, of: client) { return false }
      wake()
      return true
    }
  }

  /// Adds a job that must run, regardless of limits. After `stop` it runs on this thread, after `drop` never.
  func enqueueOwed(_ job: Job, of client: Client) {
    if !enqueueBegun(job, of: client), !lock.hold({ phase == .dropped }) { finish([job]) }
  }

  /// Adds a job that is partly done, regardless of limits; false after `stop` or `drop`.
  func enqueueBegun(_ job: Job, of client: Client) -> Bool {
    lock.hold {
      if phase == .ended || phase == .dropped { return false }
      waiting.insert(job, of: client)
      wake()
      return true
    }
  }

  /// Adds the jobs that `body` enqueues as a group: a thread takes as many of them as it may at once.
  func group(_ body: () -> Void) {
    lock.hold { groups += 1 }
    body()
    lock.hold {
      groups -= 1
      wake()
    }
  }

  /// Refuses further jobs, and forgets the queued ones: nobody waits for them any more. Running ones go on.
  func drop() {
    // Jobs are released without the lock.
    _ = lock.hold {
      phase = .dropped
      lock.broadcast()
      return waiting.removeAll()
    }
  }

  /// Refuses further jobs, finishes the queued ones unless they were dropped, and returns when the threads have ended. Call it once, before
  /// the worker is released.
  func stop() {
    lock.hold {
      if phase == .open { phase = .stopping }
      lock.broadcast()
    }
    for thread in threads { thread.join() }
    threads = []
    finish(lock.hold { end() })
  }

  /// Closes the queue, and returns jobs that were added after the threads had ended.
  private func end() -> [Job] {
    if phase == .stopping { phase = .ended }
    return waiting.removeAll()
  }

  /// Runs all jobs on this thread.
  private func finish(_ jobs: [Job]) {
    for job in jobs { _ = body([job], 0) }
  }

  /// Wakes a thread if there is something to do for it.
  private func wake() {
    hasJobs.store(canTake, ordering: .relaxed)
    if canTake, asleep > 0 || waiting.count >= wanted { lock.signal() }
  }

  private var canTake: Bool { waiting.isReady && groups == 0 }

  /// Waits until half as many jobs are there as the last batch had. Its clients send their next jobs one after the other, and the first alone
  /// would cost as much as all of them: a commit.
  private func gather(after jobs: Int, until deadline: MonotonicTime) {
    wanted = jobs / 2
    while waiting.count < wanted, phase == .open, deadline.remaining > 0 { lock.wait(until: deadline) }
    wanted = .max
  }

  /// Looks for another job for a moment, and lets other threads run meanwhile: to be woken from sleep takes longer than a small job does.
  private func linger() {
    let end = ContinuousClock.now + .microseconds(100)
    while !hasJobs.load(ordering: .relaxed), ContinuousClock.now < end { sched_yield() }
  }

  private func run(_ number: Int) {
    var last = (jobs: 0, deadline: MonotonicTime(milliseconds: 0))
    while true {
      if last.jobs == 1 { linger() }
      let taken = lock.hold {
        while !canTake, phase == .open || waiting.count > 0 {
          asleep += 1
          lock.wait()
          asleep -= 1
        }
        gather(after: last.jobs, until: last.deadline)
        let taken = waiting.take(threadCount > 1 ? min(batch, max(16, (waiting.count + 1) / 2)) : batch)
        // What is left is for another thread.
        wake()
        return taken
      }
      if taken.isEmpty { return }
      let start = MonotonicTime.exact
      let left = body(taken.map(\.job), number)
      let end = MonotonicTime.exact.milliseconds
      // A third of the time that it took.
      last = (taken.count, MonotonicTime(milliseconds: end + (end - start.milliseconds) / 3))
      lock.hold {
        // Jobs that were not run return to the front of their client's queue, in their order.
        for (client, job) in taken.suffix(phase == .dropped ? 0 : left).reversed() {
          waiting.insert(job, of: client, atFront: true)
        }
        for (client, _) in taken { waiting.finish(client) }
        if phase != .open { lock.broadcast() }
      }
    }
  }
}
