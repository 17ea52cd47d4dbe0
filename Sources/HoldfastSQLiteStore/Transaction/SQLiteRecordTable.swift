import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The records and tombstones of one table in SQLite, with prepared statements.
final class SQLiteRecordTable {
  private let table: TableSchema
  private let connection: SQLiteConnection
  private let find: Statement
  private let findZone: Statement
  private let findBetween: Statement
  private let findTombstonesBetween: Statement
  private let add: Statement
  private let change: Statement
  private let drop: Statement
  private let findTombstones: Statement
  private let putTombstone: Statement
  private let dropTombstone: Statement

  init(_ index: Int, of schema: SyncSchema, on connection: SQLiteConnection) throws {
    self.connection = connection
    table = schema.tables[index]
    let name = "\"\(table.name)\""
    let columns = table.columns.map { ", \"\($0.name)\"" }.joined()
    let places = String(repeating: ", ?", count: table.columns.count)
    let settings = table.columns.map { ", \"\($0.name)\" = ?" }.joined()
    find = try connection.statement("SELECT zone, seq, rev, stamps\(columns) FROM \(name) WHERE id = ?")
    findZone = try connection.statement("SELECT zone FROM \(name) WHERE id = ?")
    findBetween = try connection.statement("SELECT id FROM \(name) WHERE id BETWEEN ? AND ? LIMIT ?")
    findTombstonesBetween = try connection.statement(
      "SELECT id FROM holdfast_tombstones WHERE id BETWEEN ? AND ? LIMIT ?")
    add = try connection.statement(
      "INSERT INTO \(name) (id, zone, seq, rev, stamps\(columns)) VALUES (?, ?, ?, ?, ?\(places))")
    change = try connection.statement(
      "UPDATE \(name) SET zone = ?, seq = ?, rev = ?, stamps = ?\(settings) WHERE id = ?")
    drop = try connection.statement("DELETE FROM \(name) WHERE id = ?")
    findTombstones = try connection.statement(
      """
      SELECT zone, seq, rev, stamp, device, deleted_seq, departed FROM holdfast_tombstones
      WHERE id = ? AND record_table = ? ORDER BY zone
      """)
    // A record has one tombstone per zone: a later one replaces the earlier.
    putTombstone = try connection.statement(
      """
      INSERT OR REPLACE INTO holdfast_tombstones (zone, seq, record_table, id, rev, stamp, device, departed, deleted_seq)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    dropTombstone = try connection.statement(
      "DELETE FROM holdfast_tombstones WHERE id = ? AND record_table = ? AND zone = ?")
  }

  func entry(_ id: String) throws -> RecordEntry {
    var entry = RecordEntry()
    try readRecord(id, into: &entry)
    try findTombstones.bind(id, at: 1)
    try findTombstones.bind(table.name, at: 2)
    defer { findTombstones.reset() }
    while try findTombstones.step() {
      entry.places.put(
        RecordPlace(
          zone: findTombstones.text(0), state: findTombstones.integer(6) == 1 ? .departed : .deleted,
          seq: findTombstones.integer(1), rev: findTombstones.integer(2), stamp: findTombstones.integer(3),
          device: findTombstones.integer(4), deletedSeq: findTombstones.integer(5)))
    }
    return entry
  }

  /// Those of some ids of which there is neither a record nor a tombstone, or none of them where that would take long to say. Ids are made in the order
  /// of time, so few others lie between those that come together.
  func absent(_ ids: [String]) throws -> [String] {
    guard let first = ids.min(), let last = ids.max() else { return [] }
    var known: TextSet = []
    for statement in [findBetween, findTombstonesBetween] {
      var room = 2 * ids.count
      try statement.bind(first, at: 1)
      try statement.bind(last, at: 2)
      try statement.bind(Int64(room), at: 3)
      defer { statement.reset() }
      while try statement.step() {
        known.insert(statement.text(0))
        room -= 1
      }
      if room == 0 { return [] }
    }
    return known.isEmpty ? ids : ids.filter { !known.contains($0) }
  }

  private func readRecord(_ id: String, into entry: inout RecordEntry) throws {
    try find.bind(id, at: 1)
    defer { find.reset() }
    guard try find.step() else {
      // The index on ids covers this query, so it finds the record even if the table has lost its row.
      try findZone.bind(id, at: 1)
      if let zone = try findZone.firstText() { throw DamagedDatabase.missing(id, of: table.name, in: zone) }
      return
    }
    let values = table.columns.indices.map { find.columnValue(4 + $0) }
    entry.places.put(
      RecordPlace(
        zone: find.text(0), state: .live, seq: find.integer(1), rev: find.integer(2), stamps: find.text(3),
        size: StoredRecord.bytes(id, values)))
    entry.values = values
  }

  // MARK: Writing

  func write(_ change: ChangedRecord) throws {
    let id = change.key.id
    for place in change.before?.places ?? RecordPlaces() where place.state != .live {
      let now = change.now.places[place.zone]
      if now == nil || now?.state == .live { try removeTombstone(of: id, in: place.zone) }
    }
    for place in change.now.places where place.state != .live {
      if change.before?.places[place.zone] != place { try put(place, of: id) }
    }
    let before = change.before?.places.live
    guard let place = change.now.places.live, let values = change.now.values else {
      if before != nil { try remove(id) }
      return
    }
    if before == nil { return try insert(id, place, values) }
    if before != place { try update(id, place, values) }
  }

  private func insert(_ id: String, _ place: RecordPlace, _ values: [Value]) throws {
    try add.bind(id, at: 1)
    try add.bind(place.zone, at: 2)
    try add.bind(place.seq, at: 3)
    try add.bind(place.rev, at: 4)
    try add.bind(place.stamps ?? "", at: 5)
    for (index, value) in values.enumerated() { try add.bind(value, at: 6 + index) }
    try add.run()
  }

  private func update(_ id: String, _ place: RecordPlace, _ values: [Value]) throws {
    try change.bind(place.zone, at: 1)
    try change.bind(place.seq, at: 2)
    try change.bind(place.rev, at: 3)
    try change.bind(place.stamps ?? "", at: 4)
    for (index, value) in values.enumerated() { try change.bind(value, at: 5 + index) }
    try change.bind(id, at: 5 + values.count)
    try change.run()
  }

  private func remove(_ id: String) throws {
    try drop.bind(id, at: 1)
    try drop.run()
  }

  private func put(_ tombstone: RecordPlace, of id: String) throws {
    try putTombstone.bind(tombstone.zone, at: 1)
    try putTombstone.bind(tombstone.seq, at: 2)
    try putTombstone.bind(table.name, at: 3)
    try putTombstone.bind(id, at: 4)
    try putTombstone.bind(tombstone.rev, at: 5)
    try putTombstone.bind(tombstone.stamp ?? 0, at: 6)
    try putTombstone.bind(tombstone.device ?? 0, at: 7)
    try putTombstone.bind(tombstone.state == .departed ? 1 : 0, at: 8)
    try putTombstone.bind(tombstone.deletedSeq ?? tombstone.seq, at: 9)
    try putTombstone.run()
  }

  private func removeTombstone(of id: String, in zone: String) throws {
    try dropTombstone.bind(id, at: 1)
    try dropTombstone.bind(table.name, at: 2)
    try dropTombstone.bind(zone, at: 3)
    try dropTombstone.run()
  }

  // MARK: Looking up

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

  func positions(_ side: RecordList.Side, _ mark: String, in list: RecordList, limit: Int) throws -> [(
    id: String, position: String
  )] {
    let statement = try connection.statement(SQLiteTables.positions(side, in: list, of: table))
    try statement.bind(list.zone, at: 1)
    try statement.bind(mark, at: 2)
    try statement.bind(Int64(limit), at: 3)
    if let parent = list.parent { try statement.bind(parent.value, at: 4) }
    defer { statement.reset() }
    var found: [(id: String, position: String)] = []
    while try statement.step() { found.append((statement.text(0), statement.text(1))) }
    return found
  }

  func ids(sharing group: Int, _ values: [Value], in zone: String) throws -> [String] {
    let same = table.unique[group].map { " AND \"\($0)\" = ?" }.joined()
    let statement = try connection.statement(
      """
      SELECT id FROM "\(table.name)" INDEXED BY \(SQLiteTables.uniqueIndex(group, of: table.name))
      WHERE zone = ?\(same)
      """)
    try statement.bind(zone, at: 1)
    for (place, value) in values.enumerated() { try statement.bind(value, at: 2 + place) }
    defer { statement.reset() }
    var found: [String] = []
    while try statement.step() { found.append(statement.text(0)) }
    return found
  }
}
