package import HoldfastCore

/// The records that a transaction has changed and not written, by what is looked up: each index is made when it is first asked for, and
/// follows what changes from then on.
struct ChangedIndex {
  /// What records are looked up by.
  enum Lookup: Hashable {
    case zone(table: Int)
    case reference(table: Int, column: Int)
    case unique(table: Int, group: Int)

    fileprivate var table: Int {
      switch self {
      case .zone(let table), .reference(let table, _), .unique(let table, _): table
      }
    }
  }

  private let schema: SyncSchema
  private var indexes: [Lookup: [IndexValue: TextSet]] = [:]

  init(_ schema: SyncSchema) { self.schema = schema }

  /// Clears all: nothing has changed.
  mutating func removeAll() { indexes.removeAll() }

  /// A record has changed, or has not any more.
  mutating func move(_ key: Footprint.Key, from old: RecordEntry?, to new: RecordEntry?) {
    if indexes.isEmpty { return }
    for lookup in Array(indexes.keys) where lookup.table == key.table {
      let (before, after) = (value(of: old, lookup), value(of: new, lookup))
      if before == after { continue }
      if let before { indexes[lookup]?[before]?.remove(key.id) }
      if let after { indexes[lookup]?[after, default: []].insert(key.id) }
    }
  }

  /// The ids of the records with a value, in their order.
  mutating func ids(
    _ lookup: Lookup, _ value: IndexValue,
    among changed: some Sequence<(key: Footprint.Key, value: RecordEntry)>
  ) -> [String] {
    if indexes[lookup] == nil {
      var made: [IndexValue: TextSet] = [:]
      for (key, entry) in changed where key.table == lookup.table {
        if let value = self.value(of: entry, lookup) { made[value, default: []].insert(key.id) }
      }
      indexes[lookup] = made
    }
    return indexes[lookup]?[value]?.sorted() ?? []
  }

  /// What a record is found by; nil when it is not.
  private func value(of entry: RecordEntry?, _ lookup: Lookup) -> IndexValue? {
    guard let entry, let values = entry.values, let zone = entry.home else { return nil }
    switch lookup {
    case .zone: return IndexValue(zone: zone, values: [])
    case .reference(_, let column):
      return values[column] == .null ? nil : IndexValue(zone: "", values: [values[column]])
    case .unique(let table, let group):
      let unique = schema.tables[table].unique[group].compactMap { name in
        schema.tables[table].index(of: name).map { values[$0] }
      }
      return unique.contains(.null) ? nil : IndexValue(zone: zone, values: unique)
    }
  }
}

/// What a record is found by.
package struct IndexValue: Hashable {
  /// Empty where the zone does not count.
  package let zone: String
  package let values: [Value]

  package init(zone: String, values: [Value]) { (self.zone, self.values) = (zone, values) }
}
