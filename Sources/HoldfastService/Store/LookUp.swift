package import HoldfastCore

/// What a request will ask for: a store that is reached over a network reads what several requests want together, and in few round trips.
///
/// It is a guess. Whoever asks for more reads more.
package struct LookUp: Sendable {
  /// The changes that are asked for besides the device.
  package enum Changes: Sendable {
    /// None.
    case none
    /// Those of all zones of the device, which says with its request what it has of some.
    case all(acks: [(zone: String, ack: ZoneAck?)])
    /// The same after what the device said was written: it will have changes to read, but of those that it made in change sets of `created`.
    case written(acks: [(zone: String, ack: ZoneAck?)], created: [CreatedSet])
    /// Those of one zone, as many as a page has.
    case zone(String, since: ChangeToken?, count: Int64)
  }

  package let token: TokenHash
  package let changes: Changes
  /// The number of the transaction that has written what the request said; see `StoreWriter.committed`.
  package let written: Int64?

  package init(_ token: TokenHash, _ changes: Changes, written: Int64? = nil) {
    (self.token, self.changes, self.written) = (token, changes, written)
  }

  /// How many changes of a zone are asked for at the most.
  package var count: Int64 { if case .zone(_, _, let count) = changes { count } else { .max } }
}

extension ZoneProgress {
  /// The zones of a device that it gets changes of, smallest rest first.
  package static func waiting(_ zones: [ZoneProgress], epoch: String) -> [ZoneProgress] {
    zones.filter { !$0.role.isEmpty && $0.hasChanges && !$0.isFenced(epoch: epoch) }
      .sorted { ($0.seq - $0.ack.seq, $0.zone) < ($1.seq - $1.ack.seq, $1.zone) }
  }
}
