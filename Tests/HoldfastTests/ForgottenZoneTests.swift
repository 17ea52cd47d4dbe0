import HoldfastCore
import HoldfastSQLite
import Testing

@testable import Holdfast

/// What a device does when the server has purged deletions: docs/RETENTION.md, sections 3 and 4.
@Suite("Zones that have purged deletions")
struct ForgottenZoneTests {
  private static let reset = #""zones":[{"zone":"\#(IDs.list)","reset":true}]"#

  /// A device with a list and an item from the server.
  private func downloaded() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk"))"))
    return fixture
  }

  private func waiting(_ fixture: Fixture) async throws -> [String] {
    try await fixture.store.waitingZones().map(\.zone)
  }

  private func ack(_ fixture: Fixture) async throws -> String? {
    try await fixture.value("SELECT ack FROM holdfast_zones")?.text
  }

  @Test("a zone that is to be resynced a second time within an hour waits, and stays as it is (I3, I12)")
  func paced() async throws {
    let fixture = try await downloaded()
    try await fixture.answer(Self.reset)
    #expect(try await ack(fixture) == "")
    try await fixture.answer(IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk"))"))
    let applied = try await fixture.answer(Self.reset)
    #expect(!applied.hasMore && applied.resetWait != nil)
    #expect(try await ack(fixture) == "0000000a.2")
    #expect(try await waiting(fixture) == [IDs.list])
    #expect(try await fixture.value("SELECT title FROM items")?.text == "Milk")
    // The server does not want it any more.
    try await fixture.answer("\"resend\":false")
    #expect(try await waiting(fixture).isEmpty)
  }

  @Test(
    "a server that is restored twice within an hour gets what it lacks at once, one that never ends waits (I3, I12)"
  )
  func restoredTwice() async throws {
    let fixture = try await downloaded()
    let restored = #""zones":[{"zone":"\#(IDs.list)","reset":true,"restored":true}]"#
    for _ in 1...4 {
      #expect(try await fixture.answer(restored).hasMore)
      #expect(try await ack(fixture) == "")
      try await fixture.answer(IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk"))"))
    }
    #expect(try await fixture.answer(restored).resetWait != nil)
    #expect(try await waiting(fixture) == [IDs.list])
    // Nor does one wait behind a reset of another reason.
    let other = try await downloaded()
    for answer in [Self.reset, IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk"))"), Self.reset] {
      try await other.answer(answer)
    }
    #expect(try await waiting(other) == [IDs.list])
    #expect(try await other.answer(restored).hasMore)
    #expect(try await waiting(other).isEmpty)
    #expect(try await ack(other) == "")
  }

  @Test("the wait doubles with each reset, up to an hour; a clock that goes back makes it no longer (I12)")
  func doubling() async throws {
    let fixture = try await downloaded()
    for minutes in [1, 2, 4, 8, 16, 32, 60, 60] as [Int64] {
      let wait = try await fixture.store.writer.perform { local in
        // At first, and again when it is over.
        _ = try ResetPacing(database: local).mayReset(IDs.list)
        #expect(try !ResetPacing(database: local).mayReset(IDs.list))
        let wait = try ResetPacing(database: local).wait() ?? .zero
        try local.connection.run("UPDATE holdfast_resets SET until = until + 86400000")
        #expect(try !ResetPacing(database: local).mayReset(IDs.list))
        #expect(try ResetPacing(database: local).wait() ?? .zero <= .seconds(3600))
        try local.connection.run("UPDATE holdfast_resets SET until = 1")
        return wait
      }
      #expect(wait > .seconds(60 * minutes - 30) && wait <= .seconds(60 * minutes))
    }
  }

  @Test("a zone of which the device has nothing is begun when the server wants it resynced (I4, I12)")
  func unknown() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    #expect(try await fixture.answer(Self.reset).hasMore)
    let request = try #require(
      try await fixture.store.writer.perform {
        try RequestPreparation(database: $0).prepare(changeSetLimit: 1)
      })
    #expect(request.acks.map(\.zone) == [IDs.list] && request.acks.map(\.token) == [""])
    try await fixture.answer(IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk"))"))
    #expect(try await fixture.value("SELECT title FROM items")?.text == "Milk")
  }

  @Test(
    "what was created here and arrived, and was deleted and purged before its zone came, leaves (I7, I8)",
    arguments: ["\"zones\":[]", IDs.part(IDs.listChange), IDs.part(IDs.listChange, more: true)])
  func createdAndPurged(_ zones: String) async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Groceries")) }
    try await fixture.store.write { try $0.insert(Item(id: IDs.item, list_id: IDs.list, title: "Milk")) }
    #expect(try await fixture.confirm(zones).hasMore)
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(1))
    let ack = try #require(try await ack(fixture))
    try await fixture.answer(IDs.part(IDs.listChange, from: ack, to: "0000000a.3"))
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
    #expect(try await fixture.value("SELECT count(*) FROM lists") == .integer(1))
  }
}
