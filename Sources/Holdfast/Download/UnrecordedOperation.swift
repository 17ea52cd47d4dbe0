import HoldfastCore
import HoldfastSQLite

/// What a record was here, where the server has it otherwise.
struct UnrecordedOperation {
  let kind: RecordOperation.Kind
  let table: Int
  let id: String
  let rev: Int64
  /// The zone of a record whose creator says it.
  let zone: String?
  let settings: [RecordOperation.Setting]
}
