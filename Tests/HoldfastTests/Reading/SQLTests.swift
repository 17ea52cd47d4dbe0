import Foundation
import Holdfast
import Testing

@Suite("Statements with values")
struct SQLTests {
  private enum Colour: String, Codable { case red, green }

  @Test(
    "a value is bound and never becomes a part of the text",
    arguments: ["'; DROP TABLE lists; --", "\" OR 1=1", "?", "e\u{301}", ""])
  func injection(_ title: String) async throws {
    let fixture = try Fixture()
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: title)) }
    let found = try await fixture.store.read {
      try $0.fetch(String.self, "SELECT title FROM \(List.self) WHERE title = \(title)")
    }
    #expect(found.map { Array($0.utf8) } == [Array(title.utf8)])
    let sql: SQL = "SELECT \(title)"
    #expect(sql.text == "SELECT ?")
    #expect(sql.arguments == [.text(title)])
  }

  @Test("each kind of value is bound as a record stores it")
  func kinds() throws {
    let id = UUID(uuidString: "0193AAAA-0000-7000-8000-000000000001")
    let none: String? = nil
    let sql: SQL =
      "\(1) \(true) \(1.5) \(none) \(Colour.green) \(id) \(Date(timeIntervalSince1970: 1)) \([1, 2])"
    #expect(
      sql.arguments == [
        1, 1, 1.5, nil, "green", "0193aaaa-0000-7000-8000-000000000001", "1970-01-01T00:00:01.000Z", "[1,2]",
      ])
    let value: SQL = "\(SQLiteValue.blob([1]))"
    #expect(value.arguments == [.blob([1])])
  }

  @Test("lists, names, other statements and unsafe text are parts of a statement")
  func parts() async throws {
    let store = try Store.inMemory(schema: try #require(Fixture.schema)) { db in
      for (id, title) in [(IDs.list, "a"), (IDs.other, "b")] { try db.insert(List(id: id, title: title)) }
    }
    let titles = try await store.read { db in
      let base: SQL = "SELECT title FROM \(identifier: "lists") WHERE id IN \(list: [IDs.list, IDs.other])"
      return try db.fetch(String.self, "\(base) ORDER BY \(unsafe: "title DESC") LIMIT \(1)")
    }
    #expect(titles == ["b"])
    let none = try await store.read { db in
      try db.first(Int.self, "SELECT count(*) FROM lists WHERE id IN \(list: [String]())")
    }
    #expect(none == 0)
    let name: SQL = "\(identifier: "a\"b")"
    #expect(name.text == "\"a\"\"b\"")
  }

  @Test("a value that can't be bound throws where the statement is used")
  func unbindable() async throws {
    let store = try Store.inMemory(schema: try #require(Fixture.schema))
    await #expect(throws: StoreError.self) {
      try await store.read { try $0.rows("SELECT \(Double.nan)").names }
    }
    await #expect(throws: StoreError.self) {
      try await store.write { try $0.execute("DELETE FROM lists WHERE title = \(UInt64.max)") }
    }
  }
}
