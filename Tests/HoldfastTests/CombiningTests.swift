import Foundation
import Testing

@testable import Holdfast

@Suite("Edits that wait, of columns that combine")
struct CombiningTests {
  static func schema() throws -> SyncSchema {
    try SyncSchema(
      name: "combining",
      tables: [
        TableSchema(
          "lists", zone: .root,
          columns: [
            ColumnSchema("title", .text, required: true),
            ColumnSchema("amount", .integer, policy: .counter), ColumnSchema("tags", .json, policy: .set),
            ColumnSchema("note", .text, policy: .text),
          ])
      ])
  }

  /// The server's list, at a revision.
  static func list(_ rev: Int, amount: String = "null", tags: String = "null", note: String = "null")
    -> String
  {
    #"{"table":"lists","id":"\#(IDs.list)","rev":\#(rev),"seq":\#(rev),"columns":{"title":"Home","amount":\#(amount),"tags":\#(tags),"note":\#(note)}}"#
  }

  private static func fixture(_ list: String) async throws -> Fixture {
    let fixture = try Fixture(schema: try schema())
    try await fixture.signIn()
    try await fixture.answer(IDs.part(list))
    return fixture
  }

  private static func add(_ number: Int64, _ fixture: Fixture) async throws {
    try await fixture.store.write {
      try $0.execute("UPDATE lists SET amount = coalesce(amount, 0) + ?", [.integer(number)])
    }
  }

  @Test(
    "a counter counted twice offline stands on the server's change, and what is sent never changes (I1, I7)")
  func counter() async throws {
    let fixture = try await Self.fixture(Self.list(1, amount: "5"))
    try await Self.add(1, fixture)
    try await Self.add(2, fixture)
    let sent = try await fixture.outbox()
    try await fixture.answer(IDs.part(Self.list(2, amount: "10"), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.value("SELECT amount FROM lists") == 13)
    try await fixture.answer(IDs.part(Self.list(3, amount: "20"), from: "0000000a.3", to: "0000000a.4"))
    #expect(try await fixture.value("SELECT amount FROM lists") == 23)
    #expect(try await fixture.outbox() == sent)
    try await fixture.confirm(IDs.part(Self.list(5, amount: "23"), from: "0000000a.4", to: "0000000a.5"))
    #expect(try await fixture.value("SELECT amount FROM lists") == 23)
    #expect(try await fixture.value("SELECT count(*) FROM holdfast_edits") == 0)
  }

  @Test(
    "an increment adds to the record that is here, or creates it; what is no counter, or too much, is an error"
  )
  func increment() async throws {
    let fixture = try Fixture(schema: try Self.schema())
    for amount in [2, 3] as [Int64] {
      try await fixture.store.write {
        try $0.increment("lists", id: IDs.list, "amount", by: amount, orCreate: ["title": "Visits"])
      }
    }
    #expect(try await fixture.value("SELECT title || amount FROM lists") == "Visits5")
    for (table, column, amount) in [("lists", "title", 1), ("none", "amount", 1), ("lists", "amount", .max)]
      as [(String, String, Int64)]
    {
      let error = await #expect(throws: StoreError.self) {
        try await fixture.store.write {
          try $0.increment(table, id: IDs.list, column, by: amount, orCreate: [:])
        }
      }
      #expect(error?.code == .valueUnfit)
    }
    #expect(try await fixture.value("SELECT amount FROM lists") == 5)
  }

  @Test("an increment that is refused is taken out again, and the one behind it stays (I3, I7)")
  func refusedIncrement() async throws {
    let fixture = try await Self.fixture(Self.list(1, amount: "5"))
    try await Self.add(100, fixture)
    try await Self.add(2, fixture)
    try await fixture.answer(IDs.part(Self.list(2, amount: "10"), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.value("SELECT amount FROM lists") == 112)
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT amount FROM lists") == 12)
    try await fixture.refuse(2)
    #expect(try await fixture.value("SELECT amount FROM lists") == 10)
  }

  @Test(
    "words and tags that another added too, and a third took away again, are shown while this device's own wait (I3, I7)"
  )
  func addedByTwo() async throws {
    let fixture = try await Self.fixture(Self.list(1, tags: #"["a"]"#, note: #""milk""#))
    try await fixture.store.write {
      try $0.execute(#"UPDATE lists SET note = 'milk and eggs', tags = '["a","b","c"]'"#)
    }
    try await fixture.answer(
      IDs.part(
        Self.list(2, tags: #"["a","b"]"#, note: #""milk and eggs""#), from: "0000000a.2", to: "0000000a.3"))
    try await fixture.answer(
      IDs.part(Self.list(3, tags: #"["a"]"#, note: #""milk""#), from: "0000000a.3", to: "0000000a.4"))
    #expect(try await fixture.value("SELECT note FROM lists") == "milk and eggs")
    #expect(try await fixture.value("SELECT tags FROM lists") == #"["a","b","c"]"#)
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT note FROM lists") == "milk")
    #expect(try await fixture.value("SELECT tags FROM lists") == #"["a"]"#)
  }

  @Test("a counter of no value counts from 0, and a sum that no number holds keeps the device's own (I7)")
  func counterEdges() async throws {
    let fixture = try await Self.fixture(Self.list(1))
    try await Self.add(3, fixture)
    try await fixture.answer(IDs.part(Self.list(2, amount: "4"), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.value("SELECT amount FROM lists") == 7)
    let greatest = String(Int64.max)
    try await fixture.answer(IDs.part(Self.list(3, amount: greatest), from: "0000000a.3", to: "0000000a.4"))
    #expect(try await fixture.value("SELECT amount FROM lists") == 7)
  }

  @Test("what was added to a set and taken from it is done to the server's set (I7)")
  func set() async throws {
    let fixture = try await Self.fixture(Self.list(1, tags: #"["a","b"]"#))
    try await fixture.store.write { try $0.execute(#"UPDATE lists SET tags = '["b","c"]'"#) }
    try await fixture.answer(
      IDs.part(Self.list(2, tags: #"["a","b","d"]"#), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.value("SELECT tags FROM lists") == #"["b","c","d"]"#)
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT tags FROM lists") == #"["a","b","d"]"#)
  }

  @Test("a text that only one side changed is that side's, both here and rolled back (I7)")
  func text() async throws {
    let fixture = try await Self.fixture(Self.list(1, note: #""one""#))
    try await fixture.store.write { try $0.execute("UPDATE lists SET note = 'one two'") }
    try await fixture.answer(
      IDs.part(Self.list(2, amount: "3", note: #""one""#), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.value("SELECT note FROM lists") == "one two")
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT note FROM lists") == "one")
  }

  @Test("a record that was deleted here comes back with the server's value when the deletion is refused (I3)")
  func comesBack() async throws {
    let fixture = try await Self.fixture(Self.list(1, amount: "5"))
    try await Self.add(1, fixture)
    try await fixture.store.write { try $0.execute("DELETE FROM lists") }
    try await fixture.answer(IDs.part(Self.list(2, amount: "10"), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.value("SELECT count(*) FROM lists") == 0)
    try await fixture.refuse(2)
    #expect(try await fixture.value("SELECT amount FROM lists") == 11)
  }
}
