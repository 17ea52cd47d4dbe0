import Foundation
import HoldfastSQLite
import Testing

@testable import Holdfast

@Suite("Other programs that write on a device's file, with the settings that they have by themselves")
struct ForeignProgramTests {
  /// Notes of one user, whose parts hang on parts, and circles of two tables.
  private static func tree() throws -> SyncSchema {
    func below(_ table: String, required: Bool = false) -> ColumnSchema {
      ColumnSchema(
        "\(table)_id", .reference, required: required, reference: Reference(to: table, onDelete: .cascade))
    }
    let title = ColumnSchema("title", .text)
    return try SyncSchema(
      name: "tree",
      tables: [
        TableSchema("notes", zone: .user, columns: [title]),
        TableSchema(
          "parts", zone: .parent("notes_id"),
          columns: [below("notes", required: true), below("parts"), title]),
        TableSchema("words", zone: .parent("parts_id"), columns: [below("parts", required: true), title]),
        TableSchema(
          "links", zone: .parent("notes_id"),
          columns: [
            below("notes", required: true),
            ColumnSchema("parts_id", .reference, reference: Reference(to: "parts", onDelete: .setNull)),
          ]),
        TableSchema(
          "left", zone: .parent("notes_id"), columns: [below("notes", required: true), below("right")]),
        TableSchema(
          "right", zone: .parent("notes_id"), columns: [below("notes", required: true), below("left")]),
      ])
  }

  /// A store with a list and an item that the server confirmed, under which the test writes.
  private static func list() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange + "," + IDs.itemChange("Milk", rev: 3)))
    return fixture
  }

  private static func sealed(_ fixture: Fixture) async throws -> [JSONValue] {
    try await fixture.store.write { _ in }
    return try await fixture.outbox().flatMap { $0.elements ?? [] }
  }

  @Test(
    "REPLACE without recursive triggers is an update of what differs, and a refusal brings all of it back (I3)",
    arguments: ForeignProgram.here.filter { $0 != .strict })
  func replaced(by program: ForeignProgram) async throws {
    let fixture = try await Self.list()
    try program.run(
      "INSERT OR REPLACE INTO items (id, list_id, title) VALUES ('\(IDs.item)', '\(IDs.list)', 'Theirs')",
      on: fixture.path)
    let operation = try #require(try await Self.sealed(fixture).first)
    #expect(operation["op"] == "update")
    #expect(operation["rev"] == 3)
    #expect(operation["columns"]?.members?.map(\.name) == ["title"])
    #expect(operation["base"]?["title"] == "Milk")
    #expect(try await fixture.value("SELECT zone FROM items") == .text(IDs.list))
    #expect(try await fixture.value("SELECT rev FROM items") == .integer(3))
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT title FROM items") == .text("Milk"))
    #expect(try await fixture.value("SELECT rev FROM items") == .integer(3))
  }

  @Test(
    "a parent that is replaced keeps its children, as it does in the file (I3, I9)",
    arguments: ForeignProgram.here)
  func replacedParent(by program: ForeignProgram) async throws {
    let fixture = try await Self.list()
    try program.run(
      "REPLACE INTO lists (id, title, rev, zone) VALUES ('\(IDs.list)', 'Theirs', 77, 'nowhere')",
      on: fixture.path)
    let operations = try await Self.sealed(fixture).map { $0["op"]?.stringValue }
    // With recursive triggers the deletion is one, and takes what is below along.
    #expect(operations == (program == .strict ? ["update", "delete"] : ["update"]))
    let isKept = try await fixture.value("SELECT count(*) FROM items") == .integer(1)
    #expect(isKept == (program != .strict))
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT title FROM lists") == .text("Home"))
    #expect(try await fixture.value("SELECT zone FROM lists") == .text(IDs.list))
    #expect(try await fixture.value("SELECT rev FROM lists") == .integer(1))
    #expect(try await fixture.value("SELECT title FROM items") == .text("Milk"))
  }

  @Test(
    "what INSERT OR IGNORE passed over leaves nothing that a later statement could take for a replacement (I3)",
    arguments: ForeignProgram.here)
  func ignored(by program: ForeignProgram) async throws {
    let fixture = try await Self.list()
    let row = "items (id, list_id, title) VALUES ('\(IDs.item)', '\(IDs.list)', 'Theirs')"
    try program.run(
      "INSERT OR IGNORE INTO \(row); DELETE FROM items; INSERT INTO \(row)", on: fixture.path)
    #expect(try await Self.sealed(fixture).map { $0["op"]?.stringValue } == ["update"])
    #expect(try await fixture.value("SELECT rev FROM items") == .integer(3))
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT title FROM items") == .text("Milk"))
    #expect(try await fixture.value("SELECT rev FROM items") == .integer(3))
  }

  @Test(
    "what a trigger of the app makes of a row that is replaced has the base that the server knows (I3)",
    arguments: ForeignProgram.here)
  func replacedUnderTrigger(by program: ForeignProgram) async throws {
    let fixture = try await Self.list()
    try SQLiteConnection(path: fixture.path).execute(
      """
      CREATE TRIGGER app AFTER INSERT ON items BEGIN INSERT INTO words (text) VALUES ('seen');
      UPDATE items SET title = title || '!' WHERE id = NEW.id; END
      """)
    try program.run(
      "INSERT OR REPLACE INTO items (id, list_id, title) VALUES ('\(IDs.item)', '\(IDs.list)', 'Theirs')",
      on: fixture.path)
    // It would change what comes back, too, and the store goes on only without it.
    try SQLiteConnection(path: fixture.path).execute("DROP TRIGGER app")
    let operations = try await Self.sealed(fixture)
    #expect(operations.compactMap { $0["op"]?.stringValue }.sorted() == ["create", "update"])
    let update = try #require(operations.first { $0["op"] == "update" })
    #expect(update["columns"]?["title"] == "Theirs!")
    #expect(update["base"]?["title"] == "Milk")
    #expect(update["rev"] == 3)
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT title FROM items") == .text("Milk"))
  }

  @Test("an UPSERT is an update, whether or not it changes anything", arguments: ForeignProgram.here)
  func upserted(by program: ForeignProgram) async throws {
    let fixture = try await Self.list()
    let row = "items (id, list_id, title) VALUES ('\(IDs.item)', '\(IDs.list)', 'Theirs')"
    try program.run(
      "INSERT INTO \(row) ON CONFLICT (id) DO NOTHING; INSERT INTO \(row) ON CONFLICT (id) DO UPDATE SET title = excluded.title",
      on: fixture.path)
    let operations = try await Self.sealed(fixture)
    #expect(operations.map { $0["op"]?.stringValue } == ["update"])
    #expect(operations.first?["base"]?["title"] == "Milk")
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT title FROM items") == .text("Milk"))
  }

  @Test("a row that is made and replaced in one transaction is one create", arguments: ForeignProgram.here)
  func replacedNew(by program: ForeignProgram) async throws {
    let fixture = try await Self.list()
    func row(_ title: String) -> String {
      "INSERT OR REPLACE INTO items (id, list_id, title) VALUES ('\(IDs.other)', '\(IDs.list)', '\(title)')"
    }
    try program.run("\(row("One")); \(row("Two"))", on: fixture.path)
    let operations = try await Self.sealed(fixture)
    #expect(operations.map { $0["op"]?.stringValue } == ["create"])
    #expect(operations.first?["columns"]?["title"] == "Two")
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(1))
  }

  @Test(
    "no program removes or renames a record by SQLite's row numbers, nor writes what Holdfast keeps in a row (I3)",
    arguments: ForeignProgram.here)
  func rows(by program: ForeignProgram) async throws {
    let fixture = try await Self.list()
    try await fixture.answer(
      IDs.part(
        #"{"table":"lists","id":"\#(IDs.other)","rev":1,"seq":4,"columns":{"title":"Other"}}"#,
        from: "0000000a.2", to: "0000000a.4"))
    for statement in [
      "INSERT OR REPLACE INTO lists (rowid, id, title) VALUES (1, 'new', 'New')",
      "INSERT INTO lists (rowid, id, title) VALUES (-1, 'new', 'New')",
      "UPDATE OR REPLACE lists SET rowid = 1 WHERE rowid = 2",
      "UPDATE OR REPLACE lists SET oid = 1 WHERE rowid = 2",
      "UPDATE OR REPLACE lists SET id = '\(IDs.list)'",
      "UPDATE items SET rev = 99", "UPDATE items SET zone = '\(IDs.other)'", "UPDATE items SET rev = 0",
      "INSERT INTO members (id, zone, user, role) VALUES ('m', '\(IDs.list)', 'u', 'editor'); REPLACE INTO members (id, zone, user, role) VALUES ('m', '\(IDs.other)', 'u', 'editor')",
    ] where !(program == .strict && statement.contains("members")) {
      let error = #expect(throws: ForeignProgramError.self, "\(statement)") {
        try program.run(statement, on: fixture.path)
      }
      #expect(error?.message.contains("holdfast: ") == true, "\(statement)")
    }
    // What changes nothing is nobody's concern.
    try program.run("UPDATE items SET zone = zone, rev = rev, title = 'Theirs'", on: fixture.path)
    #expect(try await Self.sealed(fixture).count == 1)
    #expect(try await fixture.value("SELECT count(*) FROM lists") == .integer(2))
  }

  @Test(
    "a deletion takes all that is below it in its own table and in circles, records each, and brings each back (I3, I9)",
    arguments: ForeignProgram.here)
  func cascades(by program: ForeignProgram) async throws {
    let fixture = try Fixture(schema: try Self.tree())
    try await fixture.signIn()
    @Sendable func id(_ table: String, _ number: Int) -> String {
      let sum = table.utf8.reduce(0) { $0 + Int($1) }
      return
        "0193aaaa-0000-7000-8000-\(String(repeating: "0", count: 12 - "\(sum)0\(number)".count))\(sum)0\(number)"
    }
    let note = id("notes", 0)
    try await fixture.store.write { db in
      try db.execute("INSERT INTO notes (id, title) VALUES (?, 'Note')", [.text(note)])
      for number in 1...5 {
        let above: SQLiteValue = number == 1 ? .null : .text(id("parts", number - 1))
        try db.execute(
          "INSERT INTO parts (id, notes_id, parts_id) VALUES (?, ?, ?)",
          [.text(id("parts", number)), .text(note), above])
        try db.execute(
          "INSERT INTO words (id, parts_id) VALUES (?, ?)",
          [.text(id("words", number)), .text(id("parts", number))])
        try db.execute(
          "INSERT INTO links (id, notes_id, parts_id) VALUES (?, ?, ?)",
          [.text(id("links", number)), .text(note), .text(id("parts", number))])
        try db.execute(
          "INSERT INTO \"left\" (id, notes_id, right_id) VALUES (?, ?, ?)",
          [.text(id("left", number)), .text(note), number == 1 ? .null : .text(id("right", number - 1))])
        try db.execute(
          "INSERT INTO \"right\" (id, notes_id, left_id) VALUES (?, ?, ?)",
          [.text(id("right", number)), .text(note), .text(id("left", number))])
      }
    }
    try await fixture.confirm("\"zones\":[]")
    func counts() async throws -> [Int64?] {
      var counts: [Int64?] = []
      for table in ["parts", "words", "left", "right", "links WHERE parts_id IS NOT NULL"] {
        let name = table.hasPrefix("links") ? table : "\"\(table)\""
        counts.append(try await fixture.value("SELECT count(*) FROM \(name)")?.integer)
      }
      return counts
    }
    #expect(try await counts() == [5, 5, 5, 5, 5])
    try program.run(
      "DELETE FROM parts WHERE id = '\(id("parts", 2))'; DELETE FROM \"right\" WHERE id = '\(id("right", 2))'",
      on: fixture.path)
    #expect(try await counts() == [1, 1, 2, 1, 1])
    let kinds = try await Self.sealed(fixture).map { $0["op"]?.stringValue }
    #expect(kinds.count { $0 == "delete" } == 15)
    #expect(kinds.count { $0 == "update" } == 4)
    #expect(try await fixture.value("SELECT count(*) FROM holdfast_cascaded") == .integer(0))
    try await fixture.refuse(try await fixture.first(1))
    #expect(try await counts() == [5, 5, 5, 5, 5])
    #expect(
      try await fixture.value("SELECT parts_id FROM parts WHERE id = '\(id("parts", 5))'")
        == .text(id("parts", 4)))
  }

  @Test("what another program wrote in a public zone is sent, though the app stops to follow the zone (I3)")
  func notFollowed() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.store.follow("dictionary")
    let other = try SQLiteConnection(path: fixture.path, access: .readWrite)
    try other.run("INSERT INTO words (text) VALUES ('mine')")
    other.close()
    try await fixture.store.follow("dictionary", false)
    #expect(try await fixture.value("SELECT count(*) FROM words") == 0)
    let operations = try await fixture.outbox().first?.elements
    #expect(operations?.map { $0["columns"]?["text"] } == ["mine"])
  }
}
