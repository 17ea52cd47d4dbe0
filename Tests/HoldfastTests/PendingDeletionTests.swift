import Foundation
import Testing

@testable import Holdfast

@Suite("Deletions that wait for the server")
struct PendingDeletionTests {
  private static let second = "0193aaaa-0000-7000-8000-000000000012"
  private static let listGone =
    #"{"table":"lists","id":"\#(IDs.list)","rev":2,"seq":5,"deleted":true,"deleted_at":"2026-01-01T00:00:00.000Z"}"#

  private func downloaded() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange + "," + IDs.itemChange("Milk")))
    return fixture
  }

  private static func second(_ title: String, rev: Int = 1, after: String? = nil) -> String {
    let reference = after.map { "\"\($0)\"" } ?? "null"
    return
      #"{"table":"items","id":"\#(second)","rev":\#(rev),"seq":3,"columns":{"list_id":"\#(IDs.list)","title":"\#(title)","done":false,"price":null,"after_id":\#(reference)}}"#
  }

  @Test(
    "an item added elsewhere to a list deleted here stops no answer, and comes with a refusal (I3, I9, I12)")
  func childArrives() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.delete(List.self, id: IDs.list) }
    try await fixture.answer(IDs.part(Self.second("Bread"), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
    try await fixture.answer(
      IDs.part(Self.second("Rye bread", rev: 2), from: "0000000a.3", to: "0000000a.4"))
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
    try await fixture.confirm("\"zones\":[]", refusing: 1)
    #expect(
      try await fixture.value("SELECT group_concat(title) FROM (SELECT title FROM items ORDER BY title)")
        == .text("Milk,Rye bread"))
    #expect(try await fixture.value("SELECT count(*) FROM holdfast_edits") == .integer(0))
  }

  @Test("an item that was moved on from the list deleted here is seen again (I7)")
  func childMovesOn() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.delete(List.self, id: IDs.list) }
    try await fixture.answer(IDs.part(Self.second("Bread"), from: "0000000a.2", to: "0000000a.3"))
    let other = #"{"table":"lists","id":"\#(IDs.other)","rev":1,"seq":1,"columns":{"title":"Other"}}"#
    let moved = Self.second("Bread", rev: 2).replacingOccurrences(
      of: "\"list_id\":\"\(IDs.list)\"", with: "\"list_id\":\"\(IDs.other)\"")
    try await fixture.answer(
      #""zones":[{"zone":"\#(IDs.other)","role":"owner","from":"","to":"0000000a.2","more":false,"changes":[\#(other),\#(moved)]}]"#
    )
    #expect(try await fixture.value("SELECT title FROM items") == .text("Bread"))
    try await fixture.confirm("\"zones\":[]")
    #expect(try await fixture.value("SELECT zone FROM items") == .text(IDs.other))
  }

  @Test(
    "a reference from elsewhere to an item deleted here becomes null till the server has decided (I9, I12)")
  func referenceArrives() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.delete(Item.self, id: IDs.item) }
    try await fixture.answer(
      IDs.part(Self.second("Bread", after: IDs.item), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.value("SELECT after_id FROM items") == .null)
    #expect(try await fixture.store.waitingOperations() == 1)
    try await fixture.confirm("\"zones\":[]", refusing: 1)
    #expect(
      try await fixture.value("SELECT after_id FROM items WHERE title = 'Bread'") == .text(IDs.item))
  }

  @Test("a refused delete does not bring back what others deleted meanwhile (I8)")
  func refusedAfterTombstone() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.delete(Item.self, id: IDs.item) }
    try await fixture.answer(IDs.part(IDs.itemGone, from: "0000000a.2", to: "0000000a.3"))
    try await fixture.confirm("\"zones\":[]", refusing: 1)
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
    #expect(try await fixture.store.quarantined().count == 1)
  }

  @Test("a refused delete brings back what moved on behind a page that waited (I3, I7)")
  func refusedAfterMove() async throws {
    let fixture = try await downloaded()
    try await fixture.answer(
      IDs.part(IDs.itemChange("Oat milk", rev: 2), from: "0000000a.2", to: "0000000a.3.-1", more: true))
    try await fixture.store.write { try $0.delete(Item.self, id: IDs.item) }
    let other = #"{"table":"lists","id":"\#(IDs.other)","rev":1,"seq":1,"columns":{"title":"Other"}}"#
    let moved = IDs.itemChange("Oat milk", rev: 3).replacingOccurrences(
      of: "\"list_id\":\"\(IDs.list)\"", with: "\"list_id\":\"\(IDs.other)\"")
    let gone = IDs.itemGone.replacingOccurrences(of: "\"rev\":9", with: "\"rev\":3")
    try await fixture.answer(
      #"""
      "zones":[{"zone":"\#(IDs.other)","role":"owner","from":"","to":"0000000a.2","more":false,"changes":[\#(other),\#(moved)]},
      {"zone":"\#(IDs.list)","role":"owner","from":"0000000a.3.-1","to":"0000000a.4","more":false,"changes":[\#(gone)]}]
      """#)
    try await fixture.confirm("\"zones\":[]", refusing: 1)
    #expect(
      try await fixture.value("SELECT title FROM items WHERE zone = '\(IDs.other)'") == .text("Oat milk"))
    #expect(try await fixture.store.quarantined().count == 1)
  }

  @Test("a refused delete brings nothing back into a zone that was lost, and stops no answer (I10, I12)")
  func refusedAfterLoss() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.delete(Item.self, id: IDs.item) }
    try await fixture.answer("\"lost\":[\"\(IDs.list)\"]")
    try await fixture.confirm("\"zones\":[]", refusing: 1)
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
  }

  @Test("a refused delete does not bring back what a reset did not bring (I8)")
  func refusedAfterReset() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.delete(Item.self, id: IDs.item) }
    try await fixture.answer(#""zones":[{"zone":"\#(IDs.list)","reset":true}]"#)
    try await fixture.answer(IDs.part(IDs.listChange, to: "0000000b.9"))
    try await fixture.confirm("\"zones\":[]", refusing: 1)
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
  }

  @Test("a delete refused while its list is gone from here and from the server blocks no answer (I9, I12)")
  func refusedBelowConfirmed() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.delete(Item.self, id: IDs.item) }
    try await fixture.store.write { try $0.delete(List.self, id: IDs.list) }
    // The zone's own part, with the tombstones, does not fit into this answer.
    try await fixture.confirm("\"zones\":[]", refusing: 1)
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
    #expect(try await fixture.store.quarantined().count == 1)
  }

  @Test("what the server said of a record deleted and created again here is what a refusal returns to (I7)")
  func refusedAnew() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { db in
      try db.delete(Item.self, id: IDs.item)
      try db.insert(Item(id: IDs.item, list_id: IDs.list, title: "Mine"))
    }
    try await fixture.answer(
      IDs.part(IDs.itemChange("Oat milk", rev: 2), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.value("SELECT title FROM items") == .text("Mine"))
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT title FROM items") == .text("Oat milk"))
    #expect(try await fixture.value("SELECT rev FROM items") == .integer(2))
  }

  @Test("a delete refused after the create that it undid restores nothing that never was (I7)")
  func refusedCreateThenDelete() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.insert(Item(id: Self.second, list_id: IDs.list, title: "Bread")) }
    try await fixture.store.write { try $0.delete(Item.self, id: Self.second) }
    try await fixture.refuse(1)
    try await fixture.refuse(2)
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(1))
    #expect(try await fixture.store.quarantined().count == 2)
  }

  @Test("a refused create leaves the record that a later set created again (I3)")
  func refusedCreateThenAgain() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.insert(Item(id: Self.second, list_id: IDs.list, title: "Bread")) }
    try await fixture.store.write { try $0.delete(Item.self, id: Self.second) }
    try await fixture.store.write { try $0.insert(Item(id: Self.second, list_id: IDs.list, title: "Rye")) }
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT count(*) FROM items WHERE title = 'Rye'") == .integer(1))
  }

  @Test("a delete and the create after it, refused one by one, leave the server's record (I7)")
  func refusedDeleteThenCreate() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.delete(Item.self, id: IDs.item) }
    try await fixture.store.write { try $0.insert(Item(id: IDs.item, list_id: IDs.list, title: "Mine")) }
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT title FROM items") == .text("Mine"))
    try await fixture.refuse(2)
    #expect(try await fixture.value("SELECT title FROM items") == .text("Milk"))
    #expect(try await fixture.value("SELECT count(*) FROM holdfast_edits") == .integer(0))
  }

  @Test("a record goes with more below it than a change set has otherwise; others don't (I11)")
  func large() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    func change(_ number: Int) -> String {
      let id = "0193aaaa-0000-7000-8001-0000000\(10_000 + number)"
      return
        #"{"table":"items","id":"\#(id)","rev":1,"seq":2,"columns":{"list_id":"\#(IDs.list)","title":"\#(number)","done":false,"price":null,"after_id":null}}"#
    }
    try await fixture.answer(IDs.part(([IDs.listChange] + (0..<10_001).map(change)).joined(separator: ",")))
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.write { try $0.execute("DELETE FROM items") }
    }
    #expect(error?.code == .changeSetTooLarge)
    #expect(error?.description.contains("not below others") == true)
    try await fixture.store.write { try $0.delete(List.self, id: IDs.list) }
    #expect(try await fixture.outbox().map { $0.elements?.count } == [10_002])
    #expect(try await fixture.value("SELECT count(*) FROM items") == 0)
    // Its undo would be too large.
    let nothing = await #expect(throws: StoreError.self) { try await fixture.store.undo() }
    #expect(nothing?.code == .nothingToUndo)
    let request = try #require(
      try await fixture.store.writer.perform {
        try RequestPreparation(database: $0).prepare(changeSetLimit: 10)
      })
    #expect(request.operations == 10_002)
    try await fixture.refuse(1)
    #expect(try await fixture.value("SELECT count(*) FROM items") == 10_001)
  }
}
