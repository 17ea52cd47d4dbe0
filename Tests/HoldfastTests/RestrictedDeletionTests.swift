import Foundation
import Testing

@testable import Holdfast

@Suite("Deletions that a reference with on_delete restrict may refuse")
struct RestrictedDeletionTests {
  /// Notes of a list, each on one of its items, in either order of the tables.
  private static func fixture(notesFirst: Bool) async throws -> Fixture {
    func reference(_ name: String, _ table: String, _ onDelete: Reference.OnDelete) -> ColumnSchema {
      ColumnSchema(name, .reference, reference: Reference(to: table, onDelete: onDelete))
    }
    func list() -> ColumnSchema {
      ColumnSchema(
        "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade))
    }
    let items = TableSchema("items", zone: .parent("list_id"), columns: [list()])
    let notes = TableSchema(
      "notes", zone: .parent("list_id"),
      columns: [list(), reference("item_id", "items", .restrict), reference("on_list", "lists", .restrict)])
    let lists = TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text)])
    let fixture = try Fixture(
      schema: SyncSchema(name: "test", tables: [lists] + (notesFirst ? [notes, items] : [items, notes])))
    try await fixture.signIn()
    try await fixture.store.write { db in
      try db.execute("INSERT INTO lists (id) VALUES (\(IDs.list))")
      try db.execute("INSERT INTO items (id, list_id) VALUES (\(IDs.item), \(IDs.list))")
      try db.execute(
        "INSERT INTO notes (id, list_id, item_id, on_list) VALUES (\(IDs.other), \(IDs.list), \(IDs.item), \(IDs.list))"
      )
    }
    return fixture
  }

  private static let counts =
    "SELECT (SELECT count(*) FROM lists) || (SELECT count(*) FROM items) || (SELECT count(*) FROM notes)"

  @Test(
    "a record goes with all below it, though one of these restricts another or itself (I9)",
    arguments: [false, true])
  func together(notesFirst: Bool) async throws {
    let fixture = try await Self.fixture(notesFirst: notesFirst)
    // As another program does.
    let other = try SQLiteConnection(path: fixture.path, access: .readWrite)
    try other.run("DELETE FROM lists")
    other.close()
    #expect(try await fixture.value(Self.counts) == "000")
    try await fixture.store.write { _ in }
    let deleted = try await fixture.outbox().last?.elements?.map { $0["op"]?.stringValue }
    #expect(deleted == ["delete", "delete", "delete"])
    #expect(try await fixture.value("SELECT count(*) FROM holdfast_cascaded") == 0)
    // And all of it is back when that is refused.
    try await fixture.refuse(try await fixture.first(2))
    #expect(try await fixture.value(Self.counts) == "111")
  }

  @Test("a record is not deleted while another one that stays restricts it (I9)", arguments: [false, true])
  func alone(notesFirst: Bool) async throws {
    let fixture = try await Self.fixture(notesFirst: notesFirst)
    await #expect(throws: SQLiteError.self) {
      try await fixture.store.write { try $0.execute("DELETE FROM items") }
    }
    #expect(try await fixture.value(Self.counts) == "111")
    try await fixture.store.write { db in
      try db.execute("DELETE FROM notes")
      try db.execute("DELETE FROM items")
    }
    #expect(try await fixture.value(Self.counts) == "100")
  }
}
