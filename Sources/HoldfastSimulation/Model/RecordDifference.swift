import HoldfastCore

/// What a transaction did to one record, read off the tables before and after it.
struct RecordDifference {
  let key: RecordKey
  /// Nil when the record was not there.
  let old: Row?
  let new: Row?

  /// What changed between two states, in the order of the records.
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
    // Of a record that was recreated its end comes first.
    return found.sorted { ($0.key, $0.new == nil ? 0 : 1) < ($1.key, $1.new == nil ? 0 : 1) }
  }

  var isCreate: Bool { old == nil }
  var isDelete: Bool { new == nil }

  /// The columns that people write and that differ, with their values; zone and rev are no person's.
  var columns: [(name: String, old: Cell?, new: Cell?)] {
    TextSet((old ?? [:]).ownColumns).union((new ?? [:]).ownColumns).sorted().map { ($0, old?[$0], new?[$0]) }
      .filter {
        isCreate || isDelete || $0.old != $0.new
      }
  }
}
