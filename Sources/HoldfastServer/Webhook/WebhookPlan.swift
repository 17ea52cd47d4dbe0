import HoldfastCore
import HoldfastService

/// Which zones a team's program is to be told of, and when. Pure: docs/PUSH.md has its table.
///
/// A zone is in one call at a time, and what is told of it never goes back: so each zone's news arrive in order.
struct WebhookPlan {
  private struct Waiting {
    var failures = 0
    /// In milliseconds of the caller's clock.
    var notBefore: Int64 = 0
    /// Whether it is told alone, as a call with it was refused.
    var isAlone = false
  }

  /// More zones than this are not kept in memory: the database is asked for them.
  static let limit = 100_000
  /// The waits after a failure, in milliseconds: the first, and the longest.
  static let backOff: (first: Int64, longest: Int64) = (1000, 300_000)

  private var waiting: TextMap<Waiting> = [:]
  private var failures = 0
  private var notBefore: Int64 = 0
  /// Whether the database is to be asked which zones are behind.
  private(set) var mustScan = true

  /// Zones have moved.
  mutating func add(_ zones: some Sequence<String>) {
    for zone in zones where waiting[zone] == nil {
      if waiting.count >= Self.limit {
        mustScan = true
        return
      }
      waiting[zone] = Waiting()
    }
  }

  /// The database was asked, and has said all.
  mutating func scanned() { mustScan = false }

  /// Something may have been missed.
  mutating func scanAgain() { mustScan = true }

  /// The zones of the next call; empty when there is nothing to do now.
  func next(_ limit: Int, now: Int64) -> [String] {
    if now < notBefore { return [] }
    let due = waiting.filter { $0.value.notBefore <= now }
    if let alone = due.filter(\.value.isAlone).map(\.key).min() { return [alone] }
    return Array(due.keys.sorted().prefix(limit))
  }

  /// When `next` may have something that it has not now, or the database is to be asked; nil when only news can bring that.
  func nextTime(now: Int64) -> Int64? {
    guard let first = waiting.values.map(\.notBefore).min() else { return mustScan ? notBefore : nil }
    return max(first, notBefore)
  }

  /// The program has taken the zones, or they had nothing new.
  mutating func succeeded(_ zones: [String]) {
    for zone in zones { waiting[zone] = nil }
    (failures, notBefore) = (0, 0)
  }

  /// The program can't be reached, or asks for patience.
  ///
  /// - Parameters:
  ///   - retryAfter: in milliseconds; what it asked for.
  ///   - random: spreads the wait.
  mutating func postponed(now: Int64, retryAfter: Int64, random: UInt64) {
    failures += 1
    notBefore = now + max(Self.wait(failures, random), retryAfter)
  }

  /// The program has refused a call with these zones: they are told one by one, and one that is refused alone waits alone.
  mutating func refused(_ zones: [String], now: Int64, random: UInt64) {
    for zone in zones {
      waiting[zone]?.isAlone = true
      guard zones.count == 1, var state = waiting[zone] else { continue }
      state.failures += 1
      state.notBefore = now + Self.wait(state.failures, random)
      waiting[zone] = state
    }
  }

  /// Doubles from the first wait to the longest; half of it by chance.
  private static func wait(_ failures: Int, _ random: UInt64) -> Int64 {
    let bound = min(backOff.longest, backOff.first << Int64(min(failures - 1, 16)))
    return bound / 2 + Int64(random % UInt64(bound / 2 + 1))
  }
}
