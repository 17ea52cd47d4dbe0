import Foundation
import Testing

@testable import Holdfast

@Suite("Zones that come in pages while they change")
struct PagedZoneTests {
  private func empty() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    return fixture
  }

  private static let otherList =
    #"{"table":"lists","id":"\#(IDs.other)","rev":1,"seq":1,"columns":{"title":"Other"}}"#

  private static func moved(_ title: String, rev: Int) -> String {
    IDs.itemChange(title, rev: rev).replacingOccurrences(
      of: "\"list_id\":\"\(IDs.list)\"", with: "\"list_id\":\"\(IDs.other)\"")
  }
  private static func gone(rev: Int) -> String {
    IDs.itemGone.replacingOccurrences(of: "\"rev\":9", with: "\"rev\":\(rev)")
  }

  @Test("an item that leaves a zone between two of its pages stays where it went (I7)")
  func leaves() async throws {
    let fixture = try await empty()
    try await fixture.answer(
      IDs.part(IDs.listChange + "," + IDs.itemChange("Milk"), to: "0000000a.2", more: true))
    try await fixture.answer(
      #""zones":[{"zone":"\#(IDs.other)","role":"owner","from":"","to":"0000000a.2","more":false,"changes":[\#(Self.otherList),\#(Self.moved("Milk", rev: 2))]}]"#
    )
    #expect(try await fixture.value("SELECT zone FROM items") == .text(IDs.other))
    try await fixture.answer(IDs.part(Self.gone(rev: 2), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.value("SELECT zone FROM items") == .text(IDs.other))
    #expect(try await fixture.value("SELECT list_id FROM items") == .text(IDs.other))
  }

  @Test("an item that leaves between two pages stays where it went with what was typed here (I3, I7)")
  func leavesEdited() async throws {
    let fixture = try await empty()
    try await fixture.answer(
      IDs.part(IDs.listChange + "," + IDs.itemChange("Milk"), to: "0000000a.2", more: true))
    try await fixture.answer(
      #""zones":[{"zone":"\#(IDs.other)","role":"owner","from":"","to":"0000000a.2","more":false,"changes":[\#(Self.otherList),\#(Self.moved("Milk", rev: 2))]}]"#
    )
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "mine" } }
    try await fixture.answer(IDs.part(Self.gone(rev: 2), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.value("SELECT title FROM items") == .text("mine"))
    try await fixture.confirm("\"zones\":[]", refusing: 1)
    #expect(try await fixture.value("SELECT title FROM items") == .text("Milk"))
    #expect(try await fixture.value("SELECT rev FROM items") == .integer(2))
  }

  @Test("an item deleted in one page and restored in a later one is there (I7)")
  func restored() async throws {
    let fixture = try await empty()
    try await fixture.answer(IDs.part(IDs.listChange + "," + Self.gone(rev: 2), to: "0000000a.2", more: true))
    try await fixture.answer(IDs.part(IDs.itemChange("Milk", rev: 3), from: "0000000a.2", to: "0000000a.3"))
    #expect(try await fixture.value("SELECT title FROM items") == .text("Milk"))
  }

  @Test("a zone resynced by a restored server takes the place of newer copies elsewhere (I7)")
  func restoredServer() async throws {
    let fixture = try await empty()
    try await fixture.answer(IDs.part(IDs.listChange))
    let zone = #"{"zone":"\#(IDs.other)","role":"owner","from":"","to":"0000000a.2","more":false,"changes":["#
    try await fixture.answer("\"zones\":[\(zone)\(Self.otherList),\(Self.moved("Milk", rev: 5))]}]")
    try await fixture.answer(
      #""zones":[{"zone":"\#(IDs.list)","reset":true},{"zone":"\#(IDs.other)","reset":true}]"#)
    try await fixture.answer(
      IDs.part(IDs.listChange + "," + IDs.itemChange("Milk", rev: 1), to: "0000000b.2"))
    try await fixture.answer("\"zones\":[\(zone)\(Self.otherList)]}]")
    #expect(try await fixture.value("SELECT zone FROM items") == .text(IDs.list))
  }

  @Test("a part for which the answer had no room leaves the page before it whole (I4)")
  func noRoom() async throws {
    let fixture = try await empty()
    try await fixture.answer(IDs.part(IDs.listChange, to: "0000000a.1", more: true))
    let applied = try await fixture.answer(
      IDs.part("", from: "0000000a.1", to: "0000000a.1", more: true))
    #expect(applied.hasMore)
    try await fixture.answer(IDs.part(IDs.itemChange("Milk"), from: "0000000a.1", to: "0000000a.2"))
    #expect(
      try await fixture.value("SELECT count(*) FROM items JOIN lists ON lists.id = list_id") == .integer(1))
  }

  @Test("a record confirmed but not downloaded before a reset goes when the server has it no more (I7, I8)")
  func confirmedThenReset() async throws {
    let fixture = try await empty()
    try await fixture.answer(IDs.part(IDs.listChange))
    try await fixture.store.write { try $0.insert(Item(id: IDs.item, list_id: IDs.list, title: "Milk")) }
    try await fixture.confirm(#""zones":[{"zone":"\#(IDs.list)","reset":true}]"#)
    try await fixture.confirm(IDs.part(IDs.listChange, to: "0000000b.9"))
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
  }

  @Test("opening the file leaves a page that another store is just saving, and takes what nobody knows (I4)")
  func openings() async throws {
    let fixture = try await empty()
    try await fixture.answer(IDs.part(IDs.listChange, to: "0000000a.1", more: true))
    let folder = fixture.path + "-pages"
    try Data([91, 93]).write(to: URL(fileURLWithPath: folder + "/left-over"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2)
    let other = try Store(path: fixture.path, schema: fixture.store.schema)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
    try await fixture.answer("\"lost\":[\"\(IDs.list)\"]")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    _ = other
  }

  @Test("a page whose answer fails leaves no file, so that a full disk does not get fuller (I2)")
  func failedPage() async throws {
    let fixture = try await empty()
    let broken =
      #""zones":[{"zone":"\#(IDs.list)","from":"","to":"0000000a.1","more":true,"changes":[\#(IDs.listChange)]},"#
      + #"{"zone":"\#(IDs.other)","from":"","to":"0000000a.1","more":false,"changes":[{"table":"lists","id":"x","rev":1}]}]"#
    await #expect(throws: Problem.self) { try await fixture.answer(broken) }
    let files = (try? FileManager.default.contentsOfDirectory(atPath: fixture.path + "-pages")) ?? []
    #expect(files.isEmpty)
  }
}
