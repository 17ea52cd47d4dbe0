import Foundation
import HoldfastCore
import HoldfastSQLite
import Testing

@testable import Holdfast

/// Answers that concern many zones: docs/PROTOCOL.md, section 6.3.
@Suite("Answers about many zones")
struct ManyZonesTests {
  private static let third = "0193aaaa-0000-7000-8000-000000000003"

  private static func change(_ table: String, _ id: String, rev: Int, _ columns: String) -> String {
    #"{"table":"\#(table)","id":"\#(id)","rev":\#(rev),"seq":\#(rev),"columns":{\#(columns)}}"#
  }

  private static func list(_ id: String) -> String { change("lists", id, rev: 1, #""title":"Home""#) }

  private static func item(_ number: Int, of list: String, rev: Int = 1) -> String {
    change(
      "items", "0193aaaa-0000-7000-8000-2000000\(10000 + number)", rev: rev,
      #""list_id":"\#(list)","title":"item \#(number)","done":false,"price":null,"after_id":null"#)
  }

  private static func part(
    _ zone: String, _ changes: [String], from: String = "", to: String = "0000000a.2"
  ) -> String {
    #"{"zone":"\#(zone)","role":"owner","from":"\#(from)","to":"\#(to)","more":false,"remaining":0,"changes":[\#(changes.joined(separator: ","))]}"#
  }

  private static func zones(_ parts: [String]) -> String { "\"zones\":[\(parts.joined(separator: ","))]" }

  private static func resets(_ zones: [String], isRestored: Bool = false) -> String {
    self.zones(zones.map { #"{"zone":"\#($0)","reset":true,"restored":\#(isRestored)}"# })
  }

  private static func names(_ member: String, _ zones: [String]) -> String {
    "\"\(member)\":[\(zones.map { "\"\($0)\"" }.joined(separator: ","))]"
  }

  private static func awaiting(_ zones: [String]) -> String {
    "\"awaiting_recovery\":[\(zones.map { #"{"zone":"\#($0)"}"# }.joined(separator: ","))]"
  }

  // MARK: Work

  /// What many zones go through.
  enum Fate: CaseIterable {
    case resynced, restored, lost, notRecovered, claimed, opened
  }

  private static let many = (0..<300).map { "0193aaaa-0000-7000-8000-1000000\(10000 + $0)" }

  private static func answers(_ fate: Fate) -> [String] {
    let whole = zones(many.map { part($0, [list($0)]) })
    return switch fate {
    case .resynced: [resets(many), whole]
    case .restored: [resets(many, isRestored: true), zones(many.map { part($0, []) })]
    case .lost, .opened: [names("lost", many)]
    case .notRecovered: [awaiting(many), names("lost", many)]
    case .claimed: [names("prove", many), "\"resend\":false"]
    }
  }

  /// The work of the database when many zones meet a fate, in units of 20,000 of its steps.
  ///
  /// - Parameter count: the number of records in another zone.
  private func work(_ fate: Fate, elsewhere count: Int) async throws -> Int {
    let fixture = try Fixture()
    try await fixture.signIn()
    let items = (0..<count).map { Self.item($0, of: IDs.list) }
    try await fixture.answer(
      Self.zones(
        [Self.part(IDs.list, [Self.list(IDs.list)] + items)]
          + Self.many.map { Self.part($0, [Self.list($0)]) })
    )
    var work = 0
    for members in Self.answers(fate) {
      work += try await fixture.store.writer.perform { local in
        try Self.steps(of: local) {
          let state = try local.state()
          let body = Fixture.whole(
            #"{"clock":"0193aaaa00000000","confirmed":\#(state.confirmed),"chain":"\#(state.confirmedChain.text)",\#(members)}"#
          )
          let request = try #require(try RequestPreparation(database: local).prepare(changeSetLimit: 500))
          _ = try AnswerApplying(
            database: local, answer: SyncAnswer(body: body), body: body, request: request
          ).run()
        }
      }
    }
    let lists = try await fixture.value("SELECT count(*) FROM lists")?.integer
    switch fate {
    case .resynced, .restored, .claimed: #expect(lists == 301)
    case .lost, .notRecovered: #expect(lists == 1)
    case .opened:
      return try await fixture.store.writer.perform { local in
        try Self.steps(of: local) { _ = try Mending(database: local).mendNow() }
      }
    }
    return work
  }

  private static func steps(of local: LocalDatabase, _ body: () throws -> Void) throws -> Int {
    var steps = 0
    try local.connection.run(
      until: {
        steps += 1
        return false
      }, body)
    return steps
  }

  @Test("many zones take one look at the records of others, not one each (I12)", arguments: Fate.allCases)
  func looks(_ fate: Fate) async throws {
    let alone = try await work(fate, elsewhere: 0)
    let beside = try await work(fate, elsewhere: 3000)
    // A look at 3,000 records is about 1 for each table and statement. One for each zone would be 300 times as much.
    #expect(beside - alone < 40)
  }

  // MARK: What stays

  /// A device with three lists from the server: two with items, and one with an item that is not sent yet.
  private func downloaded() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(
      Self.zones([
        Self.part(
          IDs.list, [Self.list(IDs.list), Self.item(1, of: IDs.list), Self.item(2, of: IDs.list)]),
        Self.part(IDs.other, [Self.list(IDs.other), Self.item(3, of: IDs.other)]),
        Self.part(Self.third, [Self.list(Self.third), Self.item(4, of: Self.third)]),
      ]))
    try await fixture.store.write {
      try $0.execute("INSERT INTO items (list_id, title) VALUES (\(IDs.other), 'mine')")
    }
    return fixture
  }

  /// The items with the last digit of their zone.
  private func items(_ fixture: Fixture) async throws -> String? {
    try await fixture.value(
      "SELECT group_concat(title || ' in ' || substr(zone, -1), ', ') FROM (SELECT * FROM items ORDER BY title)"
    )?
    .text
  }

  @Test(
    "zones resynced by one answer lose what did not come, but not what moved between them, or is new here (I3, I7, I8)",
    arguments: [false, true])
  func resynced(isReversed: Bool) async throws {
    let fixture = try await downloaded()
    try await fixture.answer(Self.resets([IDs.list, IDs.other]))
    let parts = [
      Self.part(
        IDs.list, [Self.list(IDs.list), Self.item(1, of: IDs.list), Self.item(3, of: IDs.list, rev: 2)]),
      Self.part(IDs.other, [Self.list(IDs.other)]),
    ]
    try await fixture.answer(Self.zones(isReversed ? parts.reversed() : parts))
    #expect(try await items(fixture) == "item 1 in 1, item 3 in 1, item 4 in 3, mine in 2")
  }

  @Test(
    "a record that came to a zone after the backup is recovered, also where the server has deleted it in the zone before (I3)",
    arguments: [false, true])
  func movedBeforeRestore(isReversed: Bool) async throws {
    let fixture = try await downloaded()
    try await fixture.answer(Self.resets([IDs.list, IDs.other], isRestored: true))
    let gone =
      #"{"table":"items","id":"0193aaaa-0000-7000-8000-200000010003","rev":2,"seq":9,"deleted":true,"deleted_at":"2026-01-01T00:00:00.000Z"}"#
    let parts = [
      Self.part(
        IDs.list, [Self.list(IDs.list), Self.item(1, of: IDs.list), Self.item(2, of: IDs.list), gone]),
      Self.part(IDs.other, [Self.list(IDs.other)]),
    ]
    try await fixture.answer(Self.zones(isReversed ? parts.reversed() : parts))
    #expect(try await items(fixture) == "item 1 in 1, item 2 in 1, item 3 in 2, item 4 in 3, mine in 2")
    #expect(
      try await fixture.value(
        "SELECT group_concat(substr(id, -5) || ' in ' || substr(zone, -1)) FROM holdfast_recovered")?
        .text == "10003 in 2")
  }

  @Test(
    "a recovered record that lacks one of a later request is sent again behind all others, once (I2, I12)")
  func sentAgain() async throws {
    let fixture = try await downloaded()
    try await fixture.answer(Self.resets([IDs.list], isRestored: true))
    try await fixture.answer(Self.zones([Self.part(IDs.list, [Self.list(IDs.list)])]))
    func waiting() async throws -> String? {
      try await fixture.value(
        "SELECT group_concat(substr(id, -5)) FROM (SELECT id FROM holdfast_recovered ORDER BY n)")?.text
    }
    func refused(_ count: Int) -> String {
      #""refused":[],"recovered":{"count":\#(count),"refused":[{"index":0,"problem":{"code":"reference-missing"}}]}"#
    }
    #expect(try await waiting() == "10001,10002")
    #expect(try await fixture.answer(refused(1)).quarantined == 0)
    #expect(try await waiting() == "10002,10001")
    #expect(try await fixture.answer(refused(2)).quarantined == 0)
    #expect(try await waiting() == "10002")
    #expect(try await fixture.answer(refused(1)).quarantined == 1)
    #expect(try await waiting() == nil)
  }

  @Test("what comes with a zone that an answer names twice stays (I7)")
  func twice() async throws {
    let fixture = try await downloaded()
    try await fixture.answer(Self.resets([IDs.list]))
    try await fixture.answer(
      Self.zones([
        Self.part(IDs.list, [Self.list(IDs.list), Self.item(1, of: IDs.list)]),
        Self.part(IDs.list, [Self.item(5, of: IDs.list)], from: "0000000a.2", to: "0000000a.5"),
      ]))
    #expect(try await items(fixture) == "item 1 in 1, item 3 in 2, item 4 in 3, item 5 in 1, mine in 2")
  }

  @Test("zones lost by one answer go with their records, and others stay (I10)")
  func lost() async throws {
    let fixture = try await downloaded()
    try await fixture.store.write { try $0.execute("DELETE FROM items WHERE title = 'item 2'") }
    try await fixture.answer(Self.names("lost", [IDs.list, IDs.list, Self.third]))
    #expect(try await items(fixture) == "item 3 in 2, mine in 2")
    #expect(
      try await fixture.value("SELECT group_concat(kind) FROM holdfast_edits WHERE kind <> 'update'")?.text
        == "create")
    #expect(
      try await fixture.value("SELECT count(*) FROM holdfast_zones WHERE ack IS NULL")?.integer == 2)
  }

  @Test("zones that were not recovered are kept in quarantine, each in a change set of its own (I3)")
  func notRecovered() async throws {
    let fixture = try await downloaded()
    try await fixture.answer(Self.awaiting([IDs.list, Self.third]))
    let applied = try await fixture.answer(Self.names("lost", [Self.third, IDs.list, IDs.list]))
    #expect(applied.quarantined == 2)
    let sets = try await fixture.store.writer.perform { local in
      try local.connection.rows("SELECT body FROM holdfast_quarantine ORDER BY n").map {
        try JSONValue(parsing: $0[0].blob ?? []).elements?.count
      }
    }
    #expect(sets == [3, 2])
    #expect(try await items(fixture) == "item 3 in 2, mine in 2")
  }
}
