import Foundation
import HoldfastCore
import HoldfastSQLite
import Testing

@testable import Holdfast

/// Answers of a server at fault, or of a network that damages or repeats what it carries, and what they leave behind: PROTOCOL.md, sections 6.2 and
/// 6.3.
@Suite("Answers that bring nothing, or what can't be")
struct FruitlessAnswerTests {
  private func empty() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    return fixture
  }

  /// A page of the list's zone is staged, and its ack was sent.
  private func staged() async throws -> Fixture {
    let fixture = try await empty()
    try await fixture.answer(IDs.part(IDs.listChange, to: "0000000a.2", more: true))
    return fixture
  }

  private func ack(_ fixture: Fixture) async throws -> SQLiteValue? {
    try await fixture.value("SELECT ack FROM holdfast_zones WHERE zone = '\(IDs.list)'")
  }

  @Test("answers that bring little are followed at once for a while, then as after a failure (I12)")
  func fruitless() {
    let little = SyncMachine.Event.answered(hasMore: true, progress: .little)
    var machine = SyncMachine(isSignedIn: true, random: { .max })
    _ = machine.handle(.launched)
    for _ in 0..<SyncMachine.patience {
      #expect(machine.handle(little).last == .send(changeSetLimit: SyncMachine.changeSetLimit))
    }
    guard case .finish(.later)? = machine.handle(little).last else {
      Issue.record("It went on.")
      return
    }
    // From then on each try is one request, and the waits grow.
    for _ in 0..<3 {
      _ = machine.handle(.timer)
      guard case .finish(.later)? = machine.handle(little).last else {
        Issue.record("It went on.")
        return
      }
    }
    _ = machine.handle(.timer)
    #expect(
      machine.handle(.answered(hasMore: true)).last == .send(changeSetLimit: SyncMachine.changeSetLimit))
    #expect(machine.handle(little).last == .send(changeSetLimit: SyncMachine.changeSetLimit))
    #expect(machine.handle(.answered(hasMore: false, progress: .none)).last == .finish(nil))
  }

  @Test("pushes that tell of nothing are followed at once for a while; edits do not wait for them (I12)")
  func pushes() {
    let nothing = SyncMachine.Event.answered(hasMore: false, progress: .none)
    var machine = SyncMachine(isSignedIn: true, random: { 500 })
    for _ in 0..<SyncMachine.pushPatience {
      #expect(machine.handle(.pushed).last == .send(changeSetLimit: SyncMachine.changeSetLimit))
      _ = machine.handle(nothing)
    }
    #expect(machine.handle(.pushed) == [.schedule(.milliseconds(500))])
    #expect(machine.handle(.pushed) == [])
    #expect(machine.handle(.edited) == [.schedule(SyncMachine.debounce)])
    #expect(machine.handle(.pushed) == [])
    #expect(machine.handle(.timer).last == .send(changeSetLimit: SyncMachine.changeSetLimit))
    #expect(machine.handle(.pushed) == [])
    #expect(machine.handle(nothing) == [.schedule(.milliseconds(500)), .finish(nil)])
    // One that told of something.
    _ = machine.handle(.timer)
    _ = machine.handle(.answered(hasMore: false, progress: .little))
    #expect(machine.handle(.pushed).last == .send(changeSetLimit: SyncMachine.changeSetLimit))
  }

  @Test("a page that follows brings much, however small; one that brings no change does not (I7, I12)")
  func small() async throws {
    let fixture = try await staged()
    let item = IDs.listChange.replacing("\"seq\":1", with: "\"seq\":2")
    let page = IDs.part(item, from: "0000000a.2", to: "0000000a.3", more: true)
    #expect(try await fixture.answer(page).progress == .much)
    #expect(try await fixture.answer(page).progress == .little)
    let empty = IDs.part("", from: "0000000a.3", to: "0000000a.3", more: true)
    #expect(try await fixture.answer(empty).progress == .little)
  }

  @Test("a zone whose pages the server knows nothing of begins again (I4, I12)")
  func forgotten() async throws {
    let fixture = try await staged()
    let applied = try await fixture.answer("\"zones\":[]")
    #expect(applied.hasMore && applied.progress == .none)
    #expect(try await ack(fixture) == .text(""))
    #expect(try await fixture.value("SELECT count(*) FROM holdfast_pages") == .integer(0))
    try await fixture.answer(IDs.part(IDs.listChange))
    #expect(try await fixture.value("SELECT title FROM lists") == .text("Home"))
  }

  @Test(
    "a page that was damaged on the disk begins its zone again, whatever the damage (I2, I4)",
    arguments: 0..<3)
  func damaged(kind: Int) async throws {
    let fixture = try await staged()
    let folder = URL(fileURLWithPath: fixture.path + "-pages")
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder.path).first)
    let file = folder.appendingPathComponent(name)
    var bytes = try Data(contentsOf: file)
    switch kind {
    case 0: bytes = bytes.prefix(bytes.count / 2)
    case 1: bytes = Data(count: bytes.count)
    // A letter of a value: it is JSON as before.
    default: bytes = Data(String(decoding: bytes, as: UTF8.self).replacing("Home", with: "Hose").utf8)
    }
    try bytes.write(to: file)
    let applied = try await fixture.answer(IDs.part("", from: "0000000a.2", to: "0000000a.3"))
    #expect(applied.hasMore)
    #expect(try await ack(fixture) == .text(""))
    #expect(try await fixture.value("SELECT count(*) FROM lists") == .integer(0))
  }

  @Test("a value of another type, and null where one is required, are taken as none (I12)", arguments: 1...2)
  func unfit(pages: Int) async throws {
    let fixture = try await empty()
    let item =
      #"{"table":"items","id":"\#(IDs.item)","rev":1,"seq":2,"columns":{"list_id":"\#(IDs.list)","title":null,"done":"yes","price":[1],"after_id":null}}"#
    let changes = IDs.listChange.replacing("\"Home\"", with: "{\"a\":1}") + "," + item
    if pages == 1 {
      try await fixture.answer(IDs.part(changes))
    } else {
      try await fixture.answer(IDs.part(changes, to: "0000000a.2", more: true))
      try await fixture.answer(IDs.part("", from: "0000000a.2", to: "0000000a.3"))
    }
    #expect(try await fixture.value("SELECT title FROM lists") == .text(""))
    #expect(try await fixture.value("SELECT title FROM items") == .text(""))
    #expect(try await fixture.value("SELECT done FROM items") == .integer(0))
    #expect(try await fixture.value("SELECT price FROM items") == .null)
    // Below an edit, too.
    try await fixture.store.write { try $0.execute("UPDATE items SET price = 2") }
    let again = item.replacing("\"rev\":1", with: "\"rev\":2").replacing("null,\"done\"", with: "7,\"done\"")
    let (from, to) = pages == 1 ? ("0000000a.2", "0000000a.4") : ("0000000a.3", "0000000a.4")
    try await fixture.answer(IDs.part(again, from: from, to: to))
    #expect(try await fixture.value("SELECT rev FROM items") == .integer(2))
    #expect(try await fixture.value("SELECT price FROM items") == .real(2))
    #expect(try await fixture.value("SELECT title FROM items") == .text(""))
  }

  @Test("a clock that one answer puts far ahead follows the next one back (I7)")
  func clock() async throws {
    let fixture = try await empty()
    _ = try await fixture.answer(body: Fixture.whole(answer(clock: "7fffffffffffffff")))
    let far = try await fixture.value("SELECT last_server_clock FROM holdfast_local")
    #expect(far == .integer(.max))
    // Not while an edit has a stamp of it: the person's later edit would be the earlier one.
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    _ = try await fixture.answer(body: Fixture.whole(answer(clock: "0193aaaa00000000")))
    #expect(try await fixture.value("SELECT clock FROM holdfast_local") == .integer(.max))
    #expect(
      try await fixture.value("SELECT last_server_clock FROM holdfast_local")
        == .integer(Stamp("0193aaaa00000000")?.rawValue ?? 0))
    try await fixture.confirm("\"zones\":[]")
    let now = try #require(try await fixture.value("SELECT clock FROM holdfast_local")?.integer)
    #expect(Stamp(rawValue: now).milliseconds < Int64(Date().timeIntervalSince1970 * 1000) + 86_400_000)
  }

  @Test("a snapshot whose tables are views, or whose token is none, is not applied (I12)", arguments: 0..<3)
  func snapshot(kind: Int) async throws {
    let fixture = try SeedFixture()
    let store = try Store(path: fixture.path, schema: try SeedFixture.schema())
    let session = try fixture.session(SeedFixture.ann, "ann")
    try fixture.change { seed in
      switch kind {
      case 0: try seed.execute("UPDATE holdfast_zones SET token = 'garbage'")
      case 1:
        // It would never end.
        try seed.execute(
          """
          DROP TABLE lists; CREATE VIEW lists AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)
          SELECT 'x' AS id, '\(IDs.list)' AS zone, n AS rev, 'x' AS title FROM c WHERE n < 0
          """)
      default: break
      }
    }
    let count = try await store.writer.perform { local in
      try SessionStart(database: local).adopt(session)
      try Zones(database: local).add(IDs.list)
      let device = try local.state().device ?? ""
      do {
        return try SnapshotApplying(database: local).apply(
          snapshot: fixture.seed.path, of: IDs.list, device: device)
      } catch is SnapshotFile.Unfit { return -1 }
    }
    #expect(count == (kind == 2 ? 1 : -1))
  }

  @Test("what an answer has of names, tokens and proofs is bounded (I11)")
  func bounds() throws {
    let long = String(repeating: "x", count: 1001)
    for members in [
      "\"proof\":\"\(long)\"", "\"proofs\":{\"z\":\"\(long)\"}", "\"schema\":\"\(long)\"",
      "\"lost\":[\"\(long)\"]",
      IDs.part("", to: long), IDs.part("", to: "garbage"), IDs.part("", from: "garbage"),
      IDs.part("").replacing("owner", with: long),
    ] {
      let body = Fixture.whole(answer(clock: "0193aaaa00000000").dropLast() + "," + members + "}")
      #expect(throws: (any Error).self, "\(members.prefix(60))") { try SyncAnswer(body: body) }
    }
  }

  @Test("a proof that no request can carry is dropped (I12)")
  func longProof() async throws {
    let fixture = try await empty()
    try SQLiteConnection(path: fixture.path).run(
      "UPDATE holdfast_local SET proof = ?", [.text(String(repeating: "p", count: 1 << 20))])
    #expect(try await fixture.store.writer.perform { try Mending(database: $0).mendNow() })
    #expect(try await fixture.value("SELECT proof FROM holdfast_local") == .text(""))
  }

  @Test("a zone whose name is no ASCII stays, and one that is no text goes (I11, I12)")
  func foreignNames() async throws {
    let fixture = try await empty()
    let connection = try SQLiteConnection(path: fixture.path)
    for name in [
      "'über'", "'a' || char(10)", "CAST(x'c3' AS TEXT)", "'\(String(repeating: "ü", count: 33))'",
    ] {
      try connection.execute("INSERT INTO holdfast_zones (zone) VALUES (\(name))")
    }
    #expect(try await fixture.store.writer.perform { try Mending(database: $0).mendNow() })
    let left = try connection.rows("SELECT zone FROM holdfast_zones ORDER BY 1").map { $0[0].text }
    #expect(left.contains("über") && left.contains("a\n") && left.allSatisfy { ($0?.utf8.count ?? 99) <= 64 })
    #expect(try await fixture.store.writer.perform { try !Mending(database: $0).mendNow() })
  }

  private func answer(clock: String) -> String {
    #"{"clock":"\#(clock)","confirmed":0,"chain":"0000000000000000"}"#
  }
}
