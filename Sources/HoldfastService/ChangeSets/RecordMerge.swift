import HoldfastCore

/// A live record while edits of its columns are merged into it.
package struct RecordMerge {
  private(set) var record: StoredRecord
  private(set) var stamps: RecordStamps
  /// The columns that have another value.
  private(set) var changed: [Int] = []
  /// Edits whose loser is to be looked up.
  private(set) var overlaps: [Overlap] = []
  /// Whether some edit did not become what its device shows, so that the device must be sent the record.
  private(set) var isTouched = false

  init(_ live: StoredRecord) {
    record = live
    stamps =
      RecordStamps(live.stamps) ?? RecordStamps(creation: ColumnStamp(rev: live.rev, stamp: .zero, device: 0))
  }

  /// Gives a column a value.
  mutating func set(_ column: Int, named name: String, to value: Value, by stamp: Stamp, of device: Int64) {
    record.values[column] = value
    stamps[name] = ColumnStamp(rev: record.rev &+ 1, stamp: stamp, device: device)
    changed.append(column)
  }

  /// The record with its next revision, as it is to be written under a seq that it is still to get.
  var next: StoredRecord {
    var record = record
    record.rev &+= 1
    record.stamps = stamps.text
    return record
  }

  /// Takes back what an edit made of a column.
  mutating func rollBack(_ column: Int, named name: String, _ live: StoredRecord) {
    record.values[column] = live.values[column]
    stamps[name] = RecordMerge(live).stamps[name]
    changed.removeAll { $0 == column }
  }

  /// Notes two concurrent edits.
  mutating func note(_ overlap: Overlap) {
    overlaps.append(overlap)
    isTouched = true
  }

  /// Leaves a column as it is, which is not as the edit has it.
  mutating func leave() { isTouched = true }
}
