import Foundation
import Holdfast
import Testing

@Suite("What the app makes in the file itself")
struct OwnObjectTests {
  private static func schema(_ columns: [ColumnSchema], version: Int64) throws -> SyncSchema {
    try SyncSchema(
      name: "test", tables: [TableSchema("notes", zone: .root, columns: columns)], version: version)
  }

  private static func fixture() throws -> Fixture {
    try Fixture(
      schema: schema(
        [ColumnSchema("title", .text), ColumnSchema("place", .integer), ColumnSchema("old", .text)],
        version: 1))
  }

  private static func make(_ store: Store) async throws {
    try await store.write { db in
      try db.execute("CREATE INDEX notes_by_title ON notes (title)")
      try db.execute("CREATE VIEW titles AS SELECT title FROM notes")
      try db.execute("CREATE TABLE drafts (text TEXT)")
      try db.execute("INSERT INTO drafts VALUES ('mine')")
      try db.execute("INSERT INTO notes (title) VALUES ('a')")
    }
  }

  @Test("indexes, views and tables are kept over a change of the schema, under the new names")
  func kept() async throws {
    let fixture = try Self.fixture()
    try await Self.make(fixture.store)
    await fixture.store.close()
    let newer = try Self.schema(
      [
        ColumnSchema("heading", .text, was: ["title"]), ColumnSchema("place", .integer),
        ColumnSchema("old", .text), ColumnSchema("more", .text),
      ], version: 2)
    let store = try Store(path: fixture.path, schema: newer)
    let (index, view, draft) = try await store.read { db in
      (
        try db.first(String.self, "SELECT sql FROM sqlite_schema WHERE name = 'notes_by_title'"),
        try db.fetch(String.self, "SELECT * FROM titles"),
        try db.fetch(String.self, "SELECT text FROM drafts")
      )
    }
    #expect(index?.contains("heading") == true)
    #expect(view == ["a"])
    #expect(draft == ["mine"])
  }

  @Test(
    "a column that something of the app's uses is not removed; the error names both, and the app can drop it (I3)"
  )
  func refused() async throws {
    let fixture = try Self.fixture()
    try await fixture.store.write { try $0.execute("CREATE INDEX notes_by_old ON notes (old)") }
    await fixture.store.close()
    let newer = try Self.schema([ColumnSchema("title", .text), ColumnSchema("place", .integer)], version: 2)
    let error = #expect(throws: StoreError.self) { try Store(path: fixture.path, schema: newer) }
    #expect(error?.code == .schemaCannotChange)
    #expect(error?.description.contains("notes_by_old") == true)
    let options = StoreOptions(beforeSchemaChange: { try $0.execute("DROP INDEX IF EXISTS notes_by_old") })
    let store = try Store(path: fixture.path, schema: newer, options: options)
    #expect(try await store.read { try $0.fetch(String.self, "SELECT title FROM notes") }.isEmpty)
  }

  @Test("a unique index on a table of the schema is refused, as it would refuse what the server sends (I12)")
  func unique() async throws {
    let fixture = try Self.fixture()
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.write { try $0.execute("CREATE UNIQUE INDEX one ON notes (title)") }
    }
    #expect(error?.code == .foreignObject)
    try await fixture.store.write { db in
      try db.execute("CREATE TABLE own (a TEXT)")
      try db.execute("CREATE UNIQUE INDEX one ON own (a)")
    }
  }

  @Test("what tables of the app keep of a record stays when an edit of it is refused or rebased (I3)")
  func ownRows() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange + "," + IDs.itemChange("Milk")))
    try await fixture.store.write { db in
      try db.execute("CREATE TABLE drafts (item TEXT REFERENCES items (id) ON DELETE CASCADE, text TEXT)")
      try db.execute("INSERT INTO drafts VALUES (\(IDs.item), 'mine')")
      try db.execute("UPDATE items SET title = 'Oat milk'")
    }
    let number = try await fixture.value("SELECT rowid FROM items")
    // The server's change comes under the edit that waits.
    try await fixture.answer(
      IDs.part(IDs.itemChange("Milk", rev: 2, done: true), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.value("SELECT title || done FROM items") == "Oat milk1")
    #expect(try await fixture.value("SELECT text FROM drafts") == "mine")
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT title || done FROM items") == "Milk1")
    #expect(try await fixture.value("SELECT text FROM drafts") == "mine")
    #expect(try await fixture.value("SELECT rowid FROM items") == number)
  }
}
