import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The records of one table in SQLite: its statements, prepared once.
final class SQLiteRecordTable: RecordTable {
  let table: TableSchema
  private let index: Int
  private let connection: SQLiteConnection
  private let find: Statement
  private let findZone: Statement
  private let add: Statement
  private let change: Statement
  private let drop: Statement

  init(_ index: Int, of schema: SyncSchema, on connection: SQLiteConnection) throws {
    self.index = index
    self.connection = connection
    table = schema.tables[index]
    let name = "\"\(table.name)\""
    let columns = table.columns.map { ", \"\($0.name)\"" }.joined()
    let places = String(repeating: ", ?", count: table.columns.count)
    let settings = table.columns.map { ", \"\($0.name)\" = ?" }.joined()
    find = try connection.statement("SELECT zone, seq, rev, stamps\(columns) FROM \(name) WHERE id = ?")
    findZone = try connection.statement("SELECT zone FROM \(name) WHERE id = ?")
    add = try connection.statement(
      "INSERT INTO \(name) (id, zone, seq, rev, stamps\(columns)) VALUES (?, ?, ?, ?, ?\(places))")
    change = try connection.statement(
      "UPDATE \(name) SET zone = ?, seq = ?, rev = ?, stamps = ?\(settings) WHERE id = ?")
    drop = try connection.statement("DELETE FROM \(name) WHERE id = ?")
  }

  func record(_ id: String) throws -> StoredRecord? {
    try find.bind(id, at: 1)
    defer { find.reset() }
    guard try find.step() else {
      // The index on ids names the row's place: that alone says whether there is one.
      if let zone = try zone(of: id) { throw DamagedDatabase.missing(id, of: table.name, in: zone) }
      return nil
    }
    return StoredRecord(
      table: index, id: id, zone: find.text(0), seq: find.integer(1), rev: find.integer(2),
      stamps: find.text(3),
      values: table.columns.indices.map { find.columnValue(4 + $0) })
  }

  func zone(of id: String) throws -> String? {
    try findZone.bind(id, at: 1)
    return try findZone.firstText()
  }

  func insert(_ record: StoredRecord) throws {
    try add.bind(record.id, at: 1)
    try add.bind(record.zone, at: 2)
    try add.bind(record.seq, at: 3)
    try add.bind(record.rev, at: 4)
    try add.bind(record.stamps, at: 5)
    for (index, value) in record.values.enumerated() { try add.bind(value, at: 6 + index) }
    try add.run()
  }

  func update(_ record: StoredRecord) throws {
    try change.bind(record.zone, at: 1)
    try change.bind(record.seq, at: 2)
    try change.bind(record.rev, at: 3)
    try change.bind(record.stamps, at: 4)
    for (index, value) in record.values.enumerated() { try change.bind(value, at: 5 + index) }
    try change.bind(record.id, at: 5 + record.values.count)
    try change.run()
  }

  func remove(_ id: String) throws {
    try drop.bind(id, at: 1)
    try drop.run()
  }

  func references(by column: Int, to values: [String], limit: Int) throws -> [(id: String, value: String)] {
    let statement = try connection.statement(
      "SELECT id FROM \"\(table.name)\" WHERE \"\(table.columns[column].name)\" = ?")
    var found: [(id: String, value: String)] = []
    for value in values {
      try statement.bind(value, at: 1)
      defer { statement.reset() }
      while found.count < limit, try statement.step() { found.append((statement.text(0), value)) }
    }
    return found
  }

  func prefetch(_ ids: [String]) throws {}

  func position(
    _ side: RecordList.Side, _ mark: String, in list: RecordList, besides id: String
  ) throws -> String? {
    let statement = try connection.statement(SQLiteTables.position(side, in: list, of: table))
    try statement.bind(list.zone, at: 1)
    try statement.bind(mark, at: 2)
    try statement.bind(id, at: 3)
    if let parent = list.parent { try statement.bind(parent.value, at: 4) }
    return try statement.firstText()
  }

  func holder(of columns: [String], like record: StoredRecord) throws -> String? {
    guard let number = table.unique.firstIndex(of: columns) else { return nil }
    let same = columns.map { " AND \"\($0)\" = ?" }.joined()
    let statement = try connection.statement(
      """
      SELECT id FROM "\(table.name)" INDEXED BY \(SQLiteTables.uniqueIndex(number, of: table.name))
      WHERE zone = ? AND id <> ?\(same)
      """)
    try statement.bind(record.zone, at: 1)
    try statement.bind(record.id, at: 2)
    for (place, name) in columns.enumerated() {
      try statement.bind(table.index(of: name).map { record.values[$0] } ?? .null, at: 3 + place)
    }
    return try statement.firstText()
  }
}
