import HoldfastCore

/// A record of `conflicts`, by the names of its columns.
struct Conflict {
  let record: Record

  init(_ record: Record) { self.record = record }

  subscript(column: String) -> Value { Table.conflicts.index(of: column).map { record.values[$0] } ?? .null }
}
