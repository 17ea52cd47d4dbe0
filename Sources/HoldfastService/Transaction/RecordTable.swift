package import HoldfastCore

/// The records of one table in a transaction. Each is read once, and changed in memory.
package final class RecordTable {
  /// The maximum number of values per query.
  private static let together = 5000

  package let table: TableSchema
  private let index: Int
  private unowned let transaction: Transaction

  init(_ index: Int, _ transaction: Transaction) {
    self.index = index
    self.transaction = transaction
    table = transaction.schema.tables[index]
  }

  /// The live record with an id, or nil. Locks its zone until the end of the transaction.
  package func record(_ id: String) throws -> StoredRecord? {
    let entry = try transaction.entry(key(id))
    guard let place = entry.places.live, let values = entry.values else { return nil }
    return StoredRecord(
      table: index, id: id, zone: place.zone, seq: place.seq, rev: place.rev, stamps: place.stamps ?? "",
      values: values, counted: place.size)
  }

  /// The zone of a live record, or nil.
  package func zone(of id: String) throws -> String? { try transaction.glance(key(id)).home }

  /// Adds or replaces a record. The caller checks unique values after all writes.
  func put(_ record: StoredRecord) {
    transaction.working.change(key(record.id)) { entry in
      if let home = entry.home, home != record.zone { entry.places.remove(home) }
      entry.places.put(
        RecordPlace(
          zone: record.zone, state: .live, seq: record.seq, rev: record.rev, stamps: record.stamps,
          size: record.bytes))
      entry.values = record.values
    }
  }

  /// Removes a record.
  func remove(_ id: String) {
    transaction.working.change(key(id)) { entry in
      if let zone = entry.home { entry.places.remove(zone) }
      entry.values = nil
    }
  }

  /// The position nearest to a mark on one side, in a list with the transaction's changes; nil if there is none. The list's zone must be
  /// locked.
  ///
  /// - Parameters:
  ///   - mark: a position, or `RecordList.start` or `end`. Records at this exact position are skipped.
  ///   - id: a record to skip as well.
  package func position(
    _ side: RecordList.Side, _ mark: String, in list: RecordList, besides id: String
  ) throws -> String? {
    let changed = transaction.working.position(side, mark, in: list, besides: id)
    guard let stored = try storedPosition(side, mark, in: list, besides: id) else { return changed }
    guard let changed else { return stored }
    return side == .before ? max(stored, changed) : min(stored, changed)
  }

  /// The nearest stored position, without the records that the transaction has changed.
  private func storedPosition(
    _ side: RecordList.Side, _ mark: String, in list: RecordList, besides id: String
  ) throws -> String? {
    if transaction.zones.isMade(list.zone) { return nil }
    // Usually the first result qualifies. The limit grows, because the record itself and all changed records are skipped.
    var limit = 2
    while true {
      let places = try transaction.store.positions(side, mark, in: list, limit: limit)
      for place in places where place.id != id && !isChanged(place.id) { return place.position }
      if places.count < limit { return nil }
      limit *= 8
    }
  }

  /// The ids of the records whose column has one of some values, each with the value, in the order of `values` and ids.
  ///
  /// - Parameter limit: a sufficient number of results; there may be more.
  package func references(by column: Int, to values: [String], limit: Int = .max) throws -> [(
    id: String, value: String
  )] {
    var found: TextMap<[String]> = [:]
    // The first stored results may be records that this transaction has already deleted.
    let limit = limit == .max ? .max : limit + transaction.working.changedCount
    for start in stride(from: 0, to: values.count, by: Self.together) {
      let some = Array(values[start..<min(start + Self.together, values.count)])
      let stored = try transaction.store.references(of: index, by: column, to: some, limit: limit)
      for (id, value) in stored where !isChanged(id) { found[value, default: []].append(id) }
    }
    return values.flatMap { value in
      let changed = transaction.working.unorderedIDs(
        .reference(table: index, column: column), IndexValue(zone: "", values: [.text(value)]))
      // The order in which an engine finds them would decide their seqs.
      return ((found[value] ?? []) + changed).sorted().map { ($0, value) }
    }
  }

  /// The number of records whose column has a value.
  package func referenceCount(by column: Int, to value: String) throws -> Int {
    let stored = try transaction.store.references(of: index, by: column, to: [value], limit: .max)
    return stored.count { !isChanged($0.id) }
      + transaction.working.unorderedIDs(
        .reference(table: index, column: column), IndexValue(zone: "", values: [.text(value)])
      ).count
  }

  /// Another record of the zone with the same values in a unique group, or nil.
  ///
  /// - Parameters:
  ///   - isAny: whether any such record will do; otherwise it is the one with the least id among the changed ones.
  ///   - isRelevant: whether a record counts.
  package func holder(
    of group: [String], like record: StoredRecord, isAny: Bool = false,
    where isRelevant: (String) -> Bool = { _ in true }
  ) throws -> String? {
    guard let number = table.unique.firstIndex(of: group) else { return nil }
    let values = group.compactMap { table.index(of: $0) }.map { record.values[$0] }
    if values.contains(.null) { return nil }
    let here = transaction.working.unorderedIDs(
      .unique(table: index, group: number), IndexValue(zone: record.zone, values: values))
    if isAny {
      if let other = here.first(where: { $0 != record.id && isRelevant($0) }) { return other }
    } else if let other = here.filter({ $0 != record.id && isRelevant($0) }).sorted().first {
      return other
    }
    // The database has no other records of a zone that this transaction creates.
    if transaction.zones.isMade(record.zone) { return nil }
    return try transaction.store.ids(of: index, sharing: number, values, in: record.zone).first {
      $0 != record.id && !isChanged($0) && isRelevant($0)
    }
  }

  /// Reads records that are needed soon, in one batch.
  package func prefetch(_ ids: [String]) throws {
    for start in stride(from: 0, to: ids.count, by: Self.together) {
      try transaction.prefetch(index, Array(ids[start..<min(start + Self.together, ids.count)]))
    }
  }

  private func key(_ id: String) -> Footprint.Key { Footprint.Key(table: index, id: id) }

  private func isChanged(_ id: String) -> Bool { transaction.working.isChanged(key(id)) }
}
