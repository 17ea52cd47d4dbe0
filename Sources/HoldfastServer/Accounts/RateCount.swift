import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// Limits the number of actions per key and hour. Each server counts separately.
///
/// @unchecked Sendable: accessed only with the lock held.
final class RateCount: @unchecked Sendable {
  /// The length of the counting window in milliseconds.
  private static let window: Int64 = 3_600_000
  /// The maximum number of keys. When it is exceeded, all counts are cleared.
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
  ///   - limit: the maximum number of actions per hour.
  ///   - what: the name of the action, for the problem's detail.
  init(limit: Int, of what: String) { (self.limit, self.what) = (limit, what) }

  /// Counts actions. The last ones within the limit may go beyond it, so that no request is too large for ever.
  ///
  /// - Throws: `Problem.rateLimited`; the actions are then not counted.
  func take(_ key: String, _ count: Int = 1, at now: Int64) throws(Problem) {
    let hash = TokenHash(of: key)
    let end: Int64? = lock.hold {
      var entry = entries[hash] ?? Entry(began: now)
      if now < entry.began || now - entry.began >= Self.window { entry = Entry(began: now) }
      if entry.count >= limit { return entry.began + Self.window }
      if entries.count >= Self.size, entries[hash] == nil { entries.removeAll(keepingCapacity: true) }
      entry.count += count
      entries[hash] = entry
      return nil
    }
    guard let end else { return }
    throw Problem(
      .rateLimited, "At most \(limit) \(what) in an hour.", retryAfter: Int((end - now + 999) / 1000))
  }
}
