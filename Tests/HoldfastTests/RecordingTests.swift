import Foundation
import Testing

@testable import Holdfast

@Suite("Recording local writes")
struct RecordingTests {
  @Test("a transaction becomes one change set with its records whole (I6)")
  func transaction() async throws {
    let fixture = try Fixture()
    try await fixture.store.write { db in
      try db.insert(List(id: IDs.list, title: "Home"))
      try db.insert(Item(id: IDs.item, list_id: IDs.list, title: "Milk", price: 1.5))
      try db.update(Item.self, id: IDs.item) { $0.done = true }
    }
    let sets = try await fixture.outbox()
    #expect(sets.count == 1)
    let operations = try #require(sets.first?.elements)
    #expect(operations.map { $0["op"]?.stringValue } == ["create", "create"])
    #expect(operations.last?["columns"]?["done"] == true)
    #expect(operations.last?["columns"]?["price"] == 1.5)
    #expect(try await fixture.value("SELECT zone FROM items") == .text(IDs.list))
  }

  @Test("a write that throws leaves nothing behind (I6)")
  func rollback() async throws {
    let fixture = try Fixture()
    await #expect(throws: StoreError.self) {
      try await fixture.store.write { db in
        try db.insert(List(id: IDs.list, title: "Home"))
        throw StoreError(.recordMissing, "")
      }
    }
    #expect(try await fixture.store.waitingOperations() == 0)
    #expect(try await fixture.value("SELECT count(*) FROM lists") == .integer(0))
  }

  @Test("a value that the schema forbids throws at the write, and nothing is written")
  func forbidden() async throws {
    let fixture = try Fixture()
    await #expect(throws: Problem.self) {
      try await fixture.store.write {
        try $0.insert(List(id: IDs.list, title: String(repeating: "x", count: 201)))
      }
    }
    #expect(try await fixture.value("SELECT count(*) FROM lists") == .integer(0))
  }

  @Test("a write by another SQLite connection is recorded and sealed like our own (I3)")
  func foreignWriter() async throws {
    let fixture = try Fixture()
    let shell = try SQLiteConnection(path: fixture.path)
    try shell.execute("INSERT INTO lists (title) VALUES ('From the shell')")
    try shell.execute("UPDATE lists SET title = 'Changed there'")
    try await fixture.signIn()
    try await fixture.answer("\"zones\":[]")
    let operation = try #require(try await fixture.outbox().first?.elements?.first)
    #expect(operation["op"] == "create")
    #expect(operation["columns"]?["title"] == "Changed there")
    #expect(Identifier.isValid(operation["id"]?.stringValue ?? ""))
  }

  @Test("many edits of a foreign writer become several change sets that the server takes")
  func foreignBulk() async throws {
    let fixture = try Fixture()
    let shell = try SQLiteConnection(path: fixture.path)
    try shell.execute(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) INSERT INTO lists (title) SELECT 'list ' || i FROM n"
    )
    try await fixture.store.write { _ in }
    #expect(try await fixture.outbox().map { $0.elements?.count } == [1000, 1000, 500])
    #expect(try await fixture.store.waitingOperations() == 2500)
  }

  @Test("created and deleted in one transaction is nothing; deleted and created again is an update")
  func folding() async throws {
    let fixture = try Fixture()
    try await fixture.store.write { db in
      try db.insert(List(id: IDs.list, title: "Home"))
      try db.delete(List.self, id: IDs.list)
    }
    #expect(try await fixture.outbox().isEmpty)
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    try await fixture.store.write { db in
      try db.delete(List.self, id: IDs.list)
      try db.insert(List(id: IDs.list, title: "Again"))
    }
    let last = try #require(try await fixture.outbox().last?.elements)
    #expect(last.map { $0["op"]?.stringValue } == ["update"])
    #expect(last.first?["base"] == ["title": "Home"])
    try await fixture.store.write { db in
      try db.delete(List.self, id: IDs.list)
      try db.insert(List(id: IDs.list, title: "Again"))
    }
    #expect(try await fixture.outbox().count == 2)
    try await fixture.store.undo()
    #expect(try await fixture.value("SELECT title FROM lists") == .text("Home"))
  }

  @Test("an update says the changed columns alone, with their bases and the rev they were based on")
  func update() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange + "," + IDs.itemChange("Milk", rev: 4)))
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "Oat milk" } }
    let operation = try #require(try await fixture.outbox().first?.elements?.first)
    #expect(operation["columns"]?.members?.count == 1)
    #expect(operation["base"]?["title"] == "Milk")
    #expect(operation["rev"] == 4)
  }

  @Test("deleting a list deletes what is under it, in the shell too (I9)")
  func cascade() async throws {
    let fixture = try Fixture()
    try await fixture.store.write { db in
      try db.insert(List(id: IDs.list, title: "Home"))
      try db.insert(Item(id: IDs.item, list_id: IDs.list, title: "Milk"))
    }
    let shell = try SQLiteConnection(path: fixture.path)
    try shell.execute("DELETE FROM lists")
    #expect(try shell.value("SELECT count(*) FROM items")?.integer == 0)
    #expect(try shell.rows("PRAGMA foreign_key_check").isEmpty)
  }

  @Test("a unique value is kept unique for local writes; built-in conflicts can't be written")
  func guards() async throws {
    let fixture = try Fixture()
    try await fixture.store.write { db in
      try db.insert(List(id: IDs.list, title: "Home"))
      try db.insert(Item(id: IDs.item, list_id: IDs.list, title: "Milk"))
    }
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.write { try $0.insert(Item(id: $0.newID(), list_id: IDs.list, title: "Milk")) }
    }
    #expect(error?.code == .uniqueTaken)
    #expect(error?.description.contains("The record \(IDs.item) of items has this title") == true)
    #expect(try await fixture.value("SELECT count(*) FROM items") == 1)
    await #expect(throws: SQLiteError.self) {
      try await fixture.store.write {
        try $0.execute(
          "INSERT INTO conflicts (record_table, record_id, column_name, policy) VALUES ('a','b','c','d')")
      }
    }
  }

  @Test("a file that is not ours, or is newer, is refused and left as it was")
  func foreignFiles() async throws {
    let schema = try #require(Fixture.schema)
    let directory = FileManager.default.temporaryDirectory
    let text = directory.appendingPathComponent("holdfast-\(UUID().uuidString).txt").path
    try Data(repeating: 65, count: 5000).write(to: URL(fileURLWithPath: text))
    let notOurs = #expect(throws: StoreError.self) { try Store(path: text, schema: schema) }
    #expect(notOurs?.code == .notAHoldfastDatabase)
    #expect(try Data(contentsOf: URL(fileURLWithPath: text)) == Data(repeating: 65, count: 5000))

    let fixture = try Fixture()
    try SQLiteConnection(path: fixture.path).execute("PRAGMA user_version = 99")
    let newer = #expect(throws: StoreError.self) { try Store(path: fixture.path, schema: schema) }
    #expect(newer?.code == .databaseIsNewer)
    try FileManager.default.removeItem(atPath: text)

    let nowhere = #expect(throws: StoreError.self) {
      try Store(path: "/no/such/folder/app.db", schema: schema)
    }
    #expect(nowhere?.code == .cannotOpen)
    #expect(nowhere?.description.contains("/no/such/folder/app.db") == true)
  }
}
