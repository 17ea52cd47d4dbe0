import Foundation
import HoldfastCore
import HoldfastPostgres
import HoldfastSQLite
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastPostgresStore
@testable import HoldfastSQLiteStore
@testable import HoldfastServer

@Suite("Indexes of lists")
struct ListIndexTests {
  private static func schema(within: Bool) throws -> SyncSchema {
    try SyncSchema(
      json: Array(
        (within ? ListServer.schema : ListServer.schema.replacing(#", "within": "group_id""#, with: "")).utf8)
    )
  }

  @Test("a database whose lists become others has the new index and works on; the old one is gone")
  func extended() throws {
    let server = try TestServer(Self.schema(within: false))
    let alice = RestClient(try server.signUp("alice"))
    let board = try alice.create("boards", ["title": "Board"])
    let one = try alice.create("cards", ListServer.card(board, nil, ["at": "last"]))
    func indexes() throws -> [Int64?] {
      try ["board_id", "group_id"].map { name in
        let index = "holdfast_cards_by_\(name)-position-id"
        return try server.integer(
          "SELECT count(*) FROM sqlite_schema WHERE name = '\(index)'",
          "SELECT count(*) FROM pg_class WHERE relname = '\(index)'")
      }
    }
    #expect(try indexes() == [1, 0])
    try server.reopen(Self.schema(within: true))
    #expect(try indexes() == [0, 1])
    let two = try alice.create("cards", ListServer.card(board, nil, ["after": .string(one)]))
    let ranked = try alice.get("/v1/tables/cards/\(two)?rank=position")
    #expect(ranked.json["rank"] == 2)
    #expect(try server.findings().isEmpty)
  }

  @Test("SQLite reads neighbours and ranks as ranges of the index alone")
  func sqlitePlans() throws {
    let schema = try Self.schema(within: true)
    let server = try TestServer(schema, engine: .sqlite)
    for (table, parent) in [("cards", Value.text("g")), ("cards", .null), ("marks", .null)] {
      let list = try Self.list(table, parent, schema)
      let definition = schema.tables[list.table]
      for sql in [
        SQLiteTables.positions(.before, in: list, of: definition),
        SQLiteTables.positions(.after, in: list, of: definition),
        SQLiteTables.ranks(in: list, of: definition),
      ] {
        let plan = try server.connection.rows(
          "EXPLAIN QUERY PLAN " + sql,
          Array(repeating: .null, count: list.parent == nil ? (sql.contains("?3") ? 3 : 2) : 4)
        ).compactMap { $0[3].text }
        let search = plan.filter { $0.hasPrefix("SEARCH \(table) USING COVERING INDEX") }
        #expect(search.count == 1 && search[0].contains("position"), "\(plan)")
        #expect(!plan.contains { $0.contains("SCAN \(table)") || $0.contains("TEMP B-TREE") }, "\(plan)")
      }
    }
  }

  @Test("PostgreSQL reads neighbours and ranks by the index, also of adopted tables")
  func postgresPlans() throws {
    let schema = try Self.schema(within: true)
    let location = PostgresLocation(try TemporaryPostgres.shared.makeDatabase())
    let opened = try PostgresOpening.open(location, schema: schema) { [UInt8](repeating: 1, count: $0) }
    let connection = try PostgresConnection(location.url)
    try connection.execute(
      """
      SET holdfast.service = 'on';
      INSERT INTO boards (id, zone, title) VALUES ('z', 'z', 'x');
      INSERT INTO groups (id, zone, board_id) SELECT 'g' || n, 'z', 'z' FROM generate_series(0, 9) n;
      INSERT INTO cards (id, zone, board_id, group_id, position)
      SELECT 'c' || n, 'z', 'z', 'g' || n % 10, 'p' || n FROM generate_series(0, 19999) n;
      INSERT INTO marks (id, zone, position) SELECT 'm' || n, 'z' || n % 10, 'p' || n FROM generate_series(0, 19999) n;
      ANALYZE cards; ANALYZE marks
      """)
    try location.prepare(connection)
    for (table, parent) in [("cards", Value.text("g1")), ("marks", .null)] {
      let list = try Self.list(table, parent, schema)
      let statements = PostgresListStatements(list: list, relation: opened.layout.relations[list.table])
      let first = PostgresParameters("z", "p5", Int64(2))
      for side in [RecordList.Side.before, .after] {
        try Self.expect(
          "holdfast_\(table)_by_", statements.near(side), statements.parameters(first), connection)
      }
      var wanted = PostgresParameters("z")
      wanted.append(array: ["c1", "m1"])
      try Self.expect("holdfast_\(table)_by_", statements.ranks, statements.parameters(wanted), connection)
    }
  }

  @Test("an adopted table has places and ranks, and an index where a list is that of a reference")
  func adopted() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let sql = try PostgresConnection(url)
    try sql.execute(
      """
      CREATE TABLE lists (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), title text);
      CREATE TABLE items (id uuid PRIMARY KEY, list_id uuid NOT NULL REFERENCES lists ON DELETE CASCADE,
        place varchar(2000) NOT NULL);
      """)
    let schema = try SyncSchema(
      name: "team",
      tables: [
        TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text)]),
        TableSchema(
          "items", zone: .parent("list_id"),
          columns: [
            ColumnSchema(
              "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade)),
            ColumnSchema("place", .position, required: true),
          ]),
      ])
    try Adoption(PostgresLocation(url)).apply(schema)
    let server = try TestServer(adopted: url, schema)
    let alice = RestClient(try server.signUp("alice"))
    let list = try alice.create("lists", ["title": "List"])
    func item(_ place: JSONValue) throws -> String {
      try alice.create("items", ["list_id": .string(list), "place": place])
    }
    let ids = try [item(["at": "last"]), item(["at": "first"])]
    let middle = try item(["after": .string(ids[1])])
    for (rank, id) in [ids[1], middle, ids[0]].enumerated() {
      #expect(try alice.get("/v1/tables/items/\(id)?rank=place").json["rank"] == .integer(Int64(rank + 1)))
    }
    let made = try sql.query(
      "SELECT count(*) FROM pg_class WHERE relname = 'holdfast_items_by_list_id-place-id'")
    #expect(made.int64(0, 0) == 1)
    #expect(try server.findings().isEmpty)
  }

  private static func list(_ table: String, _ parent: Value, _ schema: SyncSchema) throws -> RecordList {
    let index = try #require(schema.index(of: table))
    let position = try #require(schema.tables[index].index(of: "position"))
    var values = [Value](repeating: .null, count: schema.tables[index].columns.count)
    if let column = schema.tables[index].list(of: position) { values[column] = parent }
    return RecordList(position, of: index, zone: "z", values: values, in: schema)
  }

  private static func expect(
    _ index: String, _ statement: PostgresStatement, _ parameters: PostgresParameters?,
    _ connection: PostgresConnection
  ) throws {
    let rows = try connection.queryOnce(
      PostgresStatement("EXPLAIN " + statement.sql), try #require(parameters))
    let plan = rows.indices.map { rows.text($0, 0) }.joined(separator: "\n")
    #expect(plan.contains(index), "\(plan.prefix(500))")
    #expect(!plan.contains("Seq Scan"), "\(plan.prefix(500))")
  }
}
