import HoldfastCore

/// The effect of a transaction on one record, computed from the tables before and after it.
struct RecordDifference {
  let key: RecordKey
  /// Nil if the record did not exist.
  let old: Row?
  let new: Row?

  /// The differences between two states, ordered by record.
  ///
  /// - Parameter recreated: records that were deleted and created again in between, which the tables can't show.
  static func between(_ before: Tables, _ after: Tables, recreated: Set<RecordKey> = []) -> [RecordDifference]
  {
    var found: [RecordDifference] = []
    for (key, row) in after {
      let old = before[key]
      if let old, recreated.contains(key) {
        found.append(RecordDifference(key: key, old: old, new: nil))
        found.append(RecordDifference(key: key, old: nil, new: row))
      } else if old != row {
        found.append(RecordDifference(key: key, old: old, new: row))
      }
    }
    for (key, row) in before where after[key] == nil {
      found.append(RecordDifference(key: key, old: row, new: nil))
    }
    // For a recreated record, its deletion comes first.
    return found.sorted { ($0.key, $0.new == nil ? 0 : 1) < ($1.key, $1.new == nil ? 0 : 1) }
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
