import Testing

@testable import Holdfast

@Suite("References from a table to itself")
struct SelfReferenceTests {
  @Test("a record made here that refers to one of its own table is no orphan when an answer comes (I3)")
  func kept() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.store.write { db in
      try db.insert(List(id: IDs.list, title: "Home"))
      try db.insert(Item(id: IDs.item, list_id: IDs.list, title: "Milk"))
      try db.execute(
        "INSERT INTO items (id, list_id, title, after_id) VALUES (?, ?, 'Bread', ?)",
        [.text(IDs.other), .text(IDs.list), .text(IDs.item)])
    }
    try await fixture.answer("\"zones\":[]")
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(2))
    #expect(try await fixture.store.waitingOperations() == 3)
  }
}
