import HoldfastCore
import HoldfastPostgres
import HoldfastPostgresStore
import HoldfastService

/// Writes a backup of a PostgreSQL database: each table in COPY's text format, all from one snapshot.
struct PostgresBackup {
  let database: PostgresDatabase

  init(_ database: PostgresDatabase) { self.database = database }

  func write(to path: String, at now: Int64) throws -> BackupManifest {
    var location = database.location
    // These statements read all shards, so the observer that expects one shard per statement is removed.
    location.onStatement = nil
    let connection = try location.connectDirectly(.reads)
    defer { connection.close() }
    try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    if database.location.distribution == .citus {
      // Shards share no snapshot, so writers are blocked.
      try connection.execute("LOCK TABLE holdfast.zones, holdfast.devices IN EXCLUSIVE MODE")
    }
    let adopted = try connection.query("SELECT name FROM holdfast.tables WHERE adopted ORDER BY name")
    if !adopted.isEmpty {
      throw ServerError(
        .refused,
        "The table \(adopted.text(0, 0)) was adopted, and may hold more than Holdfast knows. Back the database up with PostgreSQL's own tools; after a restore begin a new epoch with `holdfast restore --begin-epoch`."
      )
    }
    let tables = try BackupTable.all(of: database.layout, on: connection)
    let manifest = try manifest(tables, connection, now)
    let writer = try BackupWriter(path, manifest)
    for table in tables {
      try add(table.header.bytes, to: writer)
      try connection.copyOut("COPY \(table.relation) (\(table.list)) TO STDOUT") { try add($0, to: writer) }
      try add([], to: writer)
    }
    try connection.execute("COMMIT")
    try writer.finish()
    return manifest
  }

  private func manifest(
    _ tables: [BackupTable], _ connection: PostgresConnection, _ now: Int64
  ) throws -> BackupManifest {
    func count(_ table: BackupTable) throws -> Int64 {
      try connection.queryOnce(PostgresStatement("SELECT count(*) FROM \(table.relation)")).int64(0, 0)
    }
    let format = try connection.query("SELECT value FROM holdfast.meta WHERE key = 'format'").text(0, 0)
    return BackupManifest(
      engine: .postgres, format: Int64(format) ?? 0, epoch: database.epoch, schema: database.schema,
      takenAt: now, zones: try tables.first { $0.name == "holdfast.zones" }.map(count) ?? 0,
      records: try tables.filter { !$0.isOwn }.reduce(0) { try $0 + count($1) })
  }

  /// A portion of the content: its length, then its bytes. An empty one ends a table.
  private func add(_ bytes: [UInt8], to writer: BackupWriter) throws {
    try writer.add(bigEndian(UInt32(bytes.count)) + bytes)
  }
}

/// A table of a PostgreSQL database in a backup.
struct BackupTable {
  /// The name in the schema, or the relation of a table of Holdfast's own.
  let name: String
  let isOwn: Bool
  let relation: String
  let columns: [String]

  /// The quoted columns, for a statement.
  var list: String { columns.map { PostgresName.quoted($0) }.joined(separator: ", ") }

  var header: JSONValue {
    .object([
      .init("table", .string(name)), .init("own", .bool(isOwn)),
      .init("columns", .array(columns.map { .string($0) })),
    ])
  }

  /// Holdfast's own tables whose rows are not created with the database, nor from those of others.
  static let own = PostgresShards.places.map(\.relation).filter {
    !(["holdfast.meta", "holdfast.tables"] + PostgresShards.derived).contains($0)
  }

  static func all(of layout: PostgresLayout, on connection: PostgresConnection) throws -> [BackupTable] {
    let own = try own.map { relation in
      let rows = try connection.query(
        """
        SELECT attname::text FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped
        ORDER BY attnum
        """, PostgresParameters(relation))
      return BackupTable(name: relation, isOwn: true, relation: relation, columns: rows.texts)
    }
    return own
      + layout.relations.map { relation in
        BackupTable(
          name: relation.table, isOwn: false, relation: relation.name,
          columns: ["id", "zone"] + relation.columns.map { unquoted($0.name) })
      }
  }

  private static func unquoted(_ name: String) -> String {
    name.hasPrefix("\"") ? String(name.dropFirst().dropLast()) : name
  }
}
