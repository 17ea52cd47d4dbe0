package import HoldfastCore
import HoldfastConcurrency
import HoldfastSystem

/// A new epoch: docs/RESTORING.md, section 3.
package struct NewEpoch: Sendable {
  /// The reason, as the database stores it for the servers' logs.
  package enum Reason: String, Sendable {
    case restored = "a backup was restored"
    case commanded = "an operator has said so"
    case deviceAhead = "a device has proved that the database went back behind what was confirmed to it"
    case otherDatabase =
      "the database is not the one that was served last: it was put back, copied or promoted"
    case wroteOver = "another database was written over the one that was served"
  }

  /// 8 hex digits.
  package let id: String
  /// Milliseconds since 1970.
  package let began: Int64
  package let reason: Reason
  /// Whether everything in the database at this moment belongs to both epochs, because nothing was written since it went back.
  package let isForkKnown: Bool

  package init(_ environment: ServerEnvironment, because reason: Reason, isForkKnown: Bool) {
    id = hexadecimal(environment.random(4))
    began = environment.now()
    (self.reason, self.isForkKnown) = (reason, isForkKnown)
  }
}

/// The epoch of a server's database, and its predecessors: docs/RESTORING.md, section 3.
package struct History: Sendable, Equatable {
  /// The number of earlier epochs that are stored.
  package static let memory = 16

  /// The current epoch: 8 hex digits.
  package let epoch: String
  /// The earlier epochs, the latest first. A restore or an equivalent event ended each of them. Empty if the database was never restored.
  package var earlier: [String] = []
  /// When the current epoch began, in milliseconds since 1970; 0 for the first epoch.
  package var began: Int64 = 0
  /// Why the current epoch began; empty for the first epoch.
  package var reason = ""
  /// Whether the fork point is known: everything that the database had when the epoch began also belongs to the previous epoch.
  package var isForkKnown = true

  /// The epoch from which the database was restored; nil if it never was.
  package var previous: String? { earlier.first }

  /// The content of a record's ETag. It includes the epoch after a restore, because an earlier epoch may have had another record of the
  /// same rev.
  package func tag(rev: Int64) -> String { previous == nil ? String(rev) : "\(epoch).\(rev)" }

  /// The history in the rows of `meta`; nil if there is no epoch.
  package init?(meta: TextMap<String>) {
    guard let epoch = meta["epoch"] else { return nil }
    self.epoch = epoch
    earlier = [meta["previous_epoch"]].compactMap { $0 }
    earlier += (meta["earlier_epochs"] ?? "").split(separator: " ").map(String.init)
    began = meta["epoch_began"].flatMap { Int64($0) } ?? 0
    reason = meta["epoch_reason"] ?? ""
    isForkKnown = meta["epoch_fork"] == "known"
  }

  package init(epoch: String, previous: String? = nil) {
    self.epoch = epoch
    earlier = [previous].compactMap { $0 }
  }

  /// The rows of `meta` that begin the next epoch.
  package func meta(of next: NewEpoch) -> [(key: String, value: String)] {
    Self.meta(next.id, after: [epoch] + earlier.prefix(Self.memory - 1)) + [
      ("epoch_began", String(next.began)), ("epoch_reason", next.reason.rawValue),
      ("epoch_fork", next.isForkKnown ? "known" : "unknown"),
    ]
  }

  /// The rows of `meta` of the current epoch and the earlier ones.
  package static func meta(_ epoch: String, after earlier: [String]) -> [(key: String, value: String)] {
    [("epoch", epoch)] + earlier.prefix(1).map { ("previous_epoch", $0) }
      + [("earlier_epochs", earlier.dropFirst().joined(separator: " "))]
  }

  /// The keys of `meta` that `init(meta:)` reads, as an SQL list.
  package static let keys =
    "'epoch', 'previous_epoch', 'earlier_epochs', 'epoch_began', 'epoch_reason', 'epoch_fork'"

  /// Whether an ack is from another epoch.
  package func isForeign(_ ack: ZoneAck) -> Bool { !ack.epoch.isEmpty && ack.epoch != epoch }

  /// Whether an ack from another epoch is also valid in this history.
  ///
  /// - Parameter zone: the zone of the ack; nil if it is unknown.
  func agrees(with ack: ZoneAck, in zone: RestoredZone?) -> Bool {
    guard isForeign(ack) else { return true }
    guard let previous, let zone else { return false }
    // If the fork point is unknown, seqs after it may be reused for other changes. A token behind the purge horizon is fenced: its device
    // recovers nothing, because tombstones that it has not seen may be purged.
    let shared = isForkKnown ? zone.seq : zone.purged - 1
    // An unfinished download is valid in one history only. A record that moved behind a downloaded page is on none of the remaining pages.
    return ack.epoch == previous && ack.purged == 0 && ack.seq <= shared
  }
}

/// The state of a zone when the current epoch began.
package struct RestoredZone: Sendable, Equatable {
  /// The zone's seq when the epoch began; 0 if the zone did not exist.
  package let seq: Int64
  /// The seq up to which its tombstones are purged.
  package let purged: Int64

  package init(seq: Int64, purged: Int64) {
    (self.seq, self.purged) = (seq, purged)
  }
}

/// The history as this process last saw it. Every writing transaction and every answer reads it again, because a new epoch may begin at any
/// moment. Callers of `now` tolerate an epoch that has just ended: its tokens are treated as those of the previous epoch.
package final class KnownHistory: Sendable {
  /// A named type, because access to a tuple through the lock would wrap the function once more.
  private struct Seen {
    var history: History
    var onChange: (@Sendable (History) -> Void)?
  }

  private let value: Locked<Seen>

  /// Creates and verifies proofs with the database's key.
  package let prover: Prover

  package init(_ history: History, _ prover: Prover) {
    value = Locked(Seen(history: history))
    self.prover = prover
  }

  package var now: History { value.withLock { $0.history } }

  /// Calls `onChange` when another epoch is seen.
  package func observe(_ onChange: @escaping @Sendable (History) -> Void) {
    value.withLock { $0.onChange = onChange }
  }

  /// Records the history that a transaction has read.
  package func see(_ history: History) {
    let onChange = value.withLock { value -> (@Sendable (History) -> Void)? in
      // A transaction that began earlier may report an older history.
      guard value.history != history, !value.history.earlier.contains(history.epoch) else { return nil }
      value.history = history
      return value.onChange
    }
    onChange?(history)
  }
}

/// The database has less than the server confirmed in the current epoch: the history went back.
package struct HistoryWentBack: Error {
  /// The epoch that ends.
  package let epoch: String
  package var reason = NewEpoch.Reason.deviceAhead
  /// Whether nothing was written since the history went back.
  package var isForkKnown = false

  package init(
    epoch: String, reason: NewEpoch.Reason = NewEpoch.Reason.deviceAhead, isForkKnown: Bool = false
  ) {
    (self.epoch, self.reason, self.isForkKnown) = (epoch, reason, isForkKnown)
  }
}
