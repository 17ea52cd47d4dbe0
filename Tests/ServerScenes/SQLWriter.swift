import HoldfastCore
package import HoldfastPostgres
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Somebody who writes to the server's PostgreSQL database round the server, on a connection of their own.
package final class SQLWriter {
  package let connection: PostgresConnection

  package init(_ server: TestServer) throws {
    guard case .postgres(let location) = server.location else { throw PostgresOnly() }
    connection = try PostgresConnection(location.direct ?? location.url)
  }

  package init(url: String) throws { connection = try PostgresConnection(url) }

  /// A superuser on the server's database.
  package init(superuserOn server: TestServer) throws {
    guard case .postgres(let location) = server.location else { throw PostgresOnly() }
    connection = try PostgresConnection(
      TemporaryPostgres.shared.superuserURL(of: location.direct ?? location.url))
  }

  package func run(_ sql: String) throws { try connection.execute(sql) }

  /// The first column of all rows, as text.
  package func texts(_ sql: String) throws -> [String] {
    let rows = try connection.query(PostgresStatement(sql))
    return rows.indices.map { rows.optionalText($0, 0) ?? "null" }
  }

  /// The ledger of a zone, a line for each record in the order of their seqs: `seq table id rev state`.
  package func ledger(_ zone: String) throws -> [String] {
    try texts(
      """
      SELECT concat_ws(' ', seq, record_table, id, rev, CASE state WHEN 0 THEN 'live' WHEN 1 THEN 'deleted' ELSE 'departed' END)
      FROM holdfast.records WHERE zone = '\(zone)' ORDER BY seq
      """)
  }

  /// What of a zone is in the ledger behind a seq, as a reader asks for it.
  package func changes(_ zone: String, after seq: Int64) throws -> [(seq: Int64, id: String)] {
    let rows = try connection.query(
      "SELECT seq, id FROM holdfast.records WHERE zone = $1 AND seq > $2 ORDER BY seq",
      PostgresParameters(zone, seq))
    return rows.indices.map { (rows.int64($0, 0), rows.text($0, 1)) }
  }
}

/// A test of PostgreSQL was given another engine.
package struct PostgresOnly: Error {
  package init() {}
}

/// A database with the tables of a schema, without a server.
package struct TestLedger {
  package let url: String
  package let writer: SQLWriter

  package init(_ schema: String = TestLedger.schema) throws {
    url = try Engine.postgres.makeDatabase(SyncSchema(json: Array(schema.utf8)))
    writer = try SQLWriter(url: url)
    try writer.run(
      """
      INSERT INTO holdfast.accounts VALUES ('ann', 'ann.b', 'x', 0), ('bob', 'bob.c', 'x', 0);
      INSERT INTO holdfast.zones (zone, seq) VALUES ('ann', 0), ('bob', 0);
      """)
  }

  /// What the doctor finds.
  package func findings() throws -> [String] {
    try Administration(.postgres(PostgresLocation(url))).doctor().filter { $0.kind != .owner }.map(
      \.description)
  }

  /// Another connection to the database.
  package func another() throws -> SQLWriter { try SQLWriter(url: url) }

  package static let schema = """
    {"holdfast": 1, "name": "ledger", "tables": {
      "lists": {"zone": "root", "columns": {"title": {"type": "text", "required": true}}},
      "items": {"zone": {"parent": "list_id"}, "unique": [["title"]], "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
        "title": {"type": "text", "required": true}, "note": {"type": "text"}, "data": {"type": "json"},
        "after_id": {"type": "reference", "to": "items", "on_delete": "set_null"}}},
      "comments": {"zone": {"parent": "item_id"}, "columns": {
        "item_id": {"type": "reference", "to": "items", "required": true, "on_delete": "cascade"},
        "text": {"type": "text"}}},
      "likes": {"zone": {"parent": "comment_id"}, "columns": {
        "comment_id": {"type": "reference", "to": "comments", "required": true, "on_delete": "cascade"},
        "stars": {"type": "integer"}}},
      "notes": {"zone": "user", "columns": {"text": {"type": "text"}}},
      "tags": {"zone": {"parent": "note_id"}, "columns": {
        "note_id": {"type": "reference", "to": "notes", "required": true, "on_delete": "cascade"},
        "name": {"type": "text"}}},
      "words": {"zone": {"public": "catalogue"}, "columns": {"word": {"type": "text"}}}
    }}
    """
}

/// What another thread uses while the test only waits for it, or has given it away.
package struct Lent<Value>: @unchecked Sendable {
  package let value: Value

  package init(value: Value) { self.value = value }
}
