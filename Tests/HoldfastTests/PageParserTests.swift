import HoldfastCore
import Testing

@testable import Holdfast

@Suite("Pages as they are read off the wire")
struct PageParserTests {
  private func applied(_ changes: String, pages: Int) async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    for page in 0..<pages {
      let from = page == 0 ? "" : "0000000a.\(page)"
      try await fixture.answer(
        IDs.part(page == 0 ? changes : "", from: from, to: "0000000a.\(page + 1)", more: page + 1 < pages))
    }
    return fixture
  }

  @Test(
    "members in any order, escapes and absent columns give the same record, staged or not", arguments: 1...3)
  func order(pages: Int) async throws {
    let item =
      #"{"columns":{"title":"M\u0069lk\n","unknown":[1],"list_id":"\#(IDs.list)","price":2},"rev":3,"id":"0193aaaa\u002d0000-7000-8000-000000000011","table":"items"}"#
    let unknown = #"{"table":"unheard_of","id":"x","rev":1,"columns":{"a":{"b":[]}}}"#
    let fixture = try await applied([item, unknown, IDs.listChange].joined(separator: ","), pages: pages)
    #expect(try await fixture.value("SELECT id FROM items") == .text(IDs.item))
    #expect(try await fixture.value("SELECT title FROM items") == .text("Milk\n"))
    #expect(try await fixture.value("SELECT rev FROM items") == .integer(3))
    #expect(try await fixture.value("SELECT price FROM items") == .real(2))
    #expect(try await fixture.value("SELECT done FROM items") == .integer(0))
    #expect(try await fixture.value("SELECT count(*) FROM items WHERE after_id IS NULL") == .integer(1))
  }

  @Test("a page that can not be read is refused as a whole, wherever it stands (I4)", arguments: 1...3)
  func broken(pages: Int) async throws {
    let changes = IDs.listChange + "," + #"{"table":"lists","id":"\#(IDs.other)","rev":1}"#
    if pages == 1 {
      await #expect(throws: Problem.self) { _ = try await applied(changes, pages: pages) }
      return
    }
    let fixture = try await applied(changes, pages: pages)
    // The zone begins again; the second time in an hour it does not.
    #expect(try await fixture.value("SELECT count(*) FROM lists") == .integer(0))
    #expect(
      try await fixture.value("SELECT ack FROM holdfast_zones WHERE ack IS NOT NULL AND zone = '\(IDs.list)'")
        == .text(""))
    try await fixture.answer(IDs.part(changes, to: "0000000a.2", more: true))
    await #expect(throws: Problem.self) {
      try await fixture.answer(IDs.part("", from: "0000000a.2", to: "0000000a.3"))
    }
  }

  @Test("of what is made ahead, each asking gets the same, or the same error")
  func ahead() throws {
    let sum = Ahead { (1...100).reduce(0, +) }
    #expect(try sum.value() == 5050)
    #expect(try sum.value() == 5050)
    let failing = Ahead<Int> { throw StoreError(.databaseIsBroken, "") }
    #expect(throws: StoreError.self) { try failing.value() }
    #expect(throws: StoreError.self) { try failing.value() }
  }
}
