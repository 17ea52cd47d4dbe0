public import HoldfastCore
import HoldfastPostgres
import HoldfastPostgresStore
import HoldfastSQLite
import HoldfastSQLiteStore
import HoldfastService

/// A table or column in the database that the schema no longer has: docs/SCHEMA-CHANGES.md, section 4.
public struct RemovedData: Sendable, Hashable {
  /// The table in the database, quoted if necessary.
  let table: String
  /// The column; nil for a whole table.
  let column: String?
  /// The number of records, or of values other than null.
  public let count: Int64

  /// A description with the count, for people.
  public var description: String {
    column.map { "\(table): column \($0), \(count) values" } ?? "\(table): table, \(count) records"
  }

  /// The SQL statement that drops it.
  fileprivate var drop: String {
    column.map { "ALTER TABLE \(table) DROP COLUMN \(PostgresName.quoted($0))" } ?? "DROP TABLE \(table)"
  }
}

extension DatabaseLocation {
  /// The schema stored in the database.
  ///
  /// - Throws: `ServerError` if there is none.
  public func storedSchema() throws -> SyncSchema {
    try open(schema: nil, random: ServerEnvironment.system.random).schema
  }

  /// The effects of a start with another schema.
  ///
  /// - Throws: `ServerError` if there is no database.
  package func report(of schema: SyncSchema) throws -> SchemaReport {
    switch self {
    case .directory:
      try open(schema: nil, random: ServerEnvironment.system.random).report(of: schema)
    case .postgres(let location): try SchemaFit.report(of: schema, in: location)
    }
  }

  /// Why a start that must not make a database can't go on where there is none.
  var missing: ServerError {
    switch self {
    case .directory(let path): DataDirectory(path: path).missing
    case .postgres: PostgresOpening.missing
    }
  }

  /// - Throws: `ServerError.refused` if a database without Holdfast has tables of the schema.
  func requireFree(for schema: SyncSchema) throws {
    guard case .postgres(let location) = self else { return }
    if let taken = try SchemaFit.standing(schema, in: location).first {
      throw ServerError(.refused, taken.text)
    }
  }

  /// Lists the tables and columns in the database that the schema no longer has.
  ///
  /// - Parameter isDropped: whether to drop them too, all or none.
  /// - Throws: `ServerError` if the database is not Holdfast's.
  public func removedData(dropping isDropped: Bool = false) throws -> [RemovedData] {
    // Verifies that the database is Holdfast's.
    _ = try storedSchema()
    switch self {
    case .directory(let path):
      let connection = try SQLiteConnection(path: DataDirectory(path: path).database)
      return try connection.transaction(.immediate) {
        let found = try Self.removedData(connection)
        if isDropped { for data in found { try connection.execute(data.drop) } }
        return found
      }
    case .postgres(let location):
      let connection = try location.connectDirectly(.opens)
      defer { connection.close() }
      return try LockTurns.take(on: connection) {
        try connection.execute(
          """
          BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(5216694956356254582); \(LockTurns.limit)
          """)
        let found = try Self.removedData(connection)
        if isDropped { for data in found { try connection.execute(data.drop) } }
        try connection.execute("COMMIT")
        return found
      }
    }
  }

  private static func removedData(_ connection: SQLiteConnection) throws -> [RemovedData] {
    func count(_ sql: String) throws -> Int64 { try connection.value(sql)?.integer ?? 0 }
    let places = try connection.rows(
      """
      SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
      WHERE t.type = 'table' AND substr(c.name, 1, \(RemovedName.prefix.count)) = '\(RemovedName.prefix)'
        AND substr(t.name, 1, \(RemovedName.prefix.count)) <> '\(RemovedName.prefix)'
      UNION ALL SELECT name, NULL FROM sqlite_schema
      WHERE type = 'table' AND substr(name, 1, \(RemovedName.prefix.count)) = '\(RemovedName.prefix)' ORDER BY 1, 2
      """)
    return try places.map { place in
      let table = PostgresName.quoted(place[0].text ?? "")
      let column = place[1].text
      return RemovedData(
        table: table, column: column,
        count: try count("SELECT count(\(column.map(PostgresName.quoted) ?? "*")) FROM \(table)"))
    }
  }

  private static func removedData(_ connection: PostgresConnection) throws -> [RemovedData] {
    let places = try connection.query(
      """
      SELECT x.relation, a.attname::text FROM holdfast.tables x
      JOIN pg_attribute a ON a.attrelid = to_regclass(x.relation) AND NOT a.attisdropped AND a.attnum > 0
      WHERE NOT x.adopted AND starts_with(a.attname::text, $1)
      UNION ALL
      SELECT format('%I.%I', n.nspname, c.relname), NULL FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname IN (current_schema(), 'holdfast') AND c.relkind IN ('r', 'p') AND starts_with(c.relname::text, $1)
      ORDER BY 1, 2
      """, PostgresParameters(RemovedName.prefix))
    return try places.indices.map { row in
      let (table, column) = (places.text(row, 0), places.optionalText(row, 1))
      let count = try connection.query(
        PostgresStatement("SELECT count(\(column.map(PostgresName.quoted) ?? "*")) FROM \(table)"))
      return RemovedData(table: table, column: column, count: count.int64(0, 0))
    }
  }
}
