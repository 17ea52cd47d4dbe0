import HoldfastCore

/// A record of `conflicts`, with access by column name.
struct ConflictRecord {
  let record: StoredRecord

  init(_ record: StoredRecord) { self.record = record }

  /// Whether the log entry omits the winner's value, because the record already has it.
  var isWinnerInRecord: Bool { self["policy"] != .text("delete") && self["winner_at"] == .null }

  subscript(column: String) -> Value {
    TableSchema.conflicts.index(of: column).map { record.values[$0] } ?? .null
  }
}
