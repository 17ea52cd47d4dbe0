import Foundation
import Testing

@testable import Holdfast

@Suite("Quarantine")
struct QuarantineTests {
  private static let second = "0193aaaa-0000-7000-8000-000000000012"

  /// Confirms everything, and refuses some change sets with these codes.
  private static func refuse(_ codes: [Int64: ProblemCode], _ fixture: Fixture) async throws {
    let (rows, number, chain) = try await fixture.store.writer.perform { local in
      let state = try local.state()
      return (
        try local.connection.rows("SELECT first, last FROM holdfast_outbox ORDER BY first"),
        state.nextNumber - 1, state.chain.text
      )
    }
    let refused = rows.compactMap { row -> String? in
      guard let first = row[0].integer, let last = row[1].integer, let code = codes[first] else { return nil }
      return
        #"{"first":\#(first),"last":\#(last),"operation":\#(first),"problem":\#(String(decoding: Problem(code).document, as: UTF8.self))}"#
    }
    _ = try await fixture.answer(
      body: Fixture.whole(
        #"{"clock":"0193aaaa00000000","confirmed":\#(number),"chain":"\#(chain)","refused":[\#(refused.joined(separator: ","))]}"#
      ))
  }

  /// A list that the server refused, its item, an edit of the item, and an unrelated list that it took.
  private static func family() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    try await fixture.store.write { try $0.insert(Item(id: IDs.item, list_id: IDs.list, title: "Milk")) }
    try await fixture.store.write { try $0.insert(List(id: IDs.other, title: "Work")) }
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "Oat milk" } }
    try await refuse([1: .uniqueTaken, 2: .referenceMissing, 4: .recordUnknown], fixture)
    return fixture
  }

  @Test("what was refused because of another set is found with it, and the unrelated goes on (I3, I12)")
  func dependents() async throws {
    let fixture = try await Self.family()
    let sets = try await fixture.store.quarantined()
    #expect(sets.map(\.problem?.code) == [.uniqueTaken, .referenceMissing, .recordUnknown])
    #expect(sets.map(\.because) == [nil, sets[0].number, sets[0].number])
    #expect(sets[0].dependents == [sets[1].number, sets[2].number])
    #expect(
      sets[0].operations == [.init(.create, table: "lists", id: IDs.list, columns: ["title": "Home"])])
    #expect(sets[2].operations.first?.base == ["title": "Milk"])
    #expect(try await fixture.value("SELECT group_concat(title) FROM lists") == "Work")
    #expect(try await fixture.value("SELECT count(*) FROM items") == 0)
  }

  @Test("a set is amended and written again with its dependents, in order, each as it was (I3, I6)")
  func resend() async throws {
    let fixture = try await Self.family()
    let number = try #require(try await fixture.store.quarantined().first?.number)
    try await fixture.store.resend(number) { $0[0]["title"] = "Home 2" }
    #expect(try await fixture.value("SELECT title FROM lists WHERE id = '\(IDs.list)'") == "Home 2")
    #expect(try await fixture.value("SELECT title FROM items") == "Oat milk")
    #expect(try await fixture.store.quarantined().isEmpty)
    let sets = try await fixture.outbox()
    #expect(
      sets.map { $0.elements?.map { "\($0["op"]?.stringValue ?? "") \($0["table"]?.stringValue ?? "")" } }
        == [
          ["create lists"], ["create items"], ["update items"],
        ])
  }

  @Test("a set is written again however many depend on it: together they may be larger than a set (I3, I11)")
  func resendMany() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    for part in 0..<3 {
      try await fixture.store.write { db in
        for number in 0..<4000 {
          try db.insert(Item(id: db.newID(), list_id: IDs.list, title: "\(part) \(number)"))
        }
      }
    }
    try await Self.refuse(
      [1: .validationFailed, 2: .referenceMissing, 4002: .referenceMissing, 8002: .referenceMissing], fixture)
    #expect(try await fixture.value("SELECT count(*) FROM items") == 0)
    let number = try #require(try await fixture.store.quarantined().first?.number)
    try await fixture.store.resend(number)
    #expect(try await fixture.store.quarantined().isEmpty)
    #expect(try await fixture.outbox().map { $0.elements?.count } == [1, 4000, 4000, 4000])
    #expect(try await fixture.value("SELECT count(*) FROM items") == 12_000)
  }

  @Test("a transaction of an app that is newer than the server is sent again whole (I6)")
  func resendUnknown() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.store.write { db in
      try db.insert(List(id: IDs.list, title: "Home"))
      for number in 0..<1500 {
        try db.insert(Item(id: db.newID(), list_id: IDs.list, title: "\(number)"))
      }
    }
    try await Self.refuse([1: .unknownColumn], fixture)
    #expect(try await fixture.store.quarantined().count == 1)
    try await fixture.answer(#""schema":"other""#)
    #expect(try await fixture.store.quarantined().isEmpty)
    #expect(try await fixture.outbox().map { $0.elements?.count } == [1501])
  }

  @Test("a create of an app whose schema had another column is written again, if it was empty (I3)")
  func resendWithoutColumn() async throws {
    let fixture = try await Self.family()
    let number = try #require(try await fixture.store.quarantined().first?.number)
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.resend(number) { $0[0]["colour"] = "red" }
    }
    #expect(error?.description.contains("leave it out of the operation") == true)
    try await fixture.store.resend(number) { $0[0]["colour"] = .null }
    #expect(try await fixture.store.quarantined().isEmpty)
  }

  @Test(
    "a set that a rule refuses here stays in quarantine, nothing changed, and the operation is named (I3)")
  func resendRefused() async throws {
    let fixture = try await Self.family()
    let sets = try await fixture.store.quarantined()
    // Its list is missing.
    var error = await #expect(throws: StoreError.self) { try await fixture.store.resend(sets[1].number) }
    #expect(error?.code == .operationRefused)
    #expect(error?.description.contains("Operation 1 (create in items)") == true)
    error = await #expect(throws: StoreError.self) { try await fixture.store.resend(sets[2].number) }
    #expect(error?.description.contains("The record does not exist") == true)
    error = await #expect(throws: StoreError.self) {
      try await fixture.store.resend(sets[0].number) { $0[0]["title"] = nil }
    }
    #expect(error?.code == .operationRefused)
    error = await #expect(throws: StoreError.self) {
      try await fixture.store.resend(sets[0].number) { $0[0]["colour"] = "red" }
    }
    #expect(error?.description.contains("no column colour") == true)
    error = await #expect(throws: StoreError.self) { try await fixture.store.resend(99) }
    #expect(error?.code == .recordMissing)
    #expect(try await fixture.store.quarantined() == sets)
    #expect(try await fixture.outbox().isEmpty)
  }

  @Test("a value that another record has here refuses the resend by name")
  func resendTaken() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange))
    try await fixture.store.write { try $0.insert(Item(id: Self.second, list_id: IDs.list, title: "Milk")) }
    try await Self.refuse([1: .uniqueTaken], fixture)
    try await fixture.answer(IDs.part(IDs.itemChange("Milk"), from: "0000000a.2", to: "0000000a.3"))
    let number = try #require(try await fixture.store.quarantined().first?.number)
    let error = await #expect(throws: StoreError.self) { try await fixture.store.resend(number) }
    #expect(error?.code == .operationRefused)
    #expect(error?.description.contains("Operation 1 (create in items)") == true)
    #expect(error?.description.contains("The record \(IDs.item) of items has this title") == true)
    try await fixture.store.resend(number) { $0[0]["title"] = "Milk 2" }
    #expect(try await fixture.value("SELECT count(*) FROM items") == 2)
  }

  @Test("a create whose record is here by now gives it its values; an update counts on from what is here")
  func resendOnToday() async throws {
    let fixture = try Fixture(schema: try CombiningTests.schema())
    try await fixture.signIn()
    try await fixture.answer(IDs.part(CombiningTests.list(1, amount: "5", note: #""one""#)))
    try await fixture.store.write { try $0.execute("UPDATE lists SET amount = 7, title = 'Mine'") }
    try await Self.refuse([1: .roleInsufficient], fixture)
    try await fixture.answer(
      IDs.part(CombiningTests.list(2, amount: "10", note: #""one""#), from: "0000000a.2", to: "0000000a.3"))
    let number = try #require(try await fixture.store.quarantined().first?.number)
    try await fixture.store.resend(number)
    #expect(try await fixture.value("SELECT amount FROM lists") == 12)
    #expect(try await fixture.value("SELECT title FROM lists") == "Mine")
    try await Self.refuse([2: .roleInsufficient], fixture)
    let again = try #require(try await fixture.store.quarantined().first?.number)
    try await fixture.store.resend(again) { $0[0]["amount"] = 3 }
    #expect(try await fixture.value("SELECT amount FROM lists") == 3)
  }

  @Test("what is discarded goes with its dependents, and no record changes (I3)")
  func discard() async throws {
    let fixture = try await Self.family()
    let sets = try await fixture.store.quarantined()
    try await fixture.store.discard(sets[0].number)
    #expect(try await fixture.store.quarantined().isEmpty)
    #expect(try await fixture.value("SELECT group_concat(title) FROM lists") == "Work")
    #expect(try await fixture.outbox().isEmpty)
    await #expect(throws: StoreError.self) { try await fixture.store.discard(sets[0].number) }
  }

  @Test("quarantine outlives reset, sign-out, a new identity and a larger schema (I3)")
  func kept() async throws {
    let fixture = try await Self.family()
    let sets = try await fixture.store.quarantined()
    try await fixture.store.resetAll()
    try await fixture.store.writer.perform {
      try SignOut(database: $0).run(removingData: false, discardingUnsent: false)
    }
    await #expect(throws: StoreError.self) {
      try await fixture.store.writer.perform {
        try SignOut(database: $0).run(removingData: true, discardingUnsent: false)
      }
    }
    try await fixture.signIn(device: "0193aaaa-0000-7000-8000-00000000000e", token: "t2")
    let larger = try SyncSchema(
      name: "test",
      tables: fixture.store.schema.tables.filter { !$0.isBuiltIn }.map { table in
        var table = table
        if table.name == "lists" { table.columns.append(ColumnSchema("color", .text)) }
        return table
      })
    let store = try Store(path: fixture.path, schema: larger)
    #expect(try await store.quarantined() == sets)
    try await store.resend(sets[0].number) { $0[0]["color"] = "red" }
    let color = try await store.read {
      try $0.first(String.self, "SELECT color FROM lists WHERE id = ?", [.text(IDs.list)])
    }
    #expect(color == "red")
    // The app of before would leave the new column out.
    let error = await #expect(throws: StoreError.self) { try await fixture.value("SELECT title FROM lists") }
    #expect(error?.code == .databaseIsNewer)
  }

  @Test("a live query of the quarantine says what comes and goes")
  func live() async throws {
    let fixture = try await Self.family()
    var states = fixture.store.liveQuarantine().makeAsyncIterator()
    let sets = try #require(try await states.next())
    #expect(sets.count == 3)
    try await fixture.store.discard(sets[1].number)
    #expect(try await states.next()?.count == 2)
  }
}
