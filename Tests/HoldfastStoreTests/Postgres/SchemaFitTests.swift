import HoldfastCore
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// What is said of a start before it, on databases with a team's tables: it is what the start then does.
@Suite struct SchemaFitTests {
  private let url: String
  private let sql: SQLWriter
  private let location: DatabaseLocation

  init() throws {
    url = try TemporaryPostgres.shared.makeDatabase()
    sql = try SQLWriter(url: url)
    location = .postgres(PostgresLocation(url))
    try sql.run(
      "CREATE TABLE lists (id uuid PRIMARY KEY, title text); CREATE TABLE other (id uuid PRIMARY KEY, n int)")
    try Adoption(PostgresLocation(url)).apply(Self.schema())
  }

  private static func schema(_ columns: String = "", _ tables: String = "") throws -> SyncSchema {
    let text = """
      {"holdfast": 1, "name": "team", "tables": {
        "lists": {"zone": "root", "columns": {"\(columns.isEmpty ? "title\": {\"type\": \"text\"}" : columns)}}\(tables)}}
      """
    return try SyncSchema(json: Array(text.utf8))
  }

  /// Checks that the report, the check and the start agree.
  ///
  /// - Parameter reason: a part of the reason against the start; nil if it works.
  private func expect(_ schema: SyncSchema, _ verdict: SchemaReport.Verdict, _ reason: String? = nil) throws {
    let report = try location.report(of: schema)
    #expect(report.verdict == verdict)
    let check = { try Server.check(Configuration(schema: schema, database: location)).joined() }
    let start = { _ = try TestServer(adopted: url, schema) }
    guard let reason else {
      #expect(try check().contains(report.verdict == .none ? "has this schema" : report.text))
      #expect(throws: Never.self) { try start() }
      return
    }
    #expect(report.text.contains(reason))
    #expect(throws: ServerError.self) { try check() }
    #expect(throws: ServerError.self) { try start() }
  }

  @Test("a column that a team's table lacks is a reason against the start, until the team adds it")
  func addedColumn() throws {
    let schema = try Self.schema(#"title": {"type": "text"}, "note": {"type": "text"}"#)
    try expect(schema, .impossible, "has no such column; add it")
    try sql.run("ALTER TABLE lists ADD COLUMN note text")
    #expect(try !location.report(of: schema).text.contains("Server: adds it"))
    try expect(schema, .safe)
  }

  @Test("a new name of a team's column is a reason against the start, until the team renames it")
  func renamedColumn() throws {
    let schema = try Self.schema(#"heading": {"type": "text", "was": ["title"]}"#)
    try expect(schema, .impossible, "tables.lists.columns.heading")
    try sql.run("ALTER TABLE lists RENAME COLUMN title TO heading")
    #expect(try !location.report(of: schema).text.contains("ALTER TABLE"))
    try expect(schema, .safe)
  }

  @Test("a new table is made, also with references to a team's, unless the database has one of its name")
  func newTable() throws {
    let marks =
      #", "marks": {"zone": {"parent": "list_id"}, "columns": {"list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"}}}"#
    let other = #", "other": {"zone": "root", "columns": {"n": {"type": "integer"}}}"#
    try expect(Self.schema("", other), .impossible, "has a table other already")
    try expect(Self.schema("", marks), .safe)
    try expect(Self.schema("", marks), .none)
  }

  @Test("a table of the schema in a database without Holdfast is a reason against the start")
  func taken() throws {
    try Adoption(PostgresLocation(url)).remove()
    let schema = try Self.schema()
    let error = #expect(throws: ServerError.self) {
      try Server.check(Configuration(schema: schema, database: location))
    }
    #expect(error?.description.contains("has a table lists already") == true)
    #expect(throws: ServerError.self) { try TestServer(adopted: url, schema) }
    try sql.run("DROP TABLE lists")
    #expect(try Server.check(Configuration(schema: schema, database: location)).count == 1)
  }

  @Test("a column that somebody dropped from a table that Holdfast made is a reason against the start")
  func droppedColumn() throws {
    let marks = #", "marks": {"zone": "root", "columns": {"a": {"type": "text"}}}"#
    try expect(Self.schema("", marks), .safe)
    try sql.run("ALTER TABLE marks DROP COLUMN a")
    let more = #", "marks": {"zone": "root", "columns": {"a": {"type": "text"}, "b": {"type": "text"}}}"#
    try expect(Self.schema("", more), .impossible, "tables.marks.columns.a")
  }
}
