import HoldfastCore

/// The effect of a transaction on one record, computed from the tables before and after it.
struct RecordDifference {
  let key: RecordKey
  /// Nil if the record did not exist.
  let old: Row?
  let new: Row?

  /// The differences between two states, ordered by record.
  static func between(_ before: Tables, _ after: Tables) -> [RecordDifference] {
    var found: [RecordDifference] = []
    for (key, row) in after where before[key] != row {
      found.append(RecordDifference(key: key, old: before[key], new: row))
    }
    for (key, row) in before where after[key] == nil {
      found.append(RecordDifference(key: key, old: row, new: nil))
    }
    return found.sorted { $0.key < $1.key }
  }

  var isCreate: Bool { old == nil }
  var isDelete: Bool { new == nil }

  /// The differing columns that people write, with their values; without zone and rev.
  var columns: [(name: String, old: Cell?, new: Cell?)] {
    TextSet((old ?? [:]).ownColumns).union((new ?? [:]).ownColumns).sorted().map { ($0, old?[$0], new?[$0]) }
      .filter {
        isCreate || isDelete || $0.old != $0.new
      }
  }
}
