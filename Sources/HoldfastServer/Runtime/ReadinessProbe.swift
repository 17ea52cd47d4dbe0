import HoldfastConcurrency
import HoldfastCore
import HoldfastService
import HoldfastSystem

/// Answers `/readyz`: whether the database takes writes. Requests that arrive while it tries share the next try.
final class ReadinessProbe: Sendable {
  typealias Answer = @Sendable (Result<Outcome, Problem>) -> Void

  /// How long a try may take. A database that hangs answers later, or never.
  private static let patience = Duration.seconds(5)
  /// How long the database counts as full after it had no space for a write. What the try writes needs no new space.
  private static let fullFor = Duration.seconds(10)

  private let fullUntil = Locked(MonotonicTime(milliseconds: 0))
  private let worker: Worker<Answer>

  /// - Parameter write: applies a command of the server itself, and waits for it for at most some time; nil if that is not enough.
  init(limit: Int, write: @escaping @Sendable (ServiceCommand, Duration) -> Result<Outcome, Problem>?) throws
  {
    let fullUntil = fullUntil
    worker = try Worker(limit: limit, batch: .max) { waiting, _ in
      let result: Result<Outcome, Problem> =
        if fullUntil.withLock({ $0 }).remaining > 0 {
          .failure(Problem(.storageFull))
        } else {
          write(.probe, Self.patience) ?? .failure(Problem(.busy))
        }
      for answer in waiting { answer(result) }
      return 0
    }
  }

  /// Adds a request; false if there are too many.
  func enqueue(of client: Client, _ answer: @escaping Answer) -> Bool { worker.enqueue(answer, of: client) }

  /// Takes the result of a write into account.
  func learn(from result: Result<Outcome, Problem>) {
    guard case .failure(let problem) = result, problem.code == .storageFull else { return }
    fullUntil.withLock { $0 = .exact + Self.fullFor }
  }

  func stop() { worker.stop() }
}
