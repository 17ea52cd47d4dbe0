package import HoldfastCore

/// An ack in its stored form. The epoch is empty at the beginning of a zone.
package struct ZoneAck: Sendable, Equatable {
  package let zone: String
  package let epoch: String
  package let seq: Int64
  /// Nonzero during an initial download; see `ChangeToken`.
  package var purged: Int64 = 0

  package init(zone: String, epoch: String, seq: Int64, purged: Int64 = 0) {
    (self.zone, self.epoch, self.seq, self.purged) = (zone, epoch, seq, purged)
  }

  /// The ack as a change token.
  package var token: ChangeToken {
    ChangeToken(epoch: epoch, seq: seq, purged: purged, isUnfinished: purged < 0)
  }
}

/// Some of the acks of a request; nil for a zone that is no longer on the device.
typealias ZoneAcks = ArraySlice<(zone: String, ack: ZoneAck?)>
