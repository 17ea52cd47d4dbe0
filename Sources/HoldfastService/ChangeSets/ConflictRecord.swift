import HoldfastCore

/// A record of `conflicts`, by the names of its columns.
struct ConflictRecord {
  let record: StoredRecord

  init(_ record: StoredRecord) { self.record = record }

  /// Whether the log does not have the winner's value, as the record had it already.
  var isWinnerInRecord: Bool { self["policy"] != .text("delete") && self["winner_at"] == .null }

  subscript(column: String) -> Value {
    TableSchema.conflicts.index(of: column).map { record.values[$0] } ?? .null
  }
}
