import HoldfastCore
import HoldfastPostgres
import HoldfastPostgresStore
import HoldfastService

/// Writes a backup of a PostgreSQL database: each table in COPY's text format, all from one snapshot.
struct PostgresBackup {
  let database: PostgresDatabase

  init(_ database: PostgresDatabase) { self.database = database }

  func write(to path: String, at now: Int64) throws -> BackupManifest {
    let connection = try database.location.connectDirectly(.reads)
    defer { connection.close() }
    try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    let adopted = try connection.query("SELECT name FROM holdfast.tables WHERE adopted ORDER BY name")
    if !adopted.isEmpty {
      throw ServerError(
        .refused,
        "The table \(adopted.text(0, 0)) was adopted, and may hold more than Holdfast knows. Back the database up with PostgreSQL's own tools; after a restore begin a new epoch with `holdfast restore --begin-epoch`."
      )
    }
    let stored = try connection.query("SELECT value FROM holdfast.meta WHERE key = 'schema'").text(0, 0)
    guard try SyncSchema(json: Array(stored.utf8)) == database.schema else {
      throw ServerError(.refused, "The schema was changed when the backup began. Take it again.")
    }
    let tables = try BackupTable.all(of: database.layout, on: connection)
    let manifest = try manifest(tables, connection, now)
    let writer = try BackupWriter(path)
    try writer.begin(manifest)
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
    let history = try PostgresEpoch.history(connection.query(PostgresEpoch.find))
    let format = try connection.query("SELECT value FROM holdfast.meta WHERE key = 'format'").text(0, 0)
    return BackupManifest(
      engine: .postgres, format: Int64(format) ?? 0, epoch: history.epoch, earlier: history.earlier,
      schema: database.schema, takenAt: now,
      zones: try tables.first { $0.name == "holdfast.zones" }.map(count) ?? 0,
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

  /// The tables of the database: all of Holdfast's own, whose rows are neither created with the database nor those of the schema's tables,
  /// a table after those that its rows refer to; then the schema's.
  static func all(of layout: PostgresLayout, on connection: PostgresConnection) throws -> [BackupTable] {
    let records = TextSet(layout.relations.map { unquoted($0.name.replacing("holdfast.", with: "")) })
    let tables = try connection.query(
      """
      SELECT c.relname::text, string_agg(a.attname::text, ',' ORDER BY a.attnum) FROM pg_class c
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      WHERE c.relnamespace = 'holdfast'::regnamespace AND c.relkind = 'r' AND c.relname NOT IN ('meta', 'tables')
      GROUP BY c.oid, c.relname
      ORDER BY EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f'), c.relname
      """)
    let own = tables.indices.filter { row in
      // A team may have made a table there.
      PostgresTables.ownNames.contains(tables.text(row, 0)) && !records.contains(tables.text(row, 0))
    }.map { row in
      let relation = "holdfast.\(tables.text(row, 0))"
      return BackupTable(
        name: relation, isOwn: true, relation: relation,
        columns: tables.text(row, 1).split(separator: ",").map(String.init))
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
