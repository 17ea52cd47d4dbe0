import HoldfastCore

/// A live record during the merge of edits into its columns.
package struct RecordMerge {
  private(set) var record: StoredRecord
  private(set) var stamps: RecordStamps
  /// The columns with a new value.
  private(set) var changed: [Int] = []
  /// The conflicts to log.
  private(set) var overlaps: [Overlap] = []
  /// Whether the result of an edit differs from the value on its device, so that the device must receive the record.
  private(set) var isTouched = false

  init(_ live: StoredRecord) {
    record = live
    stamps =
      RecordStamps(live.stamps) ?? RecordStamps(creation: ColumnStamp(rev: live.rev, stamp: .zero, device: 0))
  }

  /// Sets a column.
  mutating func set(_ column: Int, named name: String, to value: Value, by stamp: Stamp, of device: Int64) {
    record.values[column] = value
    stamps[name] = ColumnStamp(rev: Revision.after(record.rev), stamp: stamp, device: device)
    changed.append(column)
  }

  /// The merged record with its next rev. The caller assigns its seq.
  var next: StoredRecord {
    var record = record
    record.rev = Revision.after(record.rev)
    record.stamps = stamps.text
    return record
  }

  /// Rolls back the edit of a column.
  mutating func rollBack(_ column: Int, named name: String, _ live: StoredRecord) {
    record.values[column] = live.values[column]
    stamps[name] = RecordMerge(live).stamps[name]
    changed.removeAll { $0 == column }
  }

  /// Records a conflict.
  mutating func note(_ overlap: Overlap) {
    overlaps.append(overlap)
    isTouched = true
  }

  /// Keeps the current value of a column instead of the edit's.
  mutating func leave() { isTouched = true }
}
