import Foundation
import Testing

@testable import Holdfast

@Suite("Rules that the device's own tables keep")
struct LocalRuleTests {
  /// Notes of one user, whose parts hang on parts.
  private static func tree() throws -> SyncSchema {
    try SyncSchema(
      name: "tree",
      tables: [
        TableSchema(
          "notes", zone: .user, columns: [ColumnSchema("title", .text, required: true)], unique: [["title"]]),
        TableSchema(
          "parts", zone: .parent("note_id"),
          columns: [
            ColumnSchema(
              "note_id", .reference, required: true, reference: Reference(to: "notes", onDelete: .cascade)),
            ColumnSchema("part_id", .reference, reference: Reference(to: "parts", onDelete: .cascade)),
          ]),
      ])
  }
  private static func id(_ number: Int) -> String { "0193aaaa-0000-7000-8000-00000000010\(number)" }
  private static let user = "0193aaaa-0000-7000-8000-00000000000a"

  private static func chain(_ db: Database) throws {
    try db.execute("INSERT INTO notes (id, title) VALUES (?, 'Note')", [.text(id(0))])
    for number in 1...4 {
      try db.execute(
        "INSERT INTO parts (id, note_id, part_id) VALUES (?, ?, ?)",
        [.text(id(number)), .text(id(0)), number == 1 ? .null : .text(id(number - 1))])
    }
  }

  @Test("deleting a record deletes all that is under it in its own table, and records each (I3, I9)")
  func deepCascade() async throws {
    let fixture = try Fixture(schema: try Self.tree())
    try await fixture.signIn()
    try await fixture.store.write { try Self.chain($0) }
    try await fixture.store.write { try $0.execute("DELETE FROM parts WHERE id = ?", [.text(Self.id(1))]) }
    #expect(try await fixture.value("SELECT count(*) FROM parts") == .integer(0))
    try await fixture.refuse(try await fixture.first(2))
    #expect(try await fixture.value("SELECT count(*) FROM parts") == .integer(4))
  }

  @Test("a row that is replaced is an update of what differs, and comes back when that is refused (I3, I7)")
  func replaced() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange + "," + IDs.itemChange("Milk", rev: 3)))
    try await fixture.store.write {
      try $0.execute(
        "INSERT OR REPLACE INTO items (id, list_id, title) VALUES (?, ?, 'Mine')",
        [.text(IDs.item), .text(IDs.list)])
    }
    #expect(try await fixture.outbox().first?.elements?.map { $0["op"]?.stringValue } == ["update"])
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT title FROM items") == .text("Milk"))
    #expect(try await fixture.value("SELECT rev FROM items") == .integer(3))
  }

  @Test(
    "what was made before the first sign-in is in the user's zone after it, and leaves by its tombstones (I8)"
  )
  func beforeSignIn() async throws {
    let fixture = try Fixture(schema: try Self.tree())
    try await fixture.store.write { try Self.chain($0) }
    try await fixture.signIn()
    #expect(try await fixture.value("SELECT count(*) FROM parts WHERE zone = '\(Self.user)'") == .integer(4))
    #expect(try await fixture.value("SELECT zone FROM notes") == .text(Self.user))
    await #expect(throws: StoreError.self) {
      try await fixture.store.write { try $0.execute("INSERT INTO notes (title) VALUES ('Note')") }
    }
    let gone = (0...4).map {
      #"{"table":"\#($0 == 0 ? "notes" : "parts")","id":"\#(Self.id($0))","rev":2,"seq":\#($0 + 9),"deleted":true}"#
    }
    try await fixture.confirm(
      #""zones":[{"zone":"\#(Self.user)","role":"owner","from":"","to":"0000000a.9","more":false,"changes":[\#(gone.joined(separator: ","))]}]"#
    )
    #expect(try await fixture.value("SELECT count(*) FROM notes") == .integer(0))
    #expect(try await fixture.value("SELECT count(*) FROM parts") == .integer(0))
  }

  @Test("a child written before its parent has the parent's zone (I9, I10)")
  func childFirst() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.store.write { db in
      try db.insert(Item(id: IDs.item, list_id: IDs.list, title: "Milk"))
      try db.insert(List(id: IDs.list, title: "Home"))
    }
    #expect(try await fixture.value("SELECT zone FROM items") == .text(IDs.list))
    try await fixture.confirm("\"lost\":[\"\(IDs.list)\"]")
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
  }

  @Test("edits of a foreign writer are kept when the app comes with a larger schema (I3)")
  func extendedWithLooseEdits() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange))
    let shell = try SQLiteConnection(path: fixture.path)
    try shell.execute("INSERT INTO lists (title) VALUES ('From the shell')")
    let larger = try SyncSchema(
      name: "test",
      tables: fixture.store.schema.tables.filter { !$0.isBuiltIn }.map { table in
        var table = table
        if table.name == "lists" { table.columns.append(ColumnSchema("color", .text)) }
        return table
      })
    let store = try Store(path: fixture.path, schema: larger)
    #expect(try await store.waitingOperations() == 1)
    let operation = try #require(try await fixture.outbox().first?.elements?.first)
    #expect(operation["columns"]?["title"] == "From the shell")
    // It was sealed by the schema of before, which has no color.
    #expect(operation["columns"]?["color"] == nil)
  }

  @Test("an id that the server would refuse throws at the write, and nothing is written")
  func wrongID() async throws {
    let fixture = try Fixture()
    let error = await #expect(throws: Problem.self) {
      try await fixture.store.write { try $0.insert(List(id: "A1", title: "Home")) }
    }
    #expect(error?.code == .invalidID)
    #expect(try await fixture.value("SELECT count(*) FROM lists") == .integer(0))
  }

  @Test(
    "a child that a foreign writer made under no parent stops no answer and reaches quarantine (I3, I9, I12)")
  func foreignOrphan() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange))
    try SQLiteConnection(path: fixture.path).execute(
      "INSERT INTO items (id, list_id, title) VALUES ('\(IDs.item)', '\(IDs.other)', 'Lost')")
    try await fixture.answer("\"zones\":[]")
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
    try await fixture.confirm(
      IDs.part(IDs.itemChange("Milk"), from: "0000000a.2", to: "0000000a.3"), refusing: 1)
    #expect(try await fixture.value("SELECT title FROM items") == .text("Milk"))
    #expect(try await fixture.store.quarantined().first?.operations.first?["title"] == "Lost")
  }

  @Test(
    "of three sets on one column the middle one is refused: the last value stays, the first is its base (I3)")
  func middleRefused() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange + "," + IDs.itemChange("0")))
    for title in ["1", "2", "3"] {
      try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = title } }
    }
    try await fixture.refuse(2)
    #expect(try await fixture.value("SELECT title FROM items") == .text("3"))
    try await fixture.refuse(3)
    #expect(try await fixture.value("SELECT title FROM items") == .text("1"))
  }

  @Test("the JSON null is no value of a required column, and is not written")
  func requiredNull() async throws {
    let notes = TableSchema(
      "notes", zone: .root, columns: [ColumnSchema("data", .json, required: true, default: .text("[]"))])
    let fixture = try Fixture(schema: SyncSchema(name: "test", tables: [notes]))
    try await fixture.store.write { try $0.execute("INSERT INTO notes (id) VALUES (\(IDs.list))") }
    for text in ["null", " null "] {
      let problem = await #expect(throws: Problem.self) {
        try await fixture.store.write { try $0.execute("UPDATE notes SET data = \(text)") }
      }
      #expect(problem?.code == .valueMissing)
      await #expect(throws: Problem.self) {
        try await fixture.store.write { try $0.execute("INSERT INTO notes (data) VALUES (\(text))") }
      }
    }
    #expect(try await fixture.value("SELECT group_concat(data) FROM notes") == "[]")
  }

  @Test(
    "a table may have any name but those that a trigger gives its rows",
    arguments: ["below", "here", "names", "new", "old"])
  func tableNames(name: String) async throws {
    let tables = [
      TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text)]),
      TableSchema(
        name, zone: .parent("list_id"),
        columns: [
          ColumnSchema(
            "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade)),
          ColumnSchema("above_id", .reference, reference: Reference(to: name, onDelete: .cascade)),
        ]),
    ]
    if ["new", "old"].contains(name) {
      #expect(throws: SchemaError.self) { try SyncSchema(name: "test", tables: tables) }
      return
    }
    let fixture = try Fixture(schema: SyncSchema(name: "test", tables: tables))
    try await fixture.store.write { db in
      try db.execute("INSERT INTO lists (id) VALUES (\(IDs.list))")
      for (id, above) in [(IDs.item, nil), (IDs.other, IDs.item)] {
        try db.execute(
          "INSERT INTO \(identifier: name) (id, list_id, above_id) VALUES (\(id), \(IDs.list), \(above))")
      }
    }
    try await fixture.store.write { try $0.execute("DELETE FROM \(identifier: name) WHERE id = \(IDs.item)") }
    #expect(try await fixture.outbox().last?.elements?.count == 2)
    try await fixture.store.write { try $0.execute("DELETE FROM lists") }
    #expect(try await fixture.value("SELECT count(*) FROM lists") == 0)
  }

  @Test("a record goes with one of another table that has the same id, and what is below both (I9)")
  func equalIDs() async throws {
    func above(_ name: String, _ table: String, required: Bool = false) -> ColumnSchema {
      ColumnSchema(name, .reference, required: required, reference: Reference(to: table, onDelete: .cascade))
    }
    let schema = try SyncSchema(
      name: "test",
      tables: [
        TableSchema("shelves", zone: .root, columns: [ColumnSchema("title", .text)]),
        TableSchema(
          "folders", zone: .parent("shelf"),
          columns: [above("shelf", "shelves", required: true), above("up", "folders")]),
        TableSchema(
          "notes", zone: .parent("shelf"),
          columns: [
            above("shelf", "shelves", required: true), above("folder", "folders"), above("up", "notes"),
          ]),
      ])
    let fixture = try Fixture(schema: schema)
    try await fixture.store.write { db in
      try db.execute("INSERT INTO shelves (id) VALUES (\(IDs.list))")
      try db.execute("INSERT INTO folders (id, shelf) VALUES (\(IDs.item), \(IDs.list))")
      try db.execute("INSERT INTO folders (id, shelf, up) VALUES (\(IDs.other), \(IDs.list), \(IDs.item))")
      try db.execute("INSERT INTO notes (id, shelf, folder) VALUES (\(IDs.item), \(IDs.list), \(IDs.item))")
    }
    try await fixture.store.write { try $0.execute("DELETE FROM folders WHERE id = \(IDs.item)") }
    #expect(
      try await fixture.value("SELECT (SELECT count(*) FROM folders) || (SELECT count(*) FROM notes)") == "00"
    )
    #expect(try await fixture.outbox().last?.elements?.count == 3)
  }
}
