import HoldfastCore
import HoldfastSQLite

/// The loose edits of one record, in order: those that are in no change set yet.
struct LooseRecord {
  let table: Int
  let id: String
  var at: Int64
  /// What happened to the record as a whole, in order.
  var lives: [RecordOperation.Kind] = []
  /// Rev of a deletion.
  var rev: Int64 = 0
  /// The columns updated, with the rev they were based on, and the base of their first edit here.
  var updates: [(column: Int, rev: Int64, base: Value)] = []
}
