import Foundation
import Testing

@testable import Holdfast

@Suite("Values that another program leaves in a device's file")
struct ForeignValueTests {
  private static func schema() throws -> SyncSchema {
    try SyncSchema(
      name: "values",
      tables: [
        TableSchema(
          "things", zone: .user,
          columns: [
            ColumnSchema("title", .text, maximumLength: 200),
            ColumnSchema("count", .integer, minimum: 0, maximum: 10), ColumnSchema("price", .real),
            ColumnSchema("done", .boolean), ColumnSchema("at", .timestamp), ColumnSchema("data", .json),
            ColumnSchema("tags", .json, policy: .set),
            ColumnSchema("other_id", .reference, reference: Reference(to: "things", onDelete: .setNull)),
            ColumnSchema("place", .position),
          ])
      ])
  }

  private static let user = "0193aaaa-0000-7000-8000-00000000000a"

  /// A store with two things that the server confirmed.
  private static func things() async throws -> Fixture {
    let fixture = try Fixture(schema: try schema())
    try await fixture.signIn()
    let changes = [IDs.item, IDs.other].enumerated().map {
      #"{"table":"things","id":"\#($0.element)","rev":3,"seq":\#($0.offset + 1),"columns":{"title":"Milk","count":1,"price":1.5,"done":true,"at":"2026-11-21T10:00:00.000Z","data":[1],"tags":["a"],"other_id":null,"place":null}}"#
    }
    try await fixture.answer(
      #""zones":[{"zone":"\#(user)","role":"owner","from":"","to":"0000000a.2","more":false,"remaining":0,"changes":[\#(changes.joined(separator: ","))]}]"#
    )
    return fixture
  }

  private static func nested(_ depth: Int) -> String {
    "'" + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "'"
  }

  /// What no message can carry: column, value in SQL.
  static let unsendable: [(column: String, value: String)] =
    [
      ("title", "x'ff00'"), ("title", "x'4d696c6b'"), ("title", "CAST(x'41ff' AS TEXT)"),
      ("title", "CAST(x'eda080' AS TEXT)"), ("count", "x'31'"), ("price", "9e999"), ("price", "-9e999"),
      ("price", "x''"), ("done", "x'01'"), ("at", "CAST(x'c0' AS TEXT)"), ("data", "'no json'"),
      ("data", "'{\"a\":1,\"a\":2}'"), ("data", "''"), ("data", "x'5b5d'"),
      ("data", "'[1' || char(0) || ']'"),
      ("tags", "'['"), ("other_id", "zeroblob(3)"), ("place", "x'00'"),
      ("title", "printf('%.*c', 9000000, 'x')"),
    ] + [33, 59, 60, 61, 62, 63, 64, 65, 300].map { ("data", nested($0)) }

  /// What the server refuses by name.
  static let refused: [(column: String, value: String)] = [
    ("title", "'a' || char(0) || 'b'"), ("title", "printf('%.*c', 201, 'x')"),
    ("title", "printf('%.*c', 500000, 'x')"), ("count", "'maybe'"), ("count", "1.5"),
    ("count", "9223372036854775808"), ("count", "11"), ("count", "-1"), ("price", "'x'"), ("done", "2"),
    ("done", "'true'"), ("at", "'yesterday'"), ("at", "'2026-13-21T10:00:00.000Z'"), ("tags", "'{\"a\":1}'"),
    ("tags", "'[\"a\",\"a\"]'"), ("other_id", "''"), ("other_id", "printf('%.*c', 65, 'x')"),
    ("place", "'!!'"),
    ("data", "'\"' || printf('%.*c', 100001, 'x') || '\"'"),
  ]

  /// JSON that the server keeps otherwise than it stands in the file, and how: null for NULL.
  static let settled: [(value: String, kept: String?)] = [
    ("' [1] '", "[1]"), ("char(10) || '{\"a\" : 1}' || char(13) || char(9)", "{\"a\" : 1}"), ("'null'", nil),
    ("' null '", nil), ("'\" a \"'", "\" a \""),
  ]

  @Test("JSON is on this device as the server keeps it, and so on all others (I7)", arguments: settled)
  func settles(value: String, kept: String?) async throws {
    let fixture = try await Self.things()
    let insert = "INSERT INTO things (id, data) VALUES ('\(IDs.list)', \(value))"
    try await fixture.store.write { try $0.execute(insert) }
    _ = try await Self.send("data", value, fixture)
    for id in [IDs.item, IDs.list] {
      let stored = try await fixture.value("SELECT data FROM things WHERE id = '\(id)'")
      #expect(stored == kept.map { .text($0) } ?? .null)
    }
  }

  @Test("JSON that differs in white space around it alone is no edit (I7)")
  func sameJSON() async throws {
    let fixture = try await Self.things()
    let sets = try await Self.send("data", "' [1] '", fixture).changeSets
    #expect(sets.map(Self.ids) == [[IDs.other]])
    #expect(try await fixture.value("SELECT data FROM things WHERE id = '\(IDs.item)'") == "[1]")
  }

  /// Writes the value, and something harmless in another record; gives what is sent.
  private static func send(_ column: String, _ value: String, _ fixture: Fixture) async throws -> SyncRequest
  {
    let shell = try SQLiteConnection(path: fixture.path)
    try shell.execute(
      """
      BEGIN; UPDATE things SET "\(column)" = \(value) WHERE id = '\(IDs.item)';
      UPDATE things SET title = 'Mine' WHERE id = '\(IDs.other)'; COMMIT
      """)
    let request = try #require(
      try await fixture.store.writer.perform {
        try RequestPreparation(database: $0).prepare(changeSetLimit: 500)
      })
    return try SyncRequest(body: request.body, operations: OperationReader(schema: fixture.store.schema))
  }

  private static func ids(_ set: ReceivedChangeSet) -> [String] {
    ((try? set.content.get()) ?? []).map(\.id)
  }

  @Test(
    "what can't be sent goes to quarantine by the column's name, alone, and the record is as it was (I3, I12)",
    arguments: unsendable.indices)
  func quarantined(_ index: Int) async throws {
    let (column, value) = Self.unsendable[index]
    let fixture = try await Self.things()
    let before = try await fixture.value(
      "SELECT json_array(title, count, price, done, at, data, tags) FROM things WHERE id = '\(IDs.item)'")
    let sets = try await Self.send(column, value, fixture).changeSets
    #expect(sets.map(Self.ids) == [[IDs.other]])
    let quarantined = try await fixture.store.quarantined()
    #expect(quarantined.count == 1)
    #expect(quarantined.first?.operations.map(\.id) == [IDs.item])
    let problem = try #require(quarantined.first?.problem)
    #expect([.invalidValue, .valueTooLong].contains(problem.code))
    if value.count < 1000, !value.contains("9000000") { #expect(problem.detail.contains(column)) }
    let after = try await fixture.value(
      "SELECT json_array(title, count, price, done, at, data, tags) FROM things WHERE id = '\(IDs.item)'")
    #expect(before == after)
    #expect(
      try await fixture.value("SELECT count(*) FROM holdfast_edits WHERE change_set = 0") == .integer(0))
  }

  @Test(
    "what the server refuses by name is a set of its own, and takes nothing along (I3, I12)",
    arguments: refused.indices)
  func sentAlone(_ index: Int) async throws {
    let (column, value) = Self.refused[index]
    let fixture = try await Self.things()
    let sets = try await Self.send(column, value, fixture).changeSets
    #expect(sets.count == 2)
    #expect(throws: RefusedOperation.self) { try sets.first?.content.get() }
    #expect(sets.last.map(Self.ids) == [IDs.other])
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT title FROM things WHERE id = '\(IDs.item)'") == "Milk")
  }

  @Test("a value that can't be sent is kept in quarantine to the byte, and can be amended (I3)")
  func amended() async throws {
    let fixture = try await Self.things()
    _ = try await Self.send("title", "x'4dff'", fixture)
    let set = try #require(try await fixture.store.quarantined().first)
    #expect(set.operations.first?["title"]?["base64"] == "Tf8=")
    await #expect(throws: StoreError.self) { try await fixture.store.resend(set.number) }
    try await fixture.store.resend(set.number) { $0[0]["title"] = "Amended" }
    #expect(try await fixture.value("SELECT title FROM things WHERE id = '\(IDs.item)'") == "Amended")
  }

  @Test(
    "the library's own transactions throw for such values, and write nothing", arguments: unsendable.indices)
  func own(_ index: Int) async throws {
    let (column, value) = Self.unsendable[index]
    let fixture = try await Self.things()
    await #expect(throws: (any Error).self) {
      try await fixture.store.write { try $0.execute("UPDATE things SET \"\(column)\" = \(value)") }
    }
    #expect(try await fixture.outbox().isEmpty)
  }

  @Test("a child of a record that can't be sent is not lost with it (I3, I9)")
  func child() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let shell = try SQLiteConnection(path: fixture.path)
    try shell.execute(
      """
      BEGIN; INSERT INTO items (id, list_id, title) VALUES ('\(IDs.item)', '\(IDs.list)', 'Milk');
      INSERT INTO lists (id, title) VALUES ('\(IDs.list)', x'ff'); COMMIT
      """)
    try await fixture.store.write { _ in }
    #expect(try await fixture.store.quarantined().map { $0.operations.map(\.id) } == [[IDs.list]])
    #expect(try await fixture.outbox().count == 1)
    let first = try await fixture.first(1)
    let body =
      #"{"clock":"0193aaaa00000000","confirmed":\#(first),"chain":"\#(try await fixture.store.writer.perform { try $0.state().chain.text })","refused":[{"first":\#(first),"last":\#(first),"operation":\#(first),"problem":{"code":"reference-missing"}}]}"#
    _ = try await fixture.answer(body: Fixture.whole(body))
    let sets = try await fixture.store.quarantined()
    #expect(sets.map(\.because) == [nil, sets.first?.number])
  }

  @Test("an id that is no plain text is refused at the write", arguments: ForeignProgram.here)
  func ids(by program: ForeignProgram) throws {
    let fixture = try Fixture()
    for id in [
      "x'ff'", "''", "'é'", "'a' || char(0)", "CAST(x'ff' AS TEXT)", "printf('%.*c', 65, 'x')", "x'41'",
    ] {
      let error = #expect(throws: ForeignProgramError.self, "\(id)") {
        try program.run("INSERT INTO lists (id, title) VALUES (\(id), 'List')", on: fixture.path)
      }
      #expect(error?.message.contains("holdfast: an id is a text") == true, "\(id)")
    }
  }
}
