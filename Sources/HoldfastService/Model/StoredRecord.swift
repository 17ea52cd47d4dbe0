package import HoldfastCore

/// A record as the server has it.
package struct StoredRecord {
  package let table: Int
  package let id: String
  package var zone: String
  package var seq: Int64
  package var rev: Int64
  package var stamps: String
  package var values: [Value]
  /// What it is counted with in its zone, where the store keeps that; nil for what its values say.
  package var counted: Int64?

  package init(
    table: Int, id: String, zone: String, seq: Int64, rev: Int64, stamps: String, values: [Value],
    counted: Int64? = nil
  ) {
    (self.table, self.id, self.zone, self.seq, self.rev, self.stamps, self.values, self.counted) = (
      table, id, zone, seq, rev, stamps, values, counted
    )
  }

  /// The bytes that it is counted with, of a record as the store gave it.
  var storedBytes: Int64 { counted ?? bytes }
}

extension StoredRecord {
  /// About how many bytes its values take up in an answer.
  package var size: Int {
    values.reduce(64 + 16 * values.count) { sum, value in
      if case .text(let text) = value { sum + text.utf8.count } else { sum }
    }
  }
}

/// What stays of a record that was deleted, or that moved to another zone.
package struct Tombstone {
  package let zone: String
  package var rev: Int64
  package let stamp: Stamp
  /// The number of the device that deleted or moved it.
  package let device: Int64
  /// The seq at which the record went; nil for a tombstone that is just made. It keeps it when it is sent again under a later one.
  package var deletedSeq: Int64?
  /// The seq under which it stands now; nil for one that is just made.
  package var seq: Int64?
  /// The bytes with which its zone still counts the record, where its row was removed behind the ledger; 0 else.
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
