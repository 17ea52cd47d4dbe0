import HoldfastCore
import HoldfastPostgres

/// The records of one table, in the transaction's working set.
final class PostgresRecordTable: RecordTable {
  let table: Table
  private let index: Int
  private unowned let store: PostgresStore

  init(_ index: Int, _ store: PostgresStore) {
    self.index = index
    self.store = store
    table = store.schema.tables[index]
  }

  func record(_ id: String) throws -> Record? {
    let key = Expectation.Key(table: index, id: id)
    let entry = try store.entry(key)
    guard let zone = entry.home, let place = entry.places[zone], let values = entry.values else { return nil }
    return Record(
      table: index, id: id, zone: zone, seq: place.seq, rev: place.rev, stamps: place.stamps ?? "",
      values: values)
  }

  func zone(of id: String) throws -> String? {
    try store.glance(Expectation.Key(table: index, id: id)).home
  }

  func insert(_ record: Record) throws {
    try checkUnique(record, against: nil)
    put(record)
  }

  func update(_ record: Record) throws {
    let old = store.working[Expectation.Key(table: index, id: record.id)]
    try checkUnique(record, against: old)
    put(record)
  }

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
        if store.working.changed[Expectation.Key(table: index, id: rows.text(row, 0))] == nil {
          return rows.text(row, 1)
        }
      }
      if rows.count < limit { return nil }
      limit *= 8
    }
  }

  func ids(where column: Int, is value: String) throws -> [String] {
    var ids = try store.writing.ids(of: index, where: column, is: value)
      .filter { store.working.changed[Expectation.Key(table: index, id: $0)] == nil }
    for (key, entry) in store.working.changed where key.table == index {
      if entry.values?[column] == .text(value) { ids.append(key.id) }
    }
    return ids
  }

  private func put(_ record: Record) {
    change(record.id) { entry in
      if let home = entry.home, home != record.zone { entry.places[home] = nil }
      entry.places[record.zone] = PostgresWorkingSet.Place(
        state: .live, seq: record.seq, rev: record.rev, stamps: record.stamps)
      entry.values = record.values
    }
  }

  private func change(_ id: String, _ body: (inout PostgresWorkingSet.Entry) -> Void) {
    let key = Expectation.Key(table: index, id: id)
    store.working.change(key, body)
    store.lists.put(key, store.working[key])
  }

  /// Looks for another record with the same unique values, in the transaction and in the database. Only where they are new: a zone that
  /// is made by this transaction has no other records in the database.
  private func checkUnique(_ record: Record, against old: PostgresWorkingSet.Entry?) throws {
    for group in table.unique {
      let columns = group.compactMap { table.index(of: $0) }
      if let known = old?.values, old?.home == record.zone,
        columns.allSatisfy({ known[$0] == record.values[$0] })
      {
        continue
      }
      if let other = try holder(of: group, like: record) { throw taken(group, by: other) }
    }
  }

  func holder(of group: [String], like record: Record) throws -> String? {
    guard let number = table.unique.firstIndex(of: group) else { return nil }
    let columns = group.compactMap { table.index(of: $0) }
    let values = columns.map { record.values[$0] }
    if values.contains(.null) { return nil }
    for (key, entry) in store.working.changed where key.table == index && key.id != record.id {
      if entry.home == record.zone, let others = entry.values, columns.map({ others[$0] }) == values {
        return key.id
      }
    }
    if store.zonesMade.contains(record.zone) { return nil }
    return try store.writing.ids(of: index, sharing: number, values, in: record.zone).first {
      $0 != record.id && store.working.changed[Expectation.Key(table: index, id: $0)] == nil
    }
  }
}

extension PostgresParameters {
  /// Adds a value as its column's type has it.
  mutating func append(_ value: Value, _ type: ColumnType) {
    switch type {
    case .integer: append(value.integer)
    case .real: append(value.real)
    case .boolean: append(value.integer.map { $0 != 0 })
    case .text, .timestamp, .json, .reference, .position: append(value.text)
    }
  }

  /// Adds the values of one column of many records.
  mutating func append(values: some Sequence<Value>, _ type: ColumnType) {
    switch type {
    case .integer: append(array: values.lazy.map(\.integer))
    case .real: append(array: values.lazy.map(\.real))
    case .boolean: append(array: values.lazy.map { $0.integer.map { $0 != 0 } })
    case .text, .timestamp, .json, .reference, .position: append(array: values.lazy.map(\.text))
    }
  }
}

extension Value {
  /// The number of an integer, or nil.
  var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

  /// The number of a real, also of one that is whole, or nil.
  var real: Double? {
    switch self {
    case .real(let number): number
    case .integer(let number): Double(number)
    case .null, .text: nil
    }
  }
}
