import Foundation
import HoldfastCore
import HoldfastSQLite
import Testing

@testable import Holdfast

/// Two texts of other bytes that Unicode, and Swift's `String`, take for one.
private let (one, two) = ("\u{E9}", "e\u{301}")

@Suite("Spellings on a device")
struct SpellingTests {
  private static func part(_ zone: String) -> String {
    let list = #"{"table":"lists","id":"\#(zone)","rev":1,"seq":1,"columns":{"title":"Home"}}"#
    let item =
      #"{"table":"items","id":"i\#(zone)","rev":1,"seq":2,"columns":{"list_id":"\#(zone)","title":"Milk","done":false,"price":null,"after_id":null}}"#
    return
      #"{"zone":"\#(zone)","role":"owner","from":"","to":"0000000a.2","more":false,"remaining":0,"changes":[\#(list),\#(item)]}"#
  }

  private static func downloaded() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(#""zones":[\#(part(one)),\#(part(two))]"#)
    return fixture
  }

  private static func titles(_ fixture: Fixture) async throws -> TextMap<String> {
    let items = try await fixture.store.read { try $0.fetch(Item.self, "SELECT * FROM items") }
    return TextMap(items.map { ($0.id, $0.title) })
  }

  @Test("zones and records whose ids are spelled two ways stay apart: written, undone, confirmed, lost (I4)")
  func apart() async throws {
    let fixture = try await Self.downloaded()
    #expect(try await Self.titles(fixture) == ["i" + one: "Milk", "i" + two: "Milk"])
    try await fixture.store.write {
      try $0.update(Item.self, id: "i" + one) { $0.title = "first" }
      try $0.update(Item.self, id: "i" + two) { $0.title = "second" }
    }
    let set = try #require(try await fixture.outbox().first?.elements)
    #expect(TextSet(set.compactMap { $0["id"]?.stringValue }) == ["i" + one, "i" + two])
    #expect(set.map { $0["columns"] } == [["title": "first"], ["title": "second"]])
    try await fixture.store.undo()
    #expect(try await Self.titles(fixture) == ["i" + one: "Milk", "i" + two: "Milk"])
    try await fixture.confirm("\"zones\":[]")
    try await fixture.answer(#""zones":[],"lost":["\#(one)"]"#)
    #expect(try await Self.titles(fixture) == ["i" + two: "Milk"])
  }

  @Test("an edit from one spelling to the other is an edit, and two spellings are two unique values (I3)")
  func edits() async throws {
    let fixture = try await Self.downloaded()
    try await fixture.store.write { try $0.update(Item.self, id: "i" + one) { $0.title = one } }
    try await fixture.store.write { try $0.update(Item.self, id: "i" + one) { $0.title = two } }
    let sets = try await fixture.outbox()
    #expect(sets.count == 2 && sets[1].elements?.first?["columns"] == ["title": .string(two)])
    try await fixture.store.write { database in
      try database.update(Item.self, id: "i" + two) { $0.title = one }
    }
    let titles = try await Self.titles(fixture)
    #expect(titles["i" + one] == two && titles["i" + two] == one)
  }
}
