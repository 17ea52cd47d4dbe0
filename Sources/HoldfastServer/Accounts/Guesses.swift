import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The attempts with passwords at this server, of all threads.
///
/// @unchecked Sendable: touched under the lock alone.
final class Guesses: @unchecked Sendable {
  /// How many failures an account and an address have together, unless an operator says otherwise.
  static let defaultLimit = 10

  /// An attempt under way: a failure unless somebody says that it was none, or lets it go without a word.
  ///
  /// @unchecked Sendable: `isOver` is touched under the lock of `guesses` alone.
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

    /// Nobody came to look at the password.
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
    let keys = GuessCount.Keys(name: name, address: IPAddress(address)?.network ?? address)
    let refusal = lock.hold { () -> Problem? in
      do throws(Problem) { try count.begin(keys, at: now) } catch { return error }
      return nil
    }
    if let refusal { throw refusal }
    return Attempt(self, keys, now)
  }
}
