public import HoldfastCore
public import HoldfastSQLite

/// The device's database inside one read or write; valid only there, and on the queue that it was given on.
///
/// SQL may name the tables and columns of the schema, and `id`, `zone` and `rev` of every record. It must not begin or end
/// transactions.
///
/// ```swift
/// try await store.write { db in
///   try db.insert(GroceryList(id: db.newID(), title: "Groceries"))
///   try db.update(Item.self, id: milk) { $0.done = true }
/// }
/// ```
public final class Database {
  let local: LocalDatabase
  private let environment: StoreEnvironment

  package init(local: LocalDatabase, environment: StoreEnvironment) {
    self.local = local
    self.environment = environment
  }

  /// The schema of the database.
  public var schema: SyncSchema { local.schema }

  /// Makes an id for a new record.
  public func newID() -> String { environment.newID() }

  /// Makes a place in an ordered list, for a column of type `position`.
  ///
  /// - Parameters:
  ///   - left: the position before, nil at the list's start.
  ///   - right: the position after, nil at the list's end.
  /// - Throws: `PositionError` when one of them is no position.
  public func position(after left: String?, before right: String?) throws -> String {
    try run(
      of: 1, between: try left.map { try Position(validating: $0) },
      and: try right.map { try Position(validating: $0) })[0].string
  }

  /// Makes places in a row.
  func run(of count: Int, between left: Position?, and right: Position?) throws -> [Position] {
    guard let replica = Position.Replica(try local.replica()) else {
      throw StoreError(.databaseIsBroken, "The name of this device's positions is missing.")
    }
    return Position.run(
      count: count, between: left, and: right, replica: replica, nonce: environment.random())
  }

  // MARK: Reading

  /// Reads rows as values of a type: with keys by the names of the columns, or one plain value from the first column.
  ///
  /// ```swift
  /// let titles = try db.fetch(String.self, "SELECT title FROM items WHERE list_id = \(list)")
  /// ```
  /// - Parameters:
  ///   - type: what a row is read as.
  ///   - sql: a query; what a literal interpolates is bound.
  /// - Throws: `SQLiteError`; `StoreError.valueUnfit` when a row does not fit the type.
  public func fetch<T: Decodable>(_ type: T.Type, _ sql: SQL) throws -> [T] {
    let (names, rows) = try rows(sql)
    return try rows.map { try RowDecoder.decode(type, names: names, values: $0) }
  }

  /// The same, for a text that is sent to SQLite as it is. Never put values into it: use the arguments.
  ///
  /// - Parameters:
  ///   - type: what a row is read as.
  ///   - sql: a query; `?` stand for the arguments.
  ///   - arguments: as many as the query has `?`.
  @_disfavoredOverload
  public func fetch<T: Decodable>(_ type: T.Type, _ sql: String, _ arguments: [SQLiteValue] = []) throws
    -> [T]
  {
    try fetch(type, SQL(unsafe: sql, arguments))
  }

  /// Reads the records of a selection, in its order.
  ///
  /// ```swift
  /// let open = try db.fetch(Item.where(\.done == false).order(by: \.title))
  /// ```
  public func fetch<R: Record>(_ selection: RecordSelection<R>) throws -> [R] {
    try fetch(R.self, try selection.query())
  }

  /// Reads the first row as a value of a type; nil when there is none. See `fetch`.
  public func first<T: Decodable>(_ type: T.Type, _ sql: SQL) throws -> T? { try fetch(type, sql).first }

  /// The same, for a text that is sent to SQLite as it is. Never put values into it: use the arguments.
  @_disfavoredOverload
  public func first<T: Decodable>(_ type: T.Type, _ sql: String, _ arguments: [SQLiteValue] = []) throws -> T?
  {
    try first(type, SQL(unsafe: sql, arguments))
  }

  /// Reads the first record of a selection; nil when there is none.
  public func first<R: Record>(_ selection: RecordSelection<R>) throws -> R? {
    try fetch(selection.limit(1)).first
  }

  /// How many records a selection has: `try db.count(Item.where(\.done == false))`.
  public func count<R: Record>(_ selection: RecordSelection<R>) throws -> Int {
    try first(Int.self, try selection.counting()) ?? 0
  }

  /// Reads one record; nil when it is not on the device.
  public func find<R: Record>(_ type: R.Type, id: String) throws -> R? {
    try first(type, "SELECT * FROM \(R.self) WHERE \"id\" = \(id)")
  }

  /// Reads rows as they are.
  public func rows(_ sql: SQL) throws -> (names: [String], rows: [[SQLiteValue]]) {
    let statement = try local.connection.statement(sql.checked().text)
    defer { statement.reset() }
    try statement.bind(sql.arguments)
    let names = (0..<statement.columnCount).map { statement.columnName($0) }
    var rows: [[SQLiteValue]] = []
    while try statement.step() { rows.append(statement.values) }
    return (names, rows)
  }

  /// The same, for a text that is sent to SQLite as it is. Never put values into it: use the arguments.
  @_disfavoredOverload
  public func rows(_ sql: String, _ arguments: [SQLiteValue] = []) throws -> (
    names: [String], rows: [[SQLiteValue]]
  ) {
    try rows(SQL(unsafe: sql, arguments))
  }

  // MARK: Writing

  /// Runs one statement of plain SQL. What it writes is recorded like every other edit.
  ///
  /// ```swift
  /// try db.execute("UPDATE items SET done = \(true) WHERE list_id = \(list)")
  /// ```
  /// It may also make what the schema does not have and the server never sees: tables, indexes, views and full-text tables of the app's own; see
  /// docs/RECORDS.md.
  public func execute(_ sql: SQL) throws {
    try local.connection.run(sql.checked().text, sql.arguments)
  }

  /// The same, for a text that is sent to SQLite as it is. Never put values into it: use the arguments.
  @_disfavoredOverload
  public func execute(_ sql: String, _ arguments: [SQLiteValue] = []) throws {
    try execute(SQL(unsafe: sql, arguments))
  }

  /// Inserts a new record.
  ///
  /// - Throws: `StoreError.valueUnfit` for a value that its column can't hold, with table and column; `SQLiteError` when a constraint forbids it.
  public func insert<R: Record>(_ record: R) throws {
    try local.rows.insert(try RowEncoder.encode(record, in: schema), into: R.table)
  }

  /// Changes a record as it is now: only columns that `change` gives other values become edits, so what others
  /// wrote meanwhile stays.
  ///
  /// - Returns: the record after the change.
  /// - Throws: `StoreError.recordMissing` when it is not on the device; `valueUnfit` for a value that its column can't hold.
  @discardableResult
  public func update<R: Record>(_ type: R.Type, id: String, _ change: (inout R) throws -> Void) throws -> R {
    guard var record = try find(type, id: id) else {
      throw StoreError(.recordMissing, "There is no record \(id) in \(R.table) on this device.")
    }
    let before = try RowEncoder.encode(record, in: schema)
    try change(&record)
    try local.rows.update(RowEncoder.changes(from: before, to: record, in: schema), of: id, in: R.table)
    return record
  }

  /// Deletes a record, and what is under it by the schema. A record that is not there is no error.
  public func delete<R: Record>(_ type: R.Type, id: String) throws {
    try local.connection.run("DELETE FROM \"\(R.table)\" WHERE \"id\" = ?", [.text(id)])
  }
}
