import HoldfastCore
import HoldfastSQLite

/// A record as it is at some point of its history here.
struct RecordState: Equatable {
  var zone: SQLiteValue
  var rev: Int64
  var values: TextMap<SQLiteValue>
}
