import HoldfastService

/// What a snapshot of PostgreSQL sees: two equal snapshots see the same transactions, so the same rows. Source:
/// <https://www.postgresql.org/docs/15/functions-info.html#FUNCTIONS-PG-SNAPSHOT>.
struct SnapshotState: DatabaseState, Hashable {
  /// The number of connections that had been opened when the snapshot was asked for: see `PostgresReadCache`.
  let connections: Int
  /// "xmin:xmax:xip", and what else tells it from others; see `PostgresReadStatements.snapshot`.
  let text: String

  /// The state of all transactions below a number, where none of them is in progress.
  init(next: Int64, connections: Int) { self.init("\(next):\(next):", connections: connections) }

  init(_ text: String, connections: Int) { (self.text, self.connections) = (text, connections) }

  private var parts: [Substring] {
    text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
  }

  /// The number of the next transaction, where all others have ended that have a number; else nil.
  var next: Int64? {
    let parts = parts
    return parts.count == 3 && parts[0] == parts[1] && parts[2].isEmpty ? Int64(parts[0]) : nil
  }

  /// The transaction with the number `next` sees all others, and is all that the next state has besides. Where its number is not the only one,
  /// as it had savepoints, or where another one has ended, no snapshot is of that state.
  func follows(_ before: SnapshotState) -> Bool {
    guard connections == before.connections, let next, let number = before.next else { return false }
    return next == number + 1
  }

  /// Whether it is not the older one of two.
  func isCurrent(beside other: SnapshotState?) -> Bool {
    guard let other, connections == other.connections else { return connections > other?.connections ?? -1 }
    return xmax >= other.xmax
  }

  /// The number after the last transaction that has ended.
  private var xmax: Int64 { parts.count > 1 ? Int64(parts[1]) ?? 0 : 0 }
}
