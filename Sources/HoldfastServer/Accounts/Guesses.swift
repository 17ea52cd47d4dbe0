import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The password attempts at this server, of all threads.
///
/// @unchecked Sendable: accessed only with the lock held.
final class Guesses: @unchecked Sendable {
  /// The default number of failures of an account and an address together before they wait.
  static let defaultLimit = 10

  /// A pending attempt. It ends by `fail`, by `succeed`, or without effect when it is deallocated.
  ///
  /// @unchecked Sendable: `isOver` is accessed only with the lock of `guesses` held.
  final class Attempt: @unchecked Sendable {
    private let guesses: Guesses
    private let keys: GuessCount.Keys
    private let began: Int64
    private var isOver = false

    fileprivate init(_ guesses: Guesses, _ keys: GuessCount.Keys, _ began: Int64) {
      (self.guesses, self.keys, self.began) = (guesses, keys, began)
    }

    /// The password was wrong.
    func fail() { end { _ in } }

    /// The password was right.
    func succeed() { end { $0.succeed(keys, at: began) } }

    /// The password was not checked.
    deinit { end { $0.rollBack(keys, at: began) } }

    private func end(_ body: (inout GuessCount) -> Void) {
      guesses.lock.hold {
        if isOver { return }
        isOver = true
        body(&guesses.count)
      }
    }
  }

  private let lock = Lock()
  private var count: GuessCount

  init(limit: Int) { count = GuessCount(limit: limit) }

  /// Begins an attempt.
  ///
  /// - Throws: `Problem.tooManyAttempts`.
  func begin(name: String, address: String, at now: Int64) throws(Problem) -> Attempt {
    let keys = GuessCount.Keys(name: name, address: IPAddress.network(of: address))
    let refusal = lock.hold { () -> Problem? in
      do throws(Problem) { try count.begin(keys, at: now) } catch { return error }
      return nil
    }
    if let refusal { throw refusal }
    return Attempt(self, keys, now)
  }
}
