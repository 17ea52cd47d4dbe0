package import HoldfastCore
import HoldfastConcurrency

/// A history that begins: docs/RESTORING.md, section 3.
package struct NewEpoch: Sendable {
  /// Why it begins, as the database keeps it for the log of each server.
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
  /// Whether all that the database has now is of both histories: nothing was written since it went back.
  package let isForkKnown: Bool

  package init(_ environment: ServerEnvironment, because reason: Reason, isForkKnown: Bool) {
    id = hexadecimal(environment.random(4))
    began = environment.now()
    (self.reason, self.isForkKnown) = (reason, isForkKnown)
  }
}

/// The identity of a server's history; docs/RESTORING.md, section 3.
package struct History: Sendable, Equatable {
  /// How many epochs before the present one are remembered.
  package static let memory = 16

  /// The epoch of now: 8 hex digits.
  package let epoch: String
  /// Those before it, the latest first; each was ended by a restore, or by what came to the same. Empty when the database never was restored.
  package var earlier: [String] = []
  /// When the epoch began, in milliseconds since 1970; 0 for the first.
  package var began: Int64 = 0
  /// Why it began; empty for the first.
  package var reason = ""
  /// Whether it is known up to where it is one with the epoch before: all that the database had when it began.
  package var isForkKnown = true

  /// The one from whose middle the database was restored; nil when it never was.
  package var previous: String? { earlier.first }

  /// The content of the ETag of a record with a rev. In the history before a restore, a record of the same rev may have been another.
  package func tag(rev: Int64) -> String { previous == nil ? String(rev) : "\(epoch).\(rev)" }

  /// What the database says of it, by the keys of its `meta`; nil when there is no epoch.
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

  /// The rows of `meta` by which a database begins a history after this one.
  package func meta(of next: NewEpoch) -> [(key: String, value: String)] {
    [
      ("epoch", next.id), ("previous_epoch", epoch),
      ("earlier_epochs", earlier.prefix(Self.memory - 1).joined(separator: " ")),
      ("epoch_began", String(next.began)), ("epoch_reason", next.reason.rawValue),
      ("epoch_fork", next.isForkKnown ? "known" : "unknown"),
    ]
  }

  /// The keys of `meta` that `init(meta:)` takes, as SQL lists them.
  package static let keys =
    "'epoch', 'previous_epoch', 'earlier_epochs', 'epoch_began', 'epoch_reason', 'epoch_fork'"

  /// Whether an ack is of another history.
  package func isForeign(_ ack: ZoneAck) -> Bool { !ack.epoch.isEmpty && ack.epoch != epoch }

  /// Whether what an ack says is true in this history, too.
  ///
  /// - Parameter zone: its zone; nil where there is none.
  func agrees(with ack: ZoneAck, in zone: RestoredZone?) -> Bool {
    guard isForeign(ack) else { return true }
    guard let previous, let zone else { return false }
    // Where the fork is not known, a device may have lost changes under numbers that others have now. One whose token is fenced anyway was
    // given up: it recovers nothing, as deletions may be purged that it has not heard of.
    let shared = isForkKnown ? zone.seq : zone.purged - 1
    // What moved since behind a page that came is on none of those that are still to come: half a download is true in one history alone.
    return ack.epoch == previous && ack.purged == 0 && ack.seq <= shared
  }
}

/// A zone of a database whose epoch is not its first.
package struct RestoredZone: Sendable, Equatable {
  /// The seq that it had when the epoch began; 0 when it was not there.
  package let seq: Int64
  /// Up to where its tombstones are purged.
  package let purged: Int64

  package init(seq: Int64, purged: Int64) {
    (self.seq, self.purged) = (seq, purged)
  }
}

/// The history as this process saw it last. Each transaction that writes, and each answer, reads it again from the database, where a new epoch may
/// begin at any moment; what asks here can do with one that ended a moment ago: its tokens are judged like any of the epoch before.
package final class KnownHistory: Sendable {
  /// A type with a name: of a tuple, each access through the lock would wrap the function once more.
  private struct Seen {
    var history: History
    var onChange: (@Sendable (History) -> Void)?
  }

  private let value: Locked<Seen>

  /// Makes and checks proofs with the key of the database.
  package let prover: Prover

  package init(_ history: History, _ prover: Prover) {
    value = Locked(Seen(history: history))
    self.prover = prover
  }

  package var now: History { value.withLock { $0.history } }

  /// Says from now on that another epoch was seen.
  package func observe(_ onChange: @escaping @Sendable (History) -> Void) {
    value.withLock { $0.onChange = onChange }
  }

  /// Takes what a transaction has read.
  package func see(_ history: History) {
    let onChange = value.withLock { value -> (@Sendable (History) -> Void)? in
      // What a transaction read that began earlier comes late.
      guard value.history != history, !value.history.earlier.contains(history.epoch) else { return nil }
      value.history = history
      return value.onChange
    }
    onChange?(history)
  }
}

/// The database has less than was confirmed in the very epoch of now: the history went back.
package struct HistoryWentBack: Error {
  /// The epoch that has ended by it.
  package let epoch: String
  package var reason = NewEpoch.Reason.deviceAhead
  /// Whether nothing was written since.
  package var isForkKnown = false

  package init(
    epoch: String, reason: NewEpoch.Reason = NewEpoch.Reason.deviceAhead, isForkKnown: Bool = false
  ) {
    (self.epoch, self.reason, self.isForkKnown) = (epoch, reason, isForkKnown)
  }
}
