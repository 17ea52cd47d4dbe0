package import HoldfastCore

/// In-memory indexes of the records that a transaction has changed but not written. Each index is built on its first use, and updated with
/// every later change.
struct ChangedIndex {
  /// The keys of the indexes.
  enum Lookup: Hashable {
    case zone(table: Int)
    /// The records of a zone that have a value in a column.
    case filled(table: Int, column: Int)
    case reference(table: Int, column: Int)
    case unique(table: Int, group: Int)

    fileprivate var table: Int {
      switch self {
      case .zone(let table), .filled(let table, _), .reference(let table, _), .unique(let table, _): table
      }
    }
  }

  private let schema: SyncSchema
  private var indexes: [Lookup: [IndexValue: TextSet]] = [:]

  init(_ schema: SyncSchema) { self.schema = schema }

  /// Clears the indexes, because no record is changed any more.
  mutating func removeAll() { indexes.removeAll() }

  /// Updates the indexes for a record that changed, or is unchanged again.
  mutating func move(_ key: Footprint.Key, from old: RecordEntry?, to new: RecordEntry?) {
    if indexes.isEmpty { return }
    for lookup in Array(indexes.keys) where lookup.table == key.table {
      let (before, after) = (value(of: old, lookup), value(of: new, lookup))
      if before == after { continue }
      if let before { indexes[lookup]?[before]?.remove(key.id) }
      if let after { indexes[lookup]?[after, default: []].insert(key.id) }
    }
  }

  /// The ids of the records with a value.
  mutating func ids(
    _ lookup: Lookup, _ value: IndexValue,
    among changed: some Sequence<(key: Footprint.Key, value: RecordEntry)>
  ) -> TextSet {
    if indexes[lookup] == nil {
      var made: [IndexValue: TextSet] = [:]
      for (key, entry) in changed where key.table == lookup.table {
        if let value = self.value(of: entry, lookup) { made[value, default: []].insert(key.id) }
      }
      indexes[lookup] = made
    }
    return indexes[lookup]?[value] ?? []
  }

  /// The index value of a record; nil if the index does not contain it.
  private func value(of entry: RecordEntry?, _ lookup: Lookup) -> IndexValue? {
    guard let entry, let values = entry.values, let zone = entry.home else { return nil }
    switch lookup {
    case .zone: return IndexValue(zone: zone, values: [])
    case .filled(_, let column): return values[column] == .null ? nil : IndexValue(zone: zone, values: [])
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

/// A value in an index.
package struct IndexValue: Hashable {
  /// Empty in indexes that span zones.
  package let zone: String
  package let values: [Value]

  package init(zone: String, values: [Value]) { (self.zone, self.values) = (zone, values) }
}
