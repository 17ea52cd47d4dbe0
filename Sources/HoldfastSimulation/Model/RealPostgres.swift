import HoldfastCore
import HoldfastPostgres
import HoldfastServer

/// A real PostgreSQL database instead of the server's simulated disk. It is emptied for each run.
///
/// It is as deterministic as its single client. But its own disk can't fail, and the server dies only at two points that the plan chooses:
/// before a request, or after its commit.
final class RealPostgres {
  let location: PostgresLocation
  private var connection: PostgresConnection?

  init(_ location: PostgresLocation) { self.location = location }

  private func connected() throws -> PostgresConnection {
    if let connection, connection.isUsable { return connection }
    let new = try PostgresConnection(location.url)
    try new.execute("SET client_min_messages = warning")
    connection = new
    return new
  }

  /// Drops everything in the database.
  func empty() throws {
    // A cluster takes one command at a time.
    for command in [
      "DROP SCHEMA IF EXISTS holdfast CASCADE", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public",
    ] {
      try connected().execute(command)
    }
  }

  /// The findings of the server's own check.
  func soundness() throws -> [String] {
    try Administration(.postgres(location)).doctor().map(\.description)
  }

  /// The server's records, tombstones and counters.
  func serverView(_ schema: SyncSchema) throws -> ServerView {
    let connection = try connected()
    try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    defer { try? connection.execute("COMMIT") }
    var view = ServerView()
    for table in schema.tables { try read(table, connection, into: &view) }
    let gone = try connection.query(
      "SELECT record_table, id, zone, seq, rev, state, stamp FROM holdfast.records WHERE state > 0 ORDER BY zone, seq"
    )
    view.tombstones = gone.indices.map { row in
      ServerView.Tombstone(
        key: RecordKey(table: gone.text(row, 0), id: gone.text(row, 1)), zone: gone.text(row, 2),
        seq: gone.int64(row, 3), rev: gone.int64(row, 4),
        at: (gone.optionalInt64(row, 6) ?? 0) >> 16, isDeparture: gone.int64(row, 5) == 2)
    }
    let zones = try connection.query("SELECT zone, seq, purged FROM holdfast.zones")
    for row in zones.indices {
      view.zones[zones.text(row, 0)] = ServerView.Zone(seq: zones.int64(row, 1), purged: zones.int64(row, 2))
    }
    let devices = try connection.query("SELECT number, confirmed FROM holdfast.devices")
    for row in devices.indices { view.confirmed[devices.int64(row, 0)] = devices.int64(row, 1) }
    return view
  }

  private func read(_ table: TableSchema, _ connection: PostgresConnection, into view: inout ServerView)
    throws
  {
    let relation = table.isBuiltIn ? "holdfast.\(table.name)" : "\"\(table.name)\""
    let columns = table.columns.map { ", t.\"\($0.name)\"" }.joined()
    let rows = try connection.query(
      PostgresStatement(
        """
        SELECT r.id, r.zone, r.rev, r.seq\(columns) FROM holdfast.records r JOIN \(relation) t ON t.zone = r.zone AND t.id = r.id
        WHERE r.record_table = '\(table.name)' AND r.state = 0
        """))
    for row in rows.indices {
      let key = RecordKey(table: table.name, id: rows.text(row, 0))
      var record: Row = ["zone": .text(rows.text(row, 1)), "rev": .integer(rows.int64(row, 2))]
      for (index, column) in table.columns.enumerated() where !rows.isNull(row, 4 + index) {
        record[Schemas.firstName(of: column.name)] = cell(rows, row, 4 + index, column.type)
      }
      if let column = record["column_name"]?.string {
        record["column_name"] = .text(Schemas.firstName(of: column))
      }
      view.tables[key] = record
      view.seqs[key] = rows.int64(row, 3)
    }
  }

  private func cell(_ rows: PostgresRows, _ row: Int, _ column: Int, _ type: ColumnType) -> Cell {
    switch type {
    case .integer: .integer(rows.int64(row, column))
    case .real: .real(rows.double(row, column))
    case .boolean: .integer(rows.bool(row, column) ? 1 : 0)
    case .text, .timestamp, .json, .reference, .position: .text(rows.text(row, column))
    }
  }
}
