import HoldfastCore
import HoldfastService
import Synchronization

/// What readers found in zones before: a guess at what they will find. A wrong one costs a round trip, and nothing else.
final class PostgresFeedHints: Sendable {
  private struct Hint {
    /// The tables of live records, the one that comes most likely first.
    var tables: [String] = []
    /// The zone's seq.
    var seq: Int64 = 0
  }

  /// How many zones are remembered; beyond them all are forgotten.
  private static let limit = 20_000

  private let known = Mutex<TextMap<Hint>>([:])

  /// The tables in which zones had live records.
  func tables(of zones: [String]) -> [[String]] {
    known.withLock { known in zones.map { known[$0]?.tables ?? [] } }
  }

  /// Whether a zone is likely to have some changes after a seq, but not many.
  func hasFew(_ zone: String, after seq: Int64) -> Bool {
    let latest = known.withLock { $0[zone]?.seq ?? 0 }
    return latest > seq && latest - seq <= PostgresChangeFeed.few
  }

  /// Remembers the tables of a stretch, and how far its zone is.
  func note(_ tables: [String], in zone: ZoneProgress) {
    known.withLock { known in
      if known.count >= Self.limit { known = [:] }
      var hint = known[zone.zone] ?? Hint()
      hint.seq = max(hint.seq, zone.seq)
      if !tables.isEmpty { hint.tables = tables + hint.tables.filter { !tables.contains($0) } }
      known[zone.zone] = hint
    }
  }
}
