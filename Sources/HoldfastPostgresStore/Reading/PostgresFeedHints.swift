import HoldfastCore
import HoldfastService
import HoldfastSystem

/// The tables and seqs that earlier reads found in zones. They predict the next read; a wrong prediction costs one more round trip.
final class PostgresFeedHints: Sendable {
  private struct Hint {
    /// The tables of live records, the most likely one first, and how many reads have passed since each was seen.
    var tables: [(name: String, age: Int)] = []
    /// The zone's seq.
    var seq: Int64 = 0
    /// Whether others have many records between those that follow each other in the zone.
    var isSpread = false
  }

  /// The maximum number of zones. Above it, all are removed.
  private static let limit = 20_000
  /// After how many reads a table without changes is forgotten: each costs a statement.
  private static let memory = 8

  private let known = Locked<TextMap<Hint>>([:])

  /// The tables in which zones had live records.
  func tables(of zones: [String]) -> [[String]] {
    known.withLock { known in zones.map { known[$0]?.tables.map(\.name) ?? [] } }
  }

  /// Whether a zone is likely to have some changes after a seq, but not many.
  func hasFew(_ zone: String, after seq: Int64) -> Bool {
    let latest = known.withLock { $0[zone]?.seq ?? 0 }
    return latest > seq && latest - seq <= PostgresChangeFeed.few
  }

  func isSpread(_ zone: String) -> Bool { known.withLock { $0[zone]?.isSpread ?? false } }

  func noteSpread(_ zone: String) { known.withLock { $0[zone, default: Hint()].isSpread = true } }

  /// Stores the tables of a stretch, and the seq of its zone.
  func note(_ tables: [String], in zone: ZoneProgress) {
    known.withLock { known in
      if known.count >= Self.limit { known = [:] }
      var hint = known[zone.zone] ?? Hint()
      hint.seq = max(hint.seq, zone.seq)
      if !tables.isEmpty {
        let others = hint.tables.filter { !tables.contains($0.name) && $0.age < Self.memory }
        hint.tables = tables.map { ($0, 0) } + others.map { ($0.name, $0.age + 1) }
      }
      known[zone.zone] = hint
    }
  }
}
