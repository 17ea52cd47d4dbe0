import Foundation
import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import HoldfastSQLite
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastPostgresStore
@testable import HoldfastSQLiteStore
@testable import HoldfastServer

/// What both engines do for a query of an index, by their own word.
@Suite("Plans of queries of an index")
struct PlanTests {
  /// Queries, and the end of the name of the index that must answer each.
  static let queries = [
    ("where.flag=true&where.amount.gte=3", "by_flag-amount"), ("where.flag.in=true,false", "by_flag-amount"),
    ("where.word.prefix=ab", "by_word"), ("where.word=ab", "by_word"),
    ("where.amount.null=true", "by_amount"),
    ("where.ratio.gt=1", "by_ratio"), ("where.at.lt=2026-01-01T00:00:00.000Z", "by_at"),
    ("where.list_id=x", "of_list_id"), ("where.code=x", "unique_0"), ("where.ratio.null=false", "by_ratio"),
  ]

  private static func query(_ text: String, _ schema: SyncSchema) throws -> RecordQuery {
    let table = try #require(schema.index(of: "things"))
    return try RecordQuery(
      QueryParameters(HTTPRequest(target: "/v1/tables/things?\(text)")), of: table, in: schema)
  }

  private static let zones = (0..<1000).map { "zone\($0)" }

  @Test("SQLite looks each zone of a thousand up in the index", arguments: queries)
  func sqlite(_ text: String, index: String) throws {
    let schema = try IndexSchema.schema()
    let server = try TestServer(schema, engine: .sqlite)
    let statement = SQLiteQueryStatement(
      try Self.query(text, schema), in: schema, limit: 250_000)
    let plan = try server.connection.rows(
      "EXPLAIN QUERY PLAN " + statement.sql,
      Array(repeating: .null, count: statement.values.count + 1)
    ).compactMap { $0[3].text }
    let search = try #require(plan.first { $0.hasPrefix("SEARCH t USING") })
    #expect(search.contains("\(index) ("))
    if index != "of_list_id" { #expect(search.contains("zone=?")) }
    let columns = text.split(separator: "&").count
    #expect(search.matches(of: /[=<>]\?/).count > (index == "of_list_id" ? 0 : columns - 1))
    #expect(!plan.contains { $0.contains("SCAN t") })
  }

  @Test("PostgreSQL looks each zone of a thousand up in the index")
  func postgres() throws {
    let schema = try IndexSchema.schema()
    let location = PostgresLocation(try TemporaryPostgres.shared.makeDatabase())
    let opened = try PostgresOpening.open(location, schema: schema) { [UInt8](repeating: 1, count: $0) }
    let connection = try PostgresConnection(location.url)
    try connection.execute("SET holdfast.service = 'on'")
    try connection.execute(
      """
      INSERT INTO lists (id, zone, title) SELECT 'zone' || n, 'zone' || n, 'x' FROM generate_series(0, 999) n;
      INSERT INTO things (id, zone, list_id, flag, amount, ratio, word, at, code)
      SELECT 't' || n, 'zone' || n % 1000, 'zone' || n % 1000, CASE n % 20 WHEN 0 THEN true WHEN 1 THEN false END,
        n % 50, CASE WHEN n % 77 = 0 THEN n END, 'w' || n % 99,
        '2026-01-01T00:00:00.000Z', n FROM generate_series(0, 29999) n;
      ANALYZE things
      """)
    try location.prepare(connection)
    for (text, index) in Self.queries {
      let query = try Self.query(text, schema)
      let statement = PostgresQueryStatement(
        query, schema.tables[query.table], opened.layout.relations[query.table], zones: Self.zones,
        limit: 250_000)
      let rows = try connection.queryOnce(
        PostgresStatement("EXPLAIN " + statement.statement.sql), statement.parameters)
      let plan = rows.indices.map { rows.text($0, 0) }.joined(separator: "\n")
      #expect(plan.contains(index), "\(text): \(plan.prefix(300))")
      #expect(!plan.contains("Seq Scan on things"), "\(text): \(plan.prefix(300))")
    }
  }
}
