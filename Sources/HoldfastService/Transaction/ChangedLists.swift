import HoldfastCore

/// The ordered lists of the records that a transaction has changed but not written. They make many insertions into one list cheap.
struct ChangedLists {
  fileprivate struct Place: Comparable {
    let position: String
    let id: String

    static func < (one: Place, other: Place) -> Bool {
      one.position == other.position ? one.id < other.id : one.position < other.position
    }
  }

  private let schema: SyncSchema
  private var places: [RecordList: [Place]] = [:]
  /// The places of each record in these lists.
  private var known: [Footprint.Key: [(list: RecordList, place: Place)]] = [:]

  init(_ schema: SyncSchema) { self.schema = schema }

  /// Clears all lists.
  mutating func removeAll() {
    if places.isEmpty { return }
    places.removeAll()
    known.removeAll()
  }

  /// Updates the lists for a changed record.
  mutating func put(_ key: Footprint.Key, _ entry: RecordEntry?) {
    if places.isEmpty { return }
    for (list, place) in known.removeValue(forKey: key) ?? [] {
      if let index = places[list]?.lowerBound(of: place) { places[list]?.remove(at: index) }
    }
    for (list, place) in Self.all(of: key, entry, schema) where places[list] != nil {
      let index = places[list]?.lowerBound(of: place) ?? 0
      places[list]?.insert(place, at: index)
      known[key, default: []].append((list, place))
    }
  }

  /// The position nearest to a mark among the changed records.
  mutating func position(
    _ side: RecordList.Side, _ mark: String, in list: RecordList, besides id: String,
    _ changed: some Sequence<(key: Footprint.Key, value: RecordEntry)>
  ) -> String? {
    if places[list] == nil { learn(list, changed) }
    guard let places = places[list] else { return nil }
    var index = places.lowerBound(of: Place(position: mark, id: ""))
    switch side {
    case .before:
      while index > 0 {
        index -= 1
        if places[index].id != id { return places[index].position }
      }
    case .after:
      while index < places.count {
        if places[index].id != id, places[index].position > mark { return places[index].position }
        index += 1
      }
    }
    return nil
  }

  private mutating func learn(
    _ list: RecordList, _ changed: some Sequence<(key: Footprint.Key, value: RecordEntry)>
  ) {
    var found: [Place] = []
    for (key, entry) in changed where key.table == list.table {
      for (other, place) in Self.all(of: key, entry, schema) where other == list {
        found.append(place)
        known[key, default: []].append((list, place))
      }
    }
    places[list] = found.sorted()
  }

  /// The lists that contain a record, and its place in each.
  private static func all(
    of key: Footprint.Key, _ entry: RecordEntry?, _ schema: SyncSchema
  ) -> [(list: RecordList, place: Place)] {
    guard let entry, let zone = entry.home, let values = entry.values else { return [] }
    let columns = schema.tables[key.table].columns
    return columns.indices.filter { columns[$0].type == .position }.compactMap { column in
      guard let position = values[column].text else { return nil }
      return (
        RecordList(column, of: key.table, zone: zone, values: values, in: schema),
        Place(position: position, id: key.id)
      )
    }
  }
}

extension [ChangedLists.Place] {
  /// The index of the first element that is not less than `place`.
  fileprivate func lowerBound(of place: ChangedLists.Place) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < place { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
