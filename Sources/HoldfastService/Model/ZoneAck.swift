package import HoldfastCore

/// An ack in the form that is stored: the beginning of a zone has an empty epoch.
package struct ZoneAck: Sendable, Equatable {
  package let zone: String
  package let epoch: String
  package let seq: Int64
  /// In the middle of a copy from the zone's beginning; see `ChangeToken`.
  package var purged: Int64 = 0

  package init(zone: String, epoch: String, seq: Int64, purged: Int64 = 0) {
    (self.zone, self.epoch, self.seq, self.purged) = (zone, epoch, seq, purged)
  }

  /// The token that the ack is.
  package var token: ChangeToken {
    ChangeToken(epoch: epoch, seq: seq, purged: purged, isUnfinished: purged < 0)
  }
}
