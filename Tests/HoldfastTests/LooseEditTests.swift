import Foundation
import HoldfastSQLite
import Testing

@testable import Holdfast

@Suite("Edits that are in no change set yet, and those that are")
struct LooseEditTests {
  private static func titles(_ sets: [JSONValue]) -> [String?] {
    sets.flatMap { $0.elements ?? [] }.map { $0["columns"]?["title"]?.stringValue }
  }

  @Test(
    "another program's edit whose number was changed is sent all the same (I3)", arguments: ["-n", "n - 1"])
  func renumbered(_ number: String) async throws {
    let fixture = try Fixture()
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Mine")) }
    let other = try SQLiteConnection(path: fixture.path)
    try other.execute(
      """
      UPDATE holdfast_edits SET n = 5; INSERT INTO lists (title) VALUES ('Theirs');
      UPDATE holdfast_edits SET n = 1 + \(number) WHERE change_set IS NULL; UPDATE holdfast_edits SET n = 8 WHERE n = 5;
      """)
    await fixture.store.close()
    let store = try Store(path: fixture.path, schema: fixture.store.schema)
    try await store.write { try $0.insert(List(id: IDs.other, title: "Mine, too")) }
    let sets = try await store.read { try $0.rows("SELECT body FROM holdfast_outbox ORDER BY first").rows }
    let bodies = try sets.map { try JSONValue(parsing: $0[0].blob ?? []) }
    #expect(Self.titles(bodies) == ["Mine", "Theirs", "Mine, too"])
    await store.close()
  }

  @Test("what a comparison finds is sent, though edits that wait already came behind it (I3)")
  func compared() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let second = IDs.itemChange("Bread", rev: 3).replacingOccurrences(of: IDs.item, with: IDs.other)
      .replacingOccurrences(of: "\"seq\":2", with: "\"seq\":3")
    let changes = [IDs.listChange, IDs.itemChange("Milk", rev: 3), second].joined(separator: ",")
    try await fixture.answer(IDs.part(changes, to: "0000000a.3"))
    try SQLiteConnection(path: fixture.path).execute(
      "DROP TRIGGER holdfast_items_update_title; UPDATE items SET title = 'Theirs' WHERE id = '\(IDs.item)'")
    try await fixture.store.write { try $0.update(Item.self, id: IDs.other) { $0.title = "Mine" } }
    try await fixture.answer(IDs.part(changes, to: "0000000a.3"))
    try await fixture.store.write { _ in }
    let sets = try await fixture.store.read {
      try $0.rows("SELECT body FROM holdfast_outbox ORDER BY first").rows
    }
    #expect(
      Self.titles(try sets.map { try JSONValue(parsing: $0[0].blob ?? []) }) == ["Mine", "Theirs"])
  }

  @Test("the clock goes on from a change set that has left the outbox (I7)", arguments: [false, true])
  func clock(isRefused: Bool) async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    let before = try await fixture.store.writer.perform { try $0.state().clock }
    if isRefused { try await fixture.refuse(1) } else { try await fixture.confirm("\"zones\":[]") }
    #expect(try await fixture.value("SELECT count(*) FROM holdfast_outbox") == 0)
    #expect(try await fixture.store.writer.perform { try $0.state().clock } >= before)
  }

  @Test("the numbers of operations go on from what is confirmed, and from what waits (I1)")
  func numbers() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    func next() async throws -> Int64 { try await fixture.store.writer.perform { try $0.state().nextNumber } }
    #expect(try await next() == 1)
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    #expect(try await next() == 2)
    try await fixture.confirm("\"zones\":[]")
    #expect(try await next() == 2)
    try await fixture.store.write { try $0.insert(List(id: IDs.other, title: "Work")) }
    #expect(try await fixture.value("SELECT first FROM holdfast_outbox") == 2)
    #expect(
      try await fixture.value(
        "SELECT chain_before = (SELECT confirmed_chain FROM holdfast_local) FROM holdfast_outbox") == 1)
  }
}
