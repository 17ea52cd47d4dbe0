public import HoldfastCore
public import HoldfastSQLite

/// The device's database inside one read or write; valid only there, and on the queue that it was given on.
///
/// SQL may name the tables and columns of the schema, and `id`, `zone` and `rev` of every record. It must not begin or end
/// transactions.
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
    guard let replica = Position.Replica(try local.state().replica) else {
      throw StoreError(.databaseIsBroken, "The name of this device's positions is missing.")
    }
    return Position.run(
      count: count, between: left, and: right, replica: replica, nonce: environment.random())
  }

  // MARK: Reading

  /// Reads rows as values of a type: with keys by the names of the columns, or one plain value from the first column.
  ///
  /// - Parameters:
  ///   - sql: a query; `?` stand for the arguments.
  ///   - arguments: as many as the query has `?`.
  /// - Throws: `SQLiteError`; `StoreError.valueUnfit` when a row does not fit the type.
  public func fetch<T: Decodable>(_ type: T.Type, _ sql: String, _ arguments: [SQLiteValue] = []) throws
    -> [T]
  {
    let (names, rows) = try rows(sql, arguments)
    return try rows.map { try RowDecoder.decode(type, names: names, values: $0) }
  }

  /// Reads the first row as a value of a type; nil when there is none. See `fetch`.
  public func first<T: Decodable>(_ type: T.Type, _ sql: String, _ arguments: [SQLiteValue] = []) throws -> T?
  {
    try fetch(type, sql, arguments).first
  }

  /// Reads one record; nil when it is not on the device.
  public func find<R: Record>(_ type: R.Type, id: String) throws -> R? {
    try first(type, "SELECT * FROM \"\(R.table)\" WHERE \"id\" = ?", [.text(id)])
  }

  /// Reads rows as they are.
  public func rows(_ sql: String, _ arguments: [SQLiteValue] = []) throws -> (
    names: [String], rows: [[SQLiteValue]]
  ) {
    let statement = try local.connection.statement(sql)
    defer { statement.reset() }
    try statement.bind(arguments)
    let names = (0..<statement.columnCount).map { statement.columnName($0) }
    var rows: [[SQLiteValue]] = []
    while try statement.step() { rows.append(statement.values) }
    return (names, rows)
  }

  // MARK: Writing

  /// Runs one statement of plain SQL. What it writes is recorded like every other edit.
  public func execute(_ sql: String, _ arguments: [SQLiteValue] = []) throws {
    try local.connection.run(sql, arguments)
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
    let after = try RowEncoder.encode(record, in: schema)
    let changed = after.filter { column in
      !before.contains { $0.name == column.name && $0.value == column.value }
    }
    try local.rows.update(changed, of: id, in: R.table)
    return record
  }

  /// Deletes a record, and what is under it by the schema. A record that is not there is no error.
  public func delete<R: Record>(_ type: R.Type, id: String) throws {
    try local.connection.run("DELETE FROM \"\(R.table)\" WHERE \"id\" = ?", [.text(id)])
  }
}
