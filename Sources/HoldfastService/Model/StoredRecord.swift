package import HoldfastCore

/// A live record in the database.
package struct StoredRecord {
  package let table: Int
  package let id: String
  package var zone: String
  package var seq: Int64
  package var rev: Int64
  package var stamps: String
  package var values: [Value]
  /// The byte count stored with the record, if the store keeps one; nil to compute it from the values.
  package var counted: Int64?

  package init(
    table: Int, id: String, zone: String, seq: Int64, rev: Int64, stamps: String, values: [Value],
    counted: Int64? = nil
  ) {
    (self.table, self.id, self.zone, self.seq, self.rev, self.stamps, self.values, self.counted) = (
      table, id, zone, seq, rev, stamps, values, counted
    )
  }

  /// The bytes that the zone counts for the record, for a record as read from the store.
  var storedBytes: Int64 { counted ?? bytes }
}

extension StoredRecord {
  /// The approximate size of the record in an answer, in bytes.
  package var size: Int {
    values.reduce(64 + 16 * values.count) { sum, value in
      if case .text(let text) = value { sum + text.utf8.count } else { sum }
    }
  }
}

/// The remainder of a record that was deleted, or that moved to another zone.
package struct Tombstone {
  package let zone: String
  package var rev: Int64
  package let stamp: Stamp
  /// The number of the device that deleted or moved it.
  package let device: Int64
  /// The zone's seq at the deletion; nil for a new tombstone. It stays the same when the tombstone is sent again under a later seq.
  package var deletedSeq: Int64?
  /// The current seq of the tombstone; nil for a new one.
  package var seq: Int64?
  /// The bytes that the zone still counts for the record, if its row was removed without updating the counts; else 0.
  package var counted: Int64 = 0

  package init(
    zone: String, rev: Int64, stamp: Stamp, device: Int64, deletedSeq: Int64? = nil, seq: Int64? = nil,
    counted: Int64 = 0
  ) {
    (self.zone, self.rev, self.stamp, self.device, self.deletedSeq, self.seq, self.counted) = (
      zone, rev, stamp, device, deletedSeq, seq, counted
    )
  }
}
