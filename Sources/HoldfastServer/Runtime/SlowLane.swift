import HoldfastConcurrency
import HoldfastService
import HoldfastSystem

/// The slow lane: applies the writes that the fast lane has deferred, one at a time on each of its threads.
///
/// A write that is still blocked at the end of its turn goes behind the others, so writes that nothing blocks never wait for many that are.
final class SlowLane: Sendable {
  private struct Deferred: Sendable {
    let write: RequestDispatcher.Write
    /// The end of its last wait but one.
    let deadline: MonotonicTime
    var turns = 0
  }

  /// The number of threads, and of connections.
  static let threads = 4
  /// How long a write may be blocked, from the moment when it was first deferred.
  private static let life = Duration.seconds(10)
  /// The maximum number of turns, for a write that fails without waiting.
  private static let turns = 100
  /// How long a turn waits for each lock, and how long if other writes wait for their turns.
  private static let (patience, brevity) = (Duration.milliseconds(500), Duration.milliseconds(100))

  /// Refers to itself through the body of its threads, until `stop`.
  private let worker: Locked<Worker<Deferred>?>

  /// - Parameters:
  ///   - limit: the maximum number of waiting writes.
  ///   - run: gives a write its turn on a thread, from 0, and defers it by the closure if it is still blocked.
  init(
    limit: Int,
    run:
      @escaping @Sendable (
        RequestDispatcher.Write, _ thread: Int, Service.Turn, _ putOff: (RequestDispatcher.Write) -> Void
      ) -> Void
  ) throws {
    let worker = Locked<Worker<Deferred>?>(nil)
    self.worker = worker
    let made = try Worker<Deferred>(limit: limit, batch: 1, threads: Self.threads) { waiting, thread in
      for var deferred in waiting {
        let lane = worker.withLock { $0 }
        deferred.turns += 1
        let turn = Service.Turn(
          patience: lane.map { $0.waitingCount >= Self.threads } ?? true ? Self.brevity : Self.patience,
          isLast: deferred.turns == Self.turns || deferred.deadline.remaining == 0)
        run(deferred.write, thread, turn) { write in
          if lane?.enqueueBegun(deferred, of: write.client) != true {
            write.finish(.failure(RequestDispatcher.busy))
          }
        }
      }
      return 0
    }
    worker.withLock { $0 = made }
  }

  /// The number of waiting writes.
  var waitingCount: Int { worker.withLock { $0 }?.waitingCount ?? 0 }

  /// Takes a write that the fast lane has deferred; false if there are too many.
  func enqueue(_ write: RequestDispatcher.Write) -> Bool {
    let deferred = Deferred(write: write, deadline: .exact + Self.life)
    return worker.withLock { $0 }?.enqueue(deferred, of: write.client) ?? false
  }

  /// Finishes the queued writes, and stops the threads.
  func stop() {
    worker.withLock { $0 }?.stop()
    worker.withLock { $0 = nil }
  }
}
