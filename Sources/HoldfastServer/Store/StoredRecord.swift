import HoldfastCore

/// A record as the server has it.
struct StoredRecord {
  let table: Int
  let id: String
  var zone: String
  var seq: Int64
  var rev: Int64
  var stamps: String
  var values: [Value]
  /// What it is counted with in its zone, where the store keeps that; nil for what its values say.
  var counted: Int64?

  /// The bytes that it is counted with, of a record as the store gave it.
  var storedBytes: Int64 { counted ?? bytes }
}

extension StoredRecord {
  /// About how many bytes its values take up in an answer.
  var size: Int {
    values.reduce(64 + 16 * values.count) { sum, value in
      if case .text(let text) = value { sum + text.utf8.count } else { sum }
    }
  }
}

/// What stays of a record that was deleted, or that moved to another zone.
struct Tombstone {
  let zone: String
  var rev: Int64
  let stamp: Stamp
  /// The number of the device that deleted or moved it.
  let device: Int64
  /// The seq at which the record went; nil for a tombstone that is just made. It keeps it when it is sent again under a later one.
  var deletedSeq: Int64?
  /// The seq under which it stands now; nil for one that is just made.
  var seq: Int64?
  /// The bytes with which its zone still counts the record, where its row was removed behind the ledger; 0 else.
  var counted: Int64 = 0
}
