import Foundation
import Testing

@testable import Holdfast

@Suite("Writes that merge")
struct MergingWriteTests {
  private struct Note: Record {
    static let table = "notes"
    var id: String
    var title: String
    var count = 0
    var tags: [String]?
    var other: Int?
  }

  private static func fixture() throws -> Fixture {
    try Fixture(
      schema: SyncSchema(
        name: "test",
        tables: [
          TableSchema(
            "notes", zone: .root,
            columns: [
              ColumnSchema("title", .text, required: true),
              ColumnSchema("count", .integer, required: true, default: .integer(0), policy: .counter),
              ColumnSchema("tags", .json, policy: .set), ColumnSchema("other", .integer),
            ])
        ]))
  }

  /// The columns of the last operation that waits.
  private static func lastEdit(_ fixture: Fixture) async throws -> [String] {
    let set = try #require(try await fixture.outbox().last?.elements?.last)
    return (set["columns"]?.members ?? []).map(\.name).sorted()
  }

  @Test("an upsert inserts, and afterwards writes only the columns that differ (I3)")
  func upsert() async throws {
    let fixture = try Self.fixture()
    try await fixture.store.write { try $0.upsert(Note(id: IDs.list, title: "a")) }
    #expect(try await fixture.value("SELECT title FROM notes") == "a")
    try await fixture.store.write { try $0.upsert(Note(id: IDs.list, title: "b")) }
    #expect(try await Self.lastEdit(fixture) == ["title"])
    try await fixture.store.write { try $0.upsert(Note(id: IDs.list, title: "b")) }
    #expect(try await fixture.outbox().count == 2)
  }

  @Test("increments and elements are written by key path, as steps (I7)")
  func steps() async throws {
    let fixture = try Self.fixture()
    try await fixture.store.write { try $0.insert(Note(id: IDs.list, title: "a")) }
    try await fixture.store.write { db in
      try db.increment(Note.self, id: IDs.list, \.count, by: 2)
      try db.increment(Note.self, id: IDs.list, \.count, by: -5)
      try db.append(Note.self, id: IDs.list, \.tags, "x")
      try db.append(Note.self, id: IDs.list, \.tags, "e\u{301}")
      try db.append(Note.self, id: IDs.list, \.tags, "x")
    }
    #expect(try await Self.lastEdit(fixture) == ["count", "tags"])
    let note = try #require(try await fixture.store.read { try $0.find(Note.self, id: IDs.list) })
    #expect(note.count == -3)
    #expect(note.tags == ["e\u{301}", "x"])
    try await fixture.store.write { try $0.remove(Note.self, id: IDs.list, \.tags, "\u{e9}") }
    try await fixture.store.write { try $0.remove(Note.self, id: IDs.list, \.tags, "x") }
    #expect(try await fixture.value("SELECT tags FROM notes") == .text("[\"e\u{301}\"]"))
  }

  @Test("a column of another policy and a record that is not here are refused")
  func refused() async throws {
    let fixture = try Self.fixture()
    try await fixture.store.write { try $0.insert(Note(id: IDs.list, title: "a")) }
    let unfit = await #expect(throws: StoreError.self) {
      try await fixture.store.write { try $0.increment(Note.self, id: IDs.list, \.other) }
    }
    #expect(unfit?.code == .valueUnfit)
    let missing = await #expect(throws: StoreError.self) {
      try await fixture.store.write { try $0.append(Note.self, id: IDs.other, \.tags, "x") }
    }
    #expect(missing?.code == .recordMissing)
  }
}
