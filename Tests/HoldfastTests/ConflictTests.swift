import Foundation
import Testing

@testable import Holdfast

@Suite("Conflicts on the device")
struct ConflictTests {
  private static let id = "0193aaaa-0000-7000-8000-0000000000c1"

  private static func conflict(
    _ policy: String, column: String = "title", winner: String = #""Theirs""#, loser: String = #""Mine""#,
    id: String = id, record: String = IDs.item, resolution: String = "null", rev: Int = 1,
    device: String = "d2"
  ) -> String {
    #"{"table":"conflicts","id":"\#(id)","rev":\#(rev),"seq":9,"columns":{"record_table":"items","record_id":"\#(record)","column_name":"\#(column)","policy":"\#(policy)","base":"Milk","winner_value":\#(winner),"loser_value":\#(loser),"winner_user":"u1","winner_device":"d1","winner_at":"2026-01-01T00:00:00.000Z","loser_user":"u2","loser_device":"\#(device)","loser_at":"2026-01-01T00:00:01.000Z","resolution":\#(resolution),"resolved_by":null,"resolved_at":null}}"#
  }

  /// A device with a list, an item called "Theirs", and conflicts.
  private static func fixture(_ conflicts: String..., item: String? = nil) async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    let changes = [IDs.listChange, item ?? IDs.itemChange("Theirs", rev: 2)] + conflicts
    try await fixture.answer(IDs.part(changes.filter { !$0.isEmpty }.joined(separator: ",")))
    return fixture
  }

  private static func only(_ fixture: Fixture) async throws -> Conflict {
    try #require(try await fixture.store.read { try $0.conflicts() }.first)
  }

  @Test("a conflict has both values, who wrote them and when; questions are those of ask without an answer")
  func form() async throws {
    let fixture = try await Self.fixture(
      Self.conflict("ask"), Self.conflict("latest", id: "0193aaaa-0000-7000-8000-0000000000c2"),
      Self.conflict("ask", id: "0193aaaa-0000-7000-8000-0000000000c3", resolution: #""other""#))
    let all = try await fixture.store.read { try $0.conflicts() }
    #expect(all.count == 3)
    let open = try await fixture.store.read { try $0.conflicts(onlyOpen: true) }
    #expect(open.map(\.id) == [Self.id])
    let conflict = try #require(open.first)
    #expect(conflict.isOpen && conflict.base == "Milk")
    #expect(
      conflict.winner
        == .init(value: "Theirs", user: "u1", device: "d1", at: "2026-01-01T00:00:00.000Z"))
    #expect(conflict.loser.value == "Mine")
    #expect((conflict.recordTable, conflict.recordID, conflict.column) == ("items", IDs.item, "title"))
  }

  @Test("the value that lost is taken by one change set: the record's column and the choice (I6)")
  func takeLoser() async throws {
    let fixture = try await Self.fixture(Self.conflict("ask"))
    let conflict = try await Self.only(fixture)
    try await fixture.store.write { try $0.resolve(conflict, taking: .loser) }
    #expect(try await fixture.value("SELECT title FROM items") == "Mine")
    #expect(try await fixture.value("SELECT resolution FROM conflicts") == "loser")
    let sets = try await fixture.outbox()
    #expect(sets.count == 1)
    let operations = try #require(sets.first?.elements)
    #expect(operations.map { $0["table"]?.stringValue } == ["items", "conflicts"])
    #expect(operations[1]["columns"] == ["resolution": "loser"])
    #expect(operations[1]["base"] == ["resolution": nil])
    #expect(try await fixture.store.read { try $0.conflicts(onlyOpen: true) }.isEmpty)
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.write { try $0.resolve(conflict, taking: .winner) }
    }
    #expect(error?.code == .conflictResolved)
  }

  @Test("the winner leaves the record as it is; another value is checked, and closes as other")
  func takeOthers() async throws {
    let fixture = try await Self.fixture(Self.conflict("ask"))
    let conflict = try await Self.only(fixture)
    let error = await #expect(throws: Problem.self) {
      try await fixture.store.write { try $0.resolve(conflict, taking: .value(7)) }
    }
    #expect(error?.code == .invalidValue)
    #expect(try await fixture.outbox().isEmpty)
    try await fixture.store.write { try $0.resolve(conflict, taking: .winner) }
    #expect(try await fixture.outbox().first?.elements?.map { $0["table"] } == ["conflicts"])
    try await fixture.refuse(1)
    try await fixture.store.write { try $0.resolve(conflict, taking: .value("Oat")) }
    #expect(try await fixture.value("SELECT title FROM items") == "Oat")
    #expect(try await fixture.value("SELECT resolution FROM conflicts") == "other")
  }

  @Test("a choice that came too late is rolled back, and waits in quarantine with its reason (I3)")
  func tooLate() async throws {
    let fixture = try await Self.fixture(Self.conflict("ask"))
    let conflict = try await Self.only(fixture)
    try await fixture.store.write { try $0.resolve(conflict, taking: .loser) }
    let chain = try await fixture.store.writer.perform { try $0.state().chain.text }
    let part = IDs.part(
      Self.conflict("ask", resolution: #""winner""#, rev: 2), from: "0000000a.2", to: "0000000a.3")
    let problem = String(decoding: Problem(.conflictResolved).document, as: UTF8.self)
    _ = try await fixture.answer(
      body: Fixture.whole(
        #"{"clock":"0193aaaa00000000","confirmed":2,"chain":"\#(chain)",\#(part),"refused":[{"first":1,"last":2,"operation":2,"problem":\#(problem)}]}"#
      ))
    #expect(try await fixture.value("SELECT title FROM items") == "Theirs")
    #expect(try await fixture.value("SELECT resolution FROM conflicts") == "winner")
    let set = try #require(try await fixture.store.quarantined().first)
    #expect(set.problem?.code == .conflictResolved && set.operation == 1)
    #expect(set.reason.contains("The conflict is already resolved"))
  }

  @Test("people write the resolution of a conflict, once, and nothing else of it")
  func guarded() async throws {
    let fixture = try await Self.fixture(Self.conflict("latest"))
    for statement in [
      "UPDATE conflicts SET resolution = 'maybe'", "UPDATE conflicts SET loser_value = '1'",
      "UPDATE conflicts SET resolution = 'winner', resolved_by = 'me'",
      "UPDATE conflicts SET resolution = NULL",
      "DELETE FROM conflicts", "INSERT INTO conflicts SELECT * FROM conflicts",
      "UPDATE conflicts SET resolution = 'winner', id = 'x'", "UPDATE conflicts SET rev = 9",
    ] {
      await #expect(throws: SQLiteError.self) { try await fixture.store.write { try $0.execute(statement) } }
    }
    try await fixture.store.write { try $0.execute("UPDATE conflicts SET resolution = 'other'") }
    await #expect(throws: SQLiteError.self) {
      try await fixture.store.write { try $0.execute("UPDATE conflicts SET resolution = 'winner'") }
    }
    #expect(try await fixture.store.waitingOperations() == 1)
  }

  @Test("of a record that is not here no value is taken, but the winner closes the question (I3)")
  func gone() async throws {
    let fixture = try await Self.fixture(Self.conflict("ask"), item: "")
    let conflict = try await Self.only(fixture)
    for choice in [Conflict.Choice.loser, .value("Oat")] {
      let error = await #expect(throws: StoreError.self) {
        try await fixture.store.write { try $0.resolve(conflict, taking: choice) }
      }
      #expect(error?.code == .recordMissing)
    }
    try await fixture.store.write { try $0.resolve(conflict, taking: .winner) }
    #expect(try await fixture.store.read { try $0.conflicts(onlyOpen: true) }.isEmpty)
    #expect(try await fixture.outbox().map { $0.elements?.map { $0["table"] } } == [["conflicts"]])
  }

  @Test("a deleted record comes back by taking the loser (I8)")
  func deleted() async throws {
    let fixture = try await Self.fixture(
      Self.conflict("delete", winner: "null"),
      Self.conflict(
        "delete", column: "list_id", winner: "null", loser: "\"\(IDs.list)\"",
        id: "0193aaaa-0000-7000-8000-0000000000c2"),
      Self.conflict(
        "delete", column: "price", winner: "null", loser: "2.5", id: "0193aaaa-0000-7000-8000-0000000000c3"),
      item: "")
    let log = try await fixture.store.read { try $0.conflicts() }
    try await fixture.store.write { try $0.resolve(log[0], taking: .loser) }
    #expect(
      try await fixture.store.read { try $0.find(Item.self, id: IDs.item) }
        == Item(id: IDs.item, list_id: IDs.list, title: "Mine", price: 2.5))
    #expect(try await fixture.value("SELECT count(*) FROM conflicts WHERE resolution = 'loser'") == 3)
    #expect(try await fixture.outbox().first?.elements?.first?["op"] == "create")
  }

  @Test("a deleted record of which the log lacks a required value does not come back; the column is named")
  func deletedInPart() async throws {
    let fixture = try await Self.fixture(
      Self.conflict("delete", column: "price", winner: "null", loser: "2.5"), item: "")
    let conflict = try await Self.only(fixture)
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.write { try $0.resolve(conflict, taking: .loser) }
    }
    #expect(error?.code == .valueUnfit)
    #expect(error?.description.contains("does not have the title of") == true)
    try await fixture.store.write { try $0.resolve(conflict, taking: .winner) }
    #expect(try await fixture.value("SELECT resolution FROM conflicts") == "winner")
  }

  @Test("values that are arrays, and texts that look like some, are read as they are")
  func arrays() async throws {
    let fixture = try await Self.fixture(
      Self.conflict("ask", column: "tags", winner: #"["a"]"#, loser: #""[b]""#),
      item: IDs.itemChange("[urgent] Milk"))
    let conflict = try await Self.only(fixture)
    #expect(conflict.winner.value == ["a"] && conflict.loser.value == "[b]")
    #expect(try await fixture.store.read { try $0.find(Item.self, id: IDs.item) }?.title == "[urgent] Milk")
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.write { try $0.resolve(conflict, taking: .loser) }
    }
    #expect(error?.description.contains("items.tags") == true)
    try await fixture.store.write { try $0.resolve(conflict, taking: .winner) }
    #expect(try await fixture.store.read { try $0.conflicts(onlyOpen: true) }.isEmpty)
  }

  @Test("a live query of conflicts says what arrives and what is closed")
  func live() async throws {
    let fixture = try await Self.fixture(Self.conflict("ask"))
    var states = fixture.store.liveConflicts(onlyOpen: true).makeAsyncIterator()
    let first = try #require(try await states.next())
    #expect(first.count == 1)
    try await fixture.store.write { try $0.resolve(first[0], taking: .winner) }
    #expect(try await states.next() == [])
  }

  @Test("a rule of the app answers the questions of this device's edits as they come, and no others (I3)")
  func answeredByRule() async throws {
    let fixture = try await Self.fixture(Self.conflict("ask", device: "somebody else's"))
    let (asked, ask) = AsyncStream.makeStream(of: String.self)
    let rule = Task {
      try await fixture.store.answerQuestions(of: "items", column: "title") { question, _ in
        ask.yield(question.id)
        guard let mine = question.loser.value?.stringValue, let theirs = question.winner.value?.stringValue
        else { return nil }
        return .value(.text("\(theirs), \(mine)"))
      }
    }
    let own = "0193aaaa-0000-7000-8000-0000000000c2"
    let change = Self.conflict("ask", id: own, device: "0193aaaa-0000-7000-8000-00000000000d")
    try await fixture.answer(IDs.part(change, from: "0000000a.2", to: "0000000a.3"))
    for await id in asked {
      #expect(id == own)
      break
    }
    let questions = fixture.store.live(Conflict.where(\.resolution == nil))
    for try await open in questions where open.map(\.id) == [Self.id] { break }
    #expect(try await fixture.value("SELECT title FROM items") == "Theirs, Mine")
    rule.cancel()
    _ = try? await rule.value
  }
}
