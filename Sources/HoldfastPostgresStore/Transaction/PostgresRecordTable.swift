package import HoldfastCore
package import HoldfastPostgres
import HoldfastService

/// The records of one table, in the transaction's working set.
final class PostgresRecordTable: RecordTable {
  /// How many records one statement looks for at the most.
  private static let together = 5000

  let table: TableSchema
  private let index: Int
  private unowned let store: PostgresStore
  /// By unique group: who has which values among the records that the transaction has changed, as of a version of them.
  private var holders: [Int: (version: Int, ids: [UniqueValues: [String]])] = [:]

  init(_ index: Int, _ store: PostgresStore) {
    self.index = index
    self.store = store
    table = store.schema.tables[index]
  }

  func record(_ id: String) throws -> StoredRecord? {
    let key = Footprint.Key(table: index, id: id)
    let entry = try store.entry(key)
    guard let zone = entry.home, let place = entry.places[zone], let values = entry.values else { return nil }
    return StoredRecord(
      table: index, id: id, zone: zone, seq: place.seq, rev: place.rev, stamps: place.stamps ?? "",
      values: values, counted: place.size)
  }

  func zone(of id: String) throws -> String? {
    try store.glance(Footprint.Key(table: index, id: id)).home
  }

  func insert(_ record: StoredRecord) throws { put(record) }

  func update(_ record: StoredRecord) throws { put(record) }

  func remove(_ id: String) throws {
    change(id) { entry in
      if let zone = entry.home { entry.places[zone] = nil }
      entry.values = nil
    }
  }

  func position(
    _ side: RecordList.Side, _ mark: String, in list: RecordList, besides id: String
  ) throws -> String? {
    let changed = store.lists.position(side, mark, in: list, besides: id, store.working.changed)
    guard let stored = try storedPosition(side, mark, in: list, besides: id) else { return changed }
    guard let changed else { return stored }
    return side == .before ? max(stored, changed) : min(stored, changed)
  }

  /// The position in the database, of a record that the transaction has not changed.
  private func storedPosition(
    _ side: RecordList.Side, _ mark: String, in list: RecordList, besides id: String
  ) throws -> String? {
    if store.zonesMade.contains(list.zone) { return nil }
    let statements = PostgresListStatements(list: list, relation: store.layout.relations[index])
    let statement = statements.near(side)
    // The first that is found is it, but for what is passed over; each record of the transaction is passed over once.
    var limit = 2
    while true {
      guard let parameters = statements.parameters(PostgresParameters(list.zone, mark, Int64(limit)))
      else { return nil }
      let rows = try store.connection.query(statement, parameters)
      for row in rows.indices where rows.text(row, 0) != id {
        if store.working.changed[Footprint.Key(table: index, id: rows.text(row, 0))] == nil {
          return rows.text(row, 1)
        }
      }
      if rows.count < limit { return nil }
      limit *= 8
    }
  }

  func references(by column: Int, to values: [String], limit: Int) throws -> [(id: String, value: String)] {
    var found: TextMap<[String]> = [:]
    // Those that are gone already in this transaction may be among the first.
    let limit = limit == .max ? .max : limit + store.working.changed.count
    for start in stride(from: 0, to: values.count, by: Self.together) {
      let some = Array(values[start..<min(start + Self.together, values.count)])
      for (id, value) in try store.writing.references(of: index, by: column, to: some, limit: limit)
      where store.working.changed[Footprint.Key(table: index, id: id)] == nil {
        found[value, default: []].append(id)
      }
    }
    let wanted = TextSet(values)
    for (key, entry) in store.working.changed where key.table == index {
      if let value = entry.values?[column].text, wanted.contains(value) {
        found[value, default: []].append(key.id)
      }
    }
    return values.flatMap { value in (found[value] ?? []).map { ($0, value) } }
  }

  func prefetch(_ ids: [String]) throws {
    for start in stride(from: 0, to: ids.count, by: Self.together) {
      try store.prefetch(index, Array(ids[start..<min(start + Self.together, ids.count)]))
    }
  }

  private func put(_ record: StoredRecord) {
    change(record.id) { entry in
      if let home = entry.home, home != record.zone { entry.places[home] = nil }
      entry.places[record.zone] = PostgresWorkingSet.Place(
        state: .live, seq: record.seq, rev: record.rev, stamps: record.stamps, size: record.bytes)
      entry.values = record.values
    }
  }

  private func change(_ id: String, _ body: (inout PostgresWorkingSet.Entry) -> Void) {
    let key = Footprint.Key(table: index, id: id)
    store.working.change(key, body)
    store.lists.put(key, store.working[key])
  }

  private func changedHolders(_ group: Int, _ columns: [Int]) -> [UniqueValues: [String]] {
    if let known = holders[group], known.version == store.working.version { return known.ids }
    var ids: [UniqueValues: [String]] = [:]
    for (key, entry) in store.working.changed where key.table == index {
      guard let zone = entry.home, let values = entry.values else { continue }
      ids[UniqueValues(zone: zone, values: columns.map { values[$0] }), default: []].append(key.id)
    }
    holders[group] = (store.working.version, ids)
    return ids
  }

  func holder(of group: [String], like record: StoredRecord) throws -> String? {
    guard let number = table.unique.firstIndex(of: group) else { return nil }
    let columns = group.compactMap { table.index(of: $0) }
    let values = columns.map { record.values[$0] }
    if values.contains(.null) { return nil }
    let here = changedHolders(number, columns)[UniqueValues(zone: record.zone, values: values)]
    if let other = here?.first(where: { $0 != record.id }) { return other }
    // A zone that is made by this transaction has no other records in the database.
    if store.zonesMade.contains(record.zone) { return nil }
    return try store.writing.ids(of: index, sharing: number, values, in: record.zone).first {
      $0 != record.id && store.working.changed[Footprint.Key(table: index, id: $0)] == nil
    }
  }
}

/// What a unique group of a record is.
struct UniqueValues: Hashable {
  /// Empty where the values are unique in the whole table.
  let zone: String
  let values: [Value]
}

extension PostgresParameters {
  /// Adds a value as its column's type has it.
  package mutating func append(_ value: Value, _ type: ColumnType) {
    switch type {
    case .integer: append(value.integer)
    case .real: append(value.real)
    case .boolean: append(value.integer.map { $0 != 0 })
    case .text, .timestamp, .json, .reference, .position: append(value.text)
    }
  }

  /// Adds the values of one column of many records.
  package mutating func append(values: some Sequence<Value>, _ type: ColumnType) {
    switch type {
    case .integer: append(array: values.lazy.map(\.integer))
    case .real: append(array: values.lazy.map(\.real))
    case .boolean: append(array: values.lazy.map { $0.integer.map { $0 != 0 } })
    case .text, .timestamp, .json, .reference, .position: append(array: values.lazy.map(\.text))
    }
  }
}
