import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// Counts what somebody does in an hour, and says who has to wait. Each node counts for itself.
///
/// @unchecked Sendable: touched under the lock alone.
final class RateCount: @unchecked Sendable {
  /// How long a count lasts, in milliseconds.
  private static let window: Int64 = 3_600_000
  /// How many are counted at the same time; with more all counts begin again.
  private static let size = 100_000

  private struct Entry {
    let began: Int64
    var count = 0
  }

  private let limit: Int
  private let what: String
  private let lock = Lock()
  private var entries: [TokenHash: Entry] = [:]

  /// - Parameters:
  ///   - limit: how often in an hour.
  ///   - what: what is counted, for the problem's detail.
  init(limit: Int, of what: String) { (self.limit, self.what) = (limit, what) }

  /// Counts once more.
  ///
  /// - Throws: `Problem.rateLimited`; then nothing is counted.
  func take(_ key: String, at now: Int64) throws(Problem) {
    let hash = TokenHash(of: key)
    let end: Int64? = lock.hold {
      var entry = entries[hash] ?? Entry(began: now)
      if now < entry.began || now - entry.began >= Self.window { entry = Entry(began: now) }
      if entry.count >= limit { return entry.began + Self.window }
      if entries.count >= Self.size, entries[hash] == nil { entries.removeAll(keepingCapacity: true) }
      entry.count += 1
      entries[hash] = entry
      return nil
    }
    guard let end else { return }
    throw Problem(
      .rateLimited, "At most \(limit) \(what) in an hour.", retryAfter: Int((end - now + 999) / 1000))
  }
}
