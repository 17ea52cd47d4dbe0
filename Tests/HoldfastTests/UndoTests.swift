import Foundation
import Testing

@testable import Holdfast

@Suite("Undo")
struct UndoTests {
  private static let second = "0193aaaa-0000-7000-8000-000000000012"

  /// A device with a list and an item called "Milk" from the server.
  private static func downloaded() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange + "," + IDs.itemChange("Milk")))
    return fixture
  }

  private static func item(_ fixture: Fixture, _ id: String = IDs.item) async throws -> Item? {
    try await fixture.store.read { try $0.find(Item.self, id: id) }
  }

  @Test("an update goes back, sent or not, as a change set of its own, and the undo can be undone (I1)")
  func update() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "Oat" } }
    let first = try await fixture.store.undo()
    #expect(first.undone == [.init(kind: .update, table: "items", id: IDs.item, column: "title")])
    #expect(first.left.isEmpty)
    #expect(try await Self.item(fixture)?.title == "Milk")
    #expect(try await fixture.outbox().count == 2)
    let history = try await fixture.store.undoable()
    #expect(history.map(\.undoes) == [first.number, nil])
    try await fixture.confirm("\"zones\":[]")
    try await fixture.store.undo(history[0].number)
    #expect(try await Self.item(fixture)?.title == "Oat")
    #expect(try await fixture.outbox().first?.elements?.first?["columns"] == ["title": "Oat"])
    // The redo made the first one stand again.
    try await fixture.store.undo()
    #expect(try await Self.item(fixture)?.title == "Milk")
  }

  @Test("JSON that was written with space around it goes back, too")
  func json() async throws {
    let notes = TableSchema("notes", zone: .root, columns: [ColumnSchema("data", .json)])
    let fixture = try Fixture(schema: SyncSchema(name: "test", tables: [notes]))
    try await fixture.store.write { db in
      try db.execute("INSERT INTO notes (id, data) VALUES (?, '[1]')", [.text(db.newID())])
    }
    for padded in [" [2] ", " null"] {
      try await fixture.store.write { try $0.execute("UPDATE notes SET data = ?", [.text(padded)]) }
      let undone = try await fixture.store.undo()
      #expect(undone.left.isEmpty)
      let data = try await fixture.store.writer.perform {
        try $0.connection.value("SELECT data FROM notes")?.text
      }
      #expect(data == "[1]")
    }
  }

  @Test("undo after undo goes further back, and ends")
  func stack() async throws {
    let fixture = try await Self.downloaded()
    for title in ["one", "two", "three"] {
      try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = title } }
    }
    for title in ["two", "one", "Milk"] {
      try await fixture.store.undo()
      #expect(try await Self.item(fixture)?.title == title)
    }
    let error = await #expect(throws: StoreError.self) { try await fixture.store.undo() }
    #expect(error?.code == .nothingToUndo)
    await #expect(throws: StoreError.self) { try await fixture.store.undo(99) }
  }

  @Test("a transaction of which nothing is left to undo does not stand in the way of the one before")
  func passedOver() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.done = true } }
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "Oat" } }
    try await fixture.confirm(
      IDs.part(IDs.itemChange("Theirs", rev: 4, done: true), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.store.undo().undone.isEmpty)
    #expect(try await fixture.store.undo().undone.map(\.column) == ["done"])
    #expect(try await fixture.store.undoable().map(\.undoes) == [1, nil, nil])
  }

  @Test("a column that somebody changed since stays, the others go back (I3)")
  func changedSince() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { db in
      try db.update(Item.self, id: IDs.item) { ($0.title, $0.done) = ("Oat", true) }
    }
    try await fixture.confirm(
      IDs.part(IDs.itemChange("Theirs", rev: 3, done: true), from: "0000000a.2", to: "0000000a.3"))
    let result = try await fixture.store.undo()
    #expect(result.undone.map(\.column) == ["done"])
    #expect(result.left.map(\.reason) == [.changed])
    #expect(try await Self.item(fixture) == Item(id: IDs.item, list_id: IDs.list, title: "Theirs"))
  }

  @Test("a counter goes back by its step, a set by what was added and taken (I7)")
  func combining() async throws {
    let fixture = try Fixture(schema: try CombiningTests.schema())
    try await fixture.signIn()
    try await fixture.answer(IDs.part(CombiningTests.list(1, amount: "5", tags: #"["a"]"#)))
    try await fixture.store.write { try $0.execute(#"UPDATE lists SET amount = 8, tags = '["b"]'"#) }
    try await fixture.confirm(
      IDs.part(
        CombiningTests.list(3, amount: "20", tags: #"["b","c"]"#), from: "0000000a.2", to: "0000000a.3"))
    let result = try await fixture.store.undo()
    #expect(result.left.isEmpty)
    #expect(try await fixture.value("SELECT amount FROM lists") == 17)
    #expect(try await fixture.value("SELECT tags FROM lists") == #"["a","c"]"#)
  }

  @Test("what was created goes, unless somebody changed it or something else refers to it (I9)")
  func create() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { db in
      try db.insert(List(id: IDs.other, title: "Work"))
      try db.insert(Item(id: Self.second, list_id: IDs.other, title: "Bread"))
    }
    let number = try #require(try await fixture.store.undoable().first?.number)
    try await fixture.store.undo(number)
    #expect(try await fixture.value("SELECT count(*) FROM lists") == 1)
    try await fixture.store.undo(try #require(try await fixture.store.undoable().first?.number))
    #expect(try await fixture.value("SELECT count(*) FROM items") == 2)

    // The item has another title by now, so it stays, and so does its list.
    try await fixture.store.write { try $0.update(Item.self, id: Self.second) { $0.title = "Rye" } }
    var result = try await fixture.store.undo(number)
    #expect(result.undone.isEmpty)
    #expect(Set(result.left.map(\.reason)) == [.changed, .referred])
    // An item that the transaction did not make hangs on the list.
    try await fixture.store.write { try $0.update(Item.self, id: Self.second) { $0.title = "Bread" } }
    try await fixture.store.write { try $0.insert(Item(id: $0.newID(), list_id: IDs.other, title: "New")) }
    result = try await fixture.store.undo(number)
    #expect(result.undone.map(\.id) == [Self.second])
    #expect(result.left.map(\.reason) == [.referred])
    #expect(try await fixture.value("SELECT count(*) FROM lists") == 2)
  }

  @Test("a deleted record comes back with its id and columns, and with it what went along (I8, I9)")
  func delete() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { db in
      try db.execute(
        "INSERT INTO items (id, list_id, title, price, after_id) VALUES (?, ?, 'Bread', 2.0, ?)",
        [.text(Self.second), .text(IDs.list), .text(IDs.item)])
      try db.execute("UPDATE items SET after_id = ? WHERE id = ?", [.text(Self.second), .text(IDs.item)])
    }
    let before = try await fixture.store.read {
      try $0.rows("SELECT * FROM items ORDER BY id").rows.map { $0.dropFirst(3) }
    }
    try await fixture.store.write { try $0.delete(List.self, id: IDs.list) }
    #expect(try await fixture.value("SELECT count(*) FROM items") == 0)
    let result = try await fixture.store.undo()
    #expect(result.left.isEmpty && result.undone.count == 3)
    let after = try await fixture.store.read {
      try $0.rows("SELECT * FROM items ORDER BY id").rows.map { $0.dropFirst(3) }
    }
    #expect(after == before)
    #expect(try await fixture.value("SELECT count(*) FROM items WHERE zone = '\(IDs.list)'") == 2)
    let operations = try #require(try await fixture.outbox().last?.elements)
    #expect(operations.allSatisfy { $0["op"] == "create" } && operations.count == 3)
    #expect(try await fixture.store.check().isSound)
  }

  @Test("a deleted record does not come back without its parent, or where its value is taken (I9)")
  func deleteForGood() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { try $0.delete(Item.self, id: IDs.item) }
    let number = try #require(try await fixture.store.undoable().first?.number)
    try await fixture.store.write { try $0.insert(Item(id: Self.second, list_id: IDs.list, title: "Milk")) }
    #expect(try await fixture.store.undo(number).left.map(\.reason) == [.forbidden])
    try await fixture.confirm("\"lost\":[\"\(IDs.list)\"]")
    #expect(try await fixture.store.undo(number).left.map(\.reason) == [.parentMissing])
    #expect(try await fixture.outbox().isEmpty)
  }

  @Test("a move out of a list that was made for it goes back before the list goes (I9)")
  func moved() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { db in
      try db.insert(List(id: IDs.other, title: "Work"))
      try db.update(Item.self, id: IDs.item) { $0.list_id = IDs.other }
    }
    #expect(try await fixture.store.undo().left.isEmpty)
    #expect(try await Self.item(fixture)?.list_id == IDs.list)
    #expect(try await fixture.value("SELECT count(*) FROM lists") == 1)
  }

  @Test("two records that swapped a unique place go back, as what was made goes first")
  func unique() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { db in
      try db.update(Item.self, id: IDs.item) { $0.title = "Oat" }
      try db.insert(Item(id: Self.second, list_id: IDs.list, title: "Milk"))
    }
    #expect(try await fixture.store.undo().left.isEmpty)
    #expect(try await fixture.value("SELECT group_concat(title) FROM items") == "Milk")
  }

  @Test("a transaction that the server refused was rolled back already: it is not undone again (I3)")
  func refused() async throws {
    let fixture = try Fixture(schema: try CombiningTests.schema())
    try await fixture.signIn()
    try await fixture.answer(IDs.part(CombiningTests.list(1, amount: "5")))
    try await fixture.store.write { try $0.execute("UPDATE lists SET amount = 8") }
    try await fixture.refuse(1)
    #expect(try await fixture.store.undoable().isEmpty)
    #expect(try await fixture.value("SELECT amount FROM lists") == 5)
    // An app may hold the number of the one that is gone.
    try await fixture.store.write { try $0.execute("UPDATE lists SET amount = 9") }
    #expect(try await fixture.store.undoable().map(\.number) == [2])
  }

  @Test(
    "only this library's transactions are kept, the last hundred, and none behind one that is too large (I11)"
  )
  func bounded() async throws {
    let fixture = try await Self.downloaded()
    try SQLiteConnection(path: fixture.path).execute("UPDATE items SET title = 'shell'")
    #expect(try await fixture.store.undoable().isEmpty)
    for number in 1...120 {
      try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.price = Double(number) } }
    }
    #expect(try await fixture.store.undoable().count == UndoTable.limit)
    #expect(try await fixture.store.undoable(limit: 3).count == 3)
    let long = String(repeating: "x", count: 9000)
    try await fixture.store.write { db in
      for _ in 0..<500 { try db.execute("INSERT INTO words (text) VALUES (?)", [.text(long)]) }
    }
    // The one before it is not the last one any more.
    let error = await #expect(throws: StoreError.self) { try await fixture.store.undo() }
    #expect(error?.code == .nothingToUndo)
    #expect(try await fixture.store.undoable().isEmpty)
    for _ in 0..<10 {
      try await fixture.store.write { db in
        for _ in 0..<100 { try db.execute("INSERT INTO words (text) VALUES (?)", [.text(long)]) }
      }
    }
    #expect(try await fixture.store.undoable().count == 4)
  }

  @Test("the history stays with the data: a sign-out that removes them, removes it")
  func signOut() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "Oat" } }
    try await fixture.confirm("\"zones\":[]")
    try await fixture.store.writer.perform {
      try SignOut(database: $0).run(removingData: false, discardingUnsent: false)
    }
    #expect(try await fixture.store.undoable().count == 1)
    try await fixture.store.writer.perform {
      try SignOut(database: $0).run(removingData: true, discardingUnsent: false)
    }
    #expect(try await fixture.store.undoable().isEmpty)
  }

  @Test("what a narrower schema forbids by now is left, and stands in no other transaction's way (I12)")
  func narrower() async throws {
    func schema(_ limit: Int) throws -> SyncSchema {
      let text = ColumnSchema("title", .text, required: true, maximumLength: limit)
      return try SyncSchema(
        name: "test", tables: [TableSchema("notes", zone: .root, columns: [text])],
        version: limit == 9 ? 2 : 1)
    }
    let fixture = try Fixture(schema: schema(20))
    try await fixture.signIn()
    try await fixture.store.write { db in
      try db.execute(
        "INSERT INTO notes (id, title) VALUES (\(IDs.list), 'a title of before'), (\(IDs.other), 'b')")
    }
    try await fixture.store.write { try $0.execute("UPDATE notes SET title = 'c' WHERE id = \(IDs.other)") }
    try await fixture.store.write { try $0.execute("DELETE FROM notes WHERE id = \(IDs.list)") }
    await fixture.store.close()
    let store = try Store(path: fixture.path, schema: schema(9))
    let first = try await store.undo()
    #expect(first.left.map(\.reason) == [.forbidden])
    try await store.undo()
    let titles = try await store.read { try $0.fetch(String.self, "SELECT title FROM notes") }
    #expect(titles == ["b"])
  }
}
