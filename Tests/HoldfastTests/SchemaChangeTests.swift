import Foundation
import Testing

@testable import Holdfast

@Suite("A newer schema on an older database")
struct SchemaChangeTests {
  private func schema(_ columns: [ColumnSchema], and tables: [TableSchema] = []) throws -> SyncSchema {
    try SyncSchema(
      name: "test",
      tables: [TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text)] + columns)] + tables)
  }

  @Test(
    "gets the new columns and tables, and keeps records and unsent edits, also those of a foreign writer (I3)"
  )
  func additions() async throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent(
      "holdfast-\(UUID().uuidString).db"
    ).path
    defer {
      for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }
    _ = try Store(path: path, schema: try schema([]))
    try SQLiteConnection(path: path).execute("INSERT INTO lists (title) VALUES ('from the shell')")
    let newer = try schema(
      [
        ColumnSchema("color", .text, default: .text("red")),
        ColumnSchema("note_id", .reference, reference: Reference(to: "notes")),
      ],
      and: [TableSchema("notes", zone: .user, columns: [ColumnSchema("text", .text)])])
    let store = try Store(path: path, schema: newer)
    #expect(try await store.waitingOperations() == 1)
    let rows = try await store.read { try $0.rows("SELECT title, color FROM lists").rows }
    #expect(rows == [[.text("from the shell"), .text("red")]])
    try await store.write { try $0.execute("UPDATE lists SET color = 'blue'") }
    #expect(try await store.waitingOperations() == 2)
  }

  @Test("is refused where it can't be followed, and the database stays as it was")
  func refused() async throws {
    let fixture = try Fixture()
    let other = try SyncSchema(
      name: "test", tables: [TableSchema("lists", zone: .user, columns: [ColumnSchema("title", .text)])])
    let error = #expect(throws: StoreError.self) { try Store(path: fixture.path, schema: other) }
    #expect(error?.code == .schemaCannotChange)
    #expect(error?.description.contains("tables.lists.zone") == true)
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
  }

  @Test(
    "has a column of the same name that was removed and made anew in a version that this device has skipped (I3)"
  )
  func replaced() async throws {
    let fixture = try Fixture()
    try await fixture.store.write { db in
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Home')", [.text(IDs.list)])
      try db.execute(
        "INSERT INTO items (id, list_id, title, done) VALUES (?, ?, 'Milk', 1)",
        [.text(IDs.item), .text(IDs.list)])
    }
    let old = try #require(Fixture.schema)
    let tables = old.tables.filter { !$0.isBuiltIn }.map { table in
      TableSchema(
        table.name, zone: table.zone,
        columns: table.columns.map {
          $0.name == "done" ? ColumnSchema("done", .text, default: .text("no")) : $0
        }, unique: table.unique)
    }
    let store = try Store(path: fixture.path, schema: try SyncSchema(name: "test", tables: tables))
    let rows = try await store.read { try $0.rows("SELECT title, done FROM items").rows }
    #expect(rows == [[.text("Milk"), .text("no")]])
    // What was typed before waits as it was.
    #expect(try await store.waitingOperations() == 2)
    try await store.write { try $0.execute("UPDATE items SET done = 'yes'") }
    #expect(try await store.waitingOperations() == 3)
  }

  @Test(
    "has its tables and columns by other names, with unsent edits; what goes is gone, and the sets that edit it still wait (I3)"
  )
  func renamedAndRemoved() async throws {
    let fixture = try Fixture()
    try await fixture.store.write { db in
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Home')", [.text(IDs.list)])
      try db.execute(
        "INSERT INTO items (id, list_id, title, price) VALUES (?, ?, 'Milk', 1.5)",
        [.text(IDs.item), .text(IDs.list)])
    }
    // Of another program, not sealed yet.
    try SQLiteConnection(path: fixture.path).execute("UPDATE items SET price = 2.5, done = 1")
    let schema = try SyncSchema(
      name: "test",
      tables: [
        TableSchema(
          "lists", zone: .root, columns: [ColumnSchema("title", .text, required: true, maximumLength: 200)]),
        TableSchema(
          "entries", zone: .parent("list_id"),
          columns: [
            ColumnSchema(
              "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade)),
            ColumnSchema("heading", .text, required: true, maximumLength: 200, was: ["title"]),
            ColumnSchema("done", .boolean, required: true, default: .integer(0)),
            ColumnSchema("after_id", .reference, reference: Reference(to: "entries", onDelete: .setNull)),
          ], unique: [["heading"]], was: ["items"]),
      ])
    let store = try Store(path: fixture.path, schema: schema)
    let rows = try await store.read { try $0.rows("SELECT heading, done FROM entries").rows }
    #expect(rows == [[.text("Milk"), .integer(1)]])
    #expect(try await store.waitingOperations() == 3)
    try await store.write { try $0.execute("UPDATE entries SET heading = 'Soy'") }
    let sets = try await store.writer.perform { local in
      try local.connection.rows("SELECT body FROM holdfast_outbox ORDER BY first").map {
        String(decoding: $0[0].blob ?? [], as: UTF8.self)
      }
    }
    #expect(sets.count == 3)
    #expect(sets[1].contains("price") && sets[1].contains("\"items\""))
    #expect(sets[2].contains("heading") && sets[2].contains("\"entries\""))
    #expect(try await store.check().isSound)
  }
}
