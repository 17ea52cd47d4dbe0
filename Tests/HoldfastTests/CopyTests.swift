import Foundation
import HoldfastCore
import Testing

@testable import Holdfast

/// What a copy of a device does with its outbox when it gets an identity of its own.
@Suite("Copies of a device")
struct CopyTests {
  private struct Sealed {
    let last: Int64
    let chain: String
  }

  /// A device with three unsent lists, each in a change set of its own.
  private func withThreeLists() async throws -> (Fixture, [Sealed]) {
    let fixture = try Fixture()
    try await fixture.signIn()
    for title in ["one", "two", "three"] {
      try await fixture.store.write { try $0.execute("INSERT INTO lists (title) VALUES (?)", [.text(title)]) }
    }
    let sets = try await fixture.store.writer.perform { local in
      try local.connection.rows("SELECT last, chain FROM holdfast_outbox ORDER BY first").map {
        Sealed(last: $0[0].integer ?? 0, chain: $0[1].text ?? "")
      }
    }
    return (fixture, sets)
  }

  private func identify(_ fixture: Fixture, applied: String) async throws {
    let text = """
      {"user":{"id":"0193aaaa-0000-7000-8000-00000000000a","name":"ann"},"device":{"id":"another","name":"copy","session":1},"token":"new",\(applied)}
      """
    let session = try #require(Session(body: Array(text.utf8)))
    try await fixture.store.writer.perform { try SessionStart(database: $0).adopt(session) }
  }

  private func waiting(_ fixture: Fixture) async throws -> [String] {
    try await fixture.store.writer.perform { local in
      try local.connection.rows("SELECT CAST(body AS TEXT) FROM holdfast_outbox ORDER BY first").map {
        $0[0].text ?? ""
      }
    }
  }

  @Test("what the other device has brought through is not sent again; the rest is, from number 1 on (I1)")
  func leftOut() async throws {
    let (fixture, sets) = try await withThreeLists()
    try await identify(
      fixture,
      applied: #""applied":{"from":0,"sets":[[\#(sets[0].last),"\#(sets[0].chain)"],[9,"00000000000000ff"]]}"#
    )
    let bodies = try await waiting(fixture)
    #expect(bodies.count == 2)
    #expect(bodies.first?.contains("two") == true && bodies.last?.contains("three") == true)
    #expect(try await fixture.value("SELECT min(first) FROM holdfast_outbox") == .integer(1))
    #expect(try await fixture.value("SELECT max(last) FROM holdfast_outbox") == .integer(2))
    #expect(try await fixture.value("SELECT count(*) FROM lists") == .integer(3))
    #expect(try await fixture.store.quarantined().isEmpty)
  }

  @Test("what is carried from another database is sent, whatever the other did: its origin tells (I1, I3)")
  func carried() async throws {
    let (fixture, sets) = try await withThreeLists()
    try await fixture.store.writer.perform { local in
      try local.connection.run("UPDATE holdfast_outbox SET origin = 'o' || first")
    }
    try await identify(
      fixture,
      applied:
        #""applied":{"from":0,"sets":[[\#(sets[1].last),"\#(sets[1].chain)"]],"refused":[[\#(sets[2].last),"\#(sets[2].chain)"]]}"#
    )
    #expect(try await waiting(fixture).count == 3)
    #expect(try await fixture.value("SELECT count(DISTINCT origin) FROM holdfast_outbox") == .integer(3))
    #expect(try await fixture.store.quarantined().isEmpty)
  }

  @Test(
    "what was refused waits in quarantine, whether it is named, or only what took effect behind it (I3, I8)",
    arguments: [true, false])
  func refused(isNamed: Bool) async throws {
    let (fixture, sets) = try await withThreeLists()
    let refused = isNamed ? #","refused":[[\#(sets[0].last),"\#(sets[0].chain)"]]"# : ""
    try await identify(
      fixture, applied: #""applied":{"from":0,"sets":[[\#(sets[1].last),"\#(sets[1].chain)"]]\#(refused)}"#)
    let bodies = try await waiting(fixture)
    #expect(bodies.count == 1 && bodies.first?.contains("three") == true)
    let quarantined = try await fixture.store.quarantined()
    #expect(quarantined.map { $0.problem?.code } == [.changeSetUncertain])
    #expect(try await fixture.value("SELECT group_concat(title) FROM lists") == .text("two,three"))
  }

  @Test(
    "what was left out and does not come with its zone has been deleted and purged: it leaves (I7, I8)")
  func leftOutAndPurged() async throws {
    let (fixture, sets) = try await withThreeLists()
    let id = try #require(try await fixture.value("SELECT id FROM lists WHERE title = 'one'")?.text)
    try await identify(
      fixture, applied: #""applied":{"from":0,"sets":[[\#(sets[0].last),"\#(sets[0].chain)"]]}"#)
    try await fixture.answer(
      #""zones":[{"zone":"\#(id)","role":"owner","from":"","to":"0000000a.9","more":false,"changes":[]}]"#)
    #expect(try await fixture.value("SELECT group_concat(title) FROM lists") == .text("two,three"))
  }

  @Test("what may have arrived, as the server does not remember so far back, waits in quarantine (I1, I3)")
  func uncertain() async throws {
    let (fixture, sets) = try await withThreeLists()
    var entries = (0..<63).map { "[\(1000 + $0),\"00000000000000ff\"]" }
    entries.insert("[\(sets[1].last),\"00000000000000fe\"]", at: 0)
    try await identify(
      fixture, applied: "\"applied\":{\"from\":\(sets[1].last),\"sets\":[\(entries.joined(separator: ","))]}")
    let bodies = try await waiting(fixture)
    #expect(bodies.count == 1 && bodies[0].contains("three"))
    let quarantined = try await fixture.store.quarantined()
    #expect(quarantined.count == 2)
    #expect(quarantined.allSatisfy { $0.problem?.code == .changeSetUncertain })
    #expect(try await fixture.value("SELECT title FROM lists") == .text("three"))
  }

  @Test(
    "a server that says nothing of it, or nonsense, is sent everything",
    arguments: [
      "\"applied\":null", "\"applied\":{\"from\":5,\"sets\":[]}", "\"applied\":{\"from\":0,\"sets\":[[1]]}",
    ])
  func nothingSaid(_ applied: String) async throws {
    let (fixture, _) = try await withThreeLists()
    try await identify(fixture, applied: applied)
    #expect(try await waiting(fixture).count == 3)
  }
}
