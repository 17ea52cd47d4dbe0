package import HoldfastCore

/// The records of one table as the transaction has them: read once, changed in memory.
package final class RecordTable {
  /// How many values one question asks about at the most.
  private static let together = 5000

  package let table: TableSchema
  private let index: Int
  private unowned let transaction: Transaction

  init(_ index: Int, _ transaction: Transaction) {
    self.index = index
    self.transaction = transaction
    table = transaction.schema.tables[index]
  }

  /// The live record of an id, or nil. Nobody else changes it before the transaction has ended.
  package func record(_ id: String) throws -> StoredRecord? {
    let entry = try transaction.entry(key(id))
    guard let zone = entry.home, let place = entry.places[zone], let values = entry.values else { return nil }
    return StoredRecord(
      table: index, id: id, zone: zone, seq: place.seq, rev: place.rev, stamps: place.stamps ?? "",
      values: values, counted: place.size)
  }

  /// The zone of a live record, or nil.
  package func zone(of id: String) throws -> String? { try transaction.glance(key(id)).home }

  /// Adds a record, or replaces it. Whether its unique values are free is the caller's to see, when all is written.
  func put(_ record: StoredRecord) {
    transaction.working.change(key(record.id)) { entry in
      if let home = entry.home, home != record.zone { entry.places[home] = nil }
      entry.places[record.zone] = RecordPlace(
        state: .live, seq: record.seq, rev: record.rev, stamps: record.stamps, size: record.bytes)
      entry.values = record.values
    }
  }

  /// Removes a record.
  func remove(_ id: String) {
    transaction.working.change(key(id)) { entry in
      if let zone = entry.home { entry.places[zone] = nil }
      entry.values = nil
    }
  }

  /// The position in a list that is the nearest on one side of a mark, as the transaction has the list, whose zone it has locked; nil when
  /// there is none.
  ///
  /// - Parameters:
  ///   - mark: a position, or `RecordList.start` or `end`. Records that have this very one are passed over.
  ///   - id: a record that is passed over as well.
  package func position(
    _ side: RecordList.Side, _ mark: String, in list: RecordList, besides id: String
  ) throws -> String? {
    let changed = transaction.working.position(side, mark, in: list, besides: id)
    guard let stored = try storedPosition(side, mark, in: list, besides: id) else { return changed }
    guard let changed else { return stored }
    return side == .before ? max(stored, changed) : min(stored, changed)
  }

  /// The position in the database, of a record that the transaction has not changed.
  private func storedPosition(
    _ side: RecordList.Side, _ mark: String, in list: RecordList, besides id: String
  ) throws -> String? {
    if transaction.zones.isMade(list.zone) { return nil }
    // The first that is found is it, but for what is passed over; each record of the transaction is passed over once.
    var limit = 2
    while true {
      let places = try transaction.store.positions(side, mark, in: list, limit: limit)
      for place in places where place.id != id && !isChanged(place.id) { return place.position }
      if places.count < limit { return nil }
      limit *= 8
    }
  }

  /// The ids of the records whose column has one of some values, each with the value; in the order of the values.
  ///
  /// - Parameter limit: how many are enough; there may be more.
  package func references(by column: Int, to values: [String], limit: Int = .max) throws -> [(
    id: String, value: String
  )] {
    var found: TextMap<[String]> = [:]
    // Those that are gone already in this transaction may be among the first.
    let limit = limit == .max ? .max : limit + transaction.working.changedCount
    for start in stride(from: 0, to: values.count, by: Self.together) {
      let some = Array(values[start..<min(start + Self.together, values.count)])
      let stored = try transaction.store.references(of: index, by: column, to: some, limit: limit) {
        transaction.zones(referredBy: index, column, id: $0)
      }
      for (id, value) in stored where !isChanged(id) { found[value, default: []].append(id) }
    }
    return values.flatMap { value in
      let changed = transaction.working.ids(
        .reference(table: index, column: column), IndexValue(zone: "", values: [.text(value)]))
      return ((found[value] ?? []) + changed).map { ($0, value) }
    }
  }

  /// Another record of the same zone that has the same values in columns that are unique together, or nil.
  package func holder(of group: [String], like record: StoredRecord) throws -> String? {
    guard let number = table.unique.firstIndex(of: group) else { return nil }
    let values = group.compactMap { table.index(of: $0) }.map { record.values[$0] }
    if values.contains(.null) { return nil }
    let here = transaction.working.ids(
      .unique(table: index, group: number), IndexValue(zone: record.zone, values: values))
    if let other = here.first(where: { $0 != record.id }) { return other }
    // A zone that is made by this transaction has no other records in the database.
    if transaction.zones.isMade(record.zone) { return nil }
    return try transaction.store.ids(of: index, sharing: number, values, in: record.zone).first {
      $0 != record.id && !isChanged($0)
    }
  }

  /// Says which records are looked at soon: all are read at once.
  package func prefetch(_ ids: [String]) throws {
    for start in stride(from: 0, to: ids.count, by: Self.together) {
      try transaction.prefetch(index, Array(ids[start..<min(start + Self.together, ids.count)]))
    }
  }

  private func key(_ id: String) -> Footprint.Key { Footprint.Key(table: index, id: id) }

  private func isChanged(_ id: String) -> Bool { transaction.working.isChanged(key(id)) }
}
