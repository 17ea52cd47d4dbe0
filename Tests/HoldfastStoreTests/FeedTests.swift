import HoldfastCore
import HoldfastHTTP
import HoldfastSQLite
import ServerScenes
import Testing

@testable import HoldfastServer

/// What comes down: digest, acks, pages, resets. Invariants I4, I5, I7.
@Suite struct FeedTests {
  let server: TestServer
  let alice: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
  }

  @Test("a device that is up to date is told nothing, and writes nothing")
  func upToDate() throws {
    _ = try alice.makeList()
    try alice.pull()
    let before = try server.integer(ofDevices: "clock")
    server.world.advance(1000)
    let answer = try alice.sync()
    #expect(answer.parts.isEmpty && answer.lost.isEmpty && !answer.mustResend)
    #expect(try server.integer(ofDevices: "clock") == before)
    #expect(answer.clock.milliseconds == server.world.now)
  }

  @Test("digests that differ make the device say all its acks, once")
  func digest() throws {
    let list = try alice.makeList()
    try alice.pull()
    alice.acks[list] = nil
    alice.records = alice.records.filter { $0.value.zone != list }
    let answer = try alice.sync()
    #expect(answer.mustResend)
    #expect(answer.parts.isEmpty)
    let complete = try alice.sync(complete: true)
    #expect(!complete.mustResend)
    #expect(alice.has("lists", list))
    try alice.pull()
  }

  @Test("a large zone comes in pages, each record once as of its seq, whatever is written meanwhile (I5)")
  func paging() throws {
    let list = try alice.makeList()
    let text = String(repeating: "x", count: 10000)
    var items: [String] = []
    for _ in 0..<5 {
      let set = (0..<100).map { _ -> Sent in
        items.append(alice.newID())
        return .create("items", items[items.count - 1], ["list_id": .string(list), "title": .string(text)])
      }
      _ = try server.respond(to: alice.request([set]))
      alice.confirmed += 100
      alice.chain = JSONValue.array(set.map(\.json)).bytes.withUnsafeBufferPointer {
        alice.chain.chained(with: $0)
      }
    }
    let phone = try server.signIn("alice")
    let first = try phone.sync()
    let part = try #require(first.parts.last)
    #expect(part.hasMore)
    #expect(part.remaining > 0)
    // The smallest rest comes first.
    #expect(first.parts.first?.zone == alice.user)
    try alice.sync([.update("items", items[0], ["title": "changed"]), .delete("items", items[1])])
    try phone.pull()
    #expect(phone.all("items").count == 499)
    #expect(phone.column("items", items[0], "title") == "changed")
    #expect(try server.findings().isEmpty)
  }

  @Test("an ack of another history, or from before what is remembered, resets the zone (fence)")
  func reset() throws {
    let list = try alice.makeList()
    try alice.pull()
    alice.acks[list] = "00000000.1"
    alice.unsentAcks = [.init(zone: list, token: "00000000.1")]
    let answer = try alice.sync()
    #expect(answer.parts.map(\.isReset) == [true])
    try alice.pull()
    #expect(alice.has("lists", list))
    try server.change(
      sqlite: "UPDATE holdfast_zones SET purged = seq WHERE zone = '\(list)'",
      postgres: "UPDATE holdfast.zones SET purged = seq WHERE zone = '\(list)'")
    alice.acks[list] = try #require(alice.acks[list]?.replacingSeq(with: 1))
    alice.unsentAcks = [.init(zone: list, token: alice.acks[list])]
    #expect(try alice.sync().parts.map(\.isReset) == [true])
    try alice.pull()
    #expect(alice.has("lists", list))
  }

  @Test("an ack from ahead of the history, for which there is no proof, resets the zone (I7)")
  func ahead() throws {
    let list = try alice.makeList()
    try alice.pull()
    alice.acks[list] = try #require(alice.acks[list]?.replacingSeq(with: 999))
    alice.unsentAcks = [.init(zone: list, token: alice.acks[list])]
    let epoch = try #require(server.inline).api.database.epoch
    let answer = try alice.sync()
    #expect(answer.parts.isEmpty && answer.wanted == [list])
    #expect(try alice.sync().parts.map(\.isReset) == [true])
    #expect(try #require(server.inline).api.database.epoch == epoch)
  }

  @Test("a zone that the device never had, or says to have, is lost to a stranger (I10)")
  func foreignAck() throws {
    alice.unsentAcks = [.init(zone: alice.newID(), token: "")]
    let answer = try alice.sync()
    #expect(answer.lost.count == 1)
    try alice.pull()
    #expect(try alice.sync().lost.isEmpty)
  }

  @Test("a device may not name zones without end; one that says all it has goes on (I11)")
  func acksBounded() throws {
    try server.change(
      sqlite: """
        WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
        INSERT INTO holdfast_acks (device, zone, epoch, seq)
        SELECT (SELECT number FROM holdfast_devices WHERE id = '\(alice.id)'), 'zone ' || i, '', 0 FROM n
        """,
      postgres: """
        INSERT INTO holdfast.acks (device, zone, epoch, seq)
        SELECT (SELECT number FROM holdfast.devices WHERE id = '\(alice.id)'), 'zone ' || i, '', 0
        FROM generate_series(0, 100000) i
        """)
    func post(_ rest: String) throws -> HTTPResponse {
      try server.post(
        "/v1/sync", bytes: Array(#"{"protocol":1,"acks":{"one more":""}\#(rest)}"#.utf8), token: alice.token)
    }
    #expect(try post("").status == 400)
    #expect(try post(#","complete":true"#).status == 200)
    #expect(try post("").status == 200)
  }

  @Test("a text that is no token is refused and nothing is written")
  func noToken() throws {
    alice.unsentAcks = [.init(zone: alice.user, token: "yesterday")]
    let answer = try server.respond(to: alice.request([[.create("lists", alice.newID(), ["title": "x"])]]))
    #expect(Problem(document: answer.body)?.code == .invalidRequest)
    alice.unsentAcks = []
    try alice.pull()
    #expect(alice.all("lists").isEmpty)
  }

  @Test("a device that has been silent for a day is written down as alive")
  func alive() throws {
    try alice.pull()
    server.world.advance(90_000_000)
    try alice.sync()
    #expect(try server.integer(ofDevices: "seen_at") == server.world.now)
  }
}

extension String {
  /// A change token with another seq.
  fileprivate func replacingSeq(with seq: Int64) -> String? {
    ChangeToken(self).map { ChangeToken(epoch: $0.epoch, seq: seq).text }
  }
}
