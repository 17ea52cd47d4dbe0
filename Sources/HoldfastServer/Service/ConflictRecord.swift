import HoldfastCore

/// A record of `conflicts`, by the names of its columns.
struct ConflictRecord {
  let record: StoredRecord

  init(_ record: StoredRecord) { self.record = record }

  subscript(column: String) -> Value {
    TableSchema.conflicts.index(of: column).map { record.values[$0] } ?? .null
  }
}
