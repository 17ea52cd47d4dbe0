import HoldfastCore
import HoldfastHTTP
import HoldfastSQLite
import ServerScenes
import Testing

@testable import HoldfastServer
@testable import HoldfastService

/// What readers of SQLite know without asking the database again. Invariants I4, I7 and I10.
@Suite struct SQLiteReadCacheTests {
  let server: TestServer
  let alice: TestDevice

  init() throws {
    server = try TestServer(engine: .sqlite)
    alice = try server.signUp("alice")
    _ = try alice.makeList()
    try alice.pull()
  }

  /// A connection as another program has it.
  private func other() throws -> SQLiteConnection {
    try SQLiteConnection(path: server.database, access: .readWrite)
  }

  @Test("a device that says the same again is answered the same, at the time of then")
  func same() throws {
    let first = try server.respond(to: alice.request([]))
    server.world.advance(5_000)
    let second = try server.respond(to: alice.request([]))
    let (one, two) = (try SyncAnswer(body: first.body), try SyncAnswer(body: second.body))
    #expect(two.clock.milliseconds == one.clock.milliseconds + 5_000)
    let rest = [first, second].map {
      String(decoding: $0.body.drop { $0 != UInt8(ascii: ",") }, as: UTF8.self)
    }
    #expect(rest[0] == rest[1])
  }

  @Test("another question of the device is answered by itself")
  func others() throws {
    _ = try server.respond(to: alice.request([]))
    var digest = AckDigest()
    digest.add(zone: "another", token: "x")
    var request = SyncRequest()
    request.acknowledgedRefusals = alice.answers
    request.digest = digest.text
    request.client = alice.client
    let answer = try server.respond(
      to: TestServer.request("POST", "/v1/sync", request.body(sealed: []), token: alice.token))
    #expect(try SyncAnswer(body: answer.body).mustResend)
  }

  @Test("it is written once a day that a device is alive, also when it says the same all day")
  func alive() throws {
    try alice.sync()
    let before = try #require(try server.integer(ofDevices: "seen_at"))
    for _ in 0..<25 {
      server.world.advance(3_600_000)
      try alice.sync()
    }
    #expect(try #require(try server.integer(ofDevices: "seen_at")) > before)
  }

  @Test("a token that another program has ended is good no more for the next request (I10)")
  func ended() throws {
    let poll = TestServer.request("GET", "/v1/zones", [], token: alice.token)
    for request in [alice.request([]), poll] {
      #expect(try server.respond(to: request).status == 200)
      #expect(try server.respond(to: request).status == 200)
    }
    try other().execute("UPDATE holdfast_devices SET token_hash = NULL")
    for request in [alice.request([]), poll] { #expect(try server.respond(to: request).status == 401) }
  }

  @Test("what another program has written is in the next answer of a sync and of a poll (I7)")
  func written() throws {
    let zone = try #require(alice.records.first { $0.key.hasPrefix("lists ") }?.value.zone)
    func poll(_ tag: String?) throws -> HTTPResponse {
      var request = TestServer.request("GET", "/v1/zones/\(zone)/changes", [], token: alice.token)
      if let tag { request.headers.append(name: "If-None-Match", value: tag) }
      return try server.respond(to: request)
    }
    let tag = try #require(try poll(nil).headers.first { $0.name == "ETag" }?.value)
    #expect(try poll(tag).status == 304)
    #expect(try alice.sync().parts.isEmpty)
    try other().execute(
      """
      UPDATE holdfast_zones SET seq = seq + 1 WHERE zone = '\(zone)';
      UPDATE lists SET title = 'other', seq = (SELECT seq FROM holdfast_zones WHERE zone = '\(zone)')
      """)
    #expect(try poll(tag).status == 200)
    #expect(try alice.sync().parts.count == 1)
    #expect(alice.all("lists").contains { $0["title"]?.stringValue == "other" })
  }

  /// Whether a quiet request of a device is answered without the database.
  private func isKnown(_ device: TestDevice) throws -> Bool {
    let api = try #require(server.inline).api
    let request = try SyncRequest(body: device.request([]).body, operations: api.operations)
    let quiet = try #require(QuietRequest(request))
    let answer: [UInt8]? = try api.database.recall { memory in
      memory.device(TokenHash(of: device.token)).flatMap {
        memory.answer(to: quiet, of: $0.device.key.number)
      }
    }
    return answer != nil
  }

  private func poll(_ device: TestDevice, _ zone: String, _ token: String) throws -> Int {
    var request = TestServer.request(
      "GET", "/v1/zones/\(zone)/changes?since=\(token)", [], token: device.token)
    request.headers.append(name: "If-None-Match", value: "\"\(token)\"")
    return try server.respond(to: request).status
  }

  private func token(_ device: TestDevice, _ zone: String) throws -> String {
    let answer = try server.respond(
      to: TestServer.request("GET", "/v1/zones/\(zone)/changes", [], token: device.token))
    return try #require(try JSONValue(parsing: answer.body)["to"]?.stringValue)
  }

  @Test("what is known of a device outlives what others write elsewhere")
  func elsewhere() throws {
    let bob = try server.signUp("bob")
    try bob.pull()
    try alice.pull()
    _ = try server.respond(to: alice.request([]))
    #expect(try isKnown(alice))
    let list = try bob.makeList()
    _ = try bob.makeItem(list)
    #expect(try isKnown(alice))
    #expect(try alice.sync().parts.isEmpty)
  }

  @Test("what another member writes in a zone is in the next answer of a quiet sync and of a poll (I4, I7)")
  func shared() throws {
    let bob = try server.signUp("bob")
    let list = try alice.makeList()
    _ = try alice.share(list, with: "bob")
    try bob.pull()
    try alice.pull()
    for _ in 0..<3 {
      let known = try token(alice, list)
      for _ in 0..<2 {
        #expect(try alice.sync().parts.isEmpty)
        #expect(try poll(alice, list, known) == 304)
      }
      _ = try bob.makeItem(list)
      #expect(try poll(alice, list, known) == 200)
      #expect(try alice.sync().parts.count == 1)
      try alice.pull()
      try bob.pull()
    }
  }

  @Test(
    "changes that were read once are read again when another program has written, even behind the zone's back (I7)"
  )
  func parts() throws {
    let zone = try #require(alice.records.first { $0.key.hasPrefix("lists ") }?.value.zone)
    func titles() throws -> [String] {
      let answer = try server.respond(
        to: TestServer.request("GET", "/v1/zones/\(zone)/changes", [], token: alice.token))
      let changes = try #require(try JSONValue(parsing: answer.body)["changes"]?.elements)
      return changes.filter { $0["table"]?.stringValue == "lists" }
        .compactMap { $0["columns"]?["title"]?.stringValue }
    }
    let before = try titles()
    #expect(try titles() == before)
    try other().execute("UPDATE lists SET title = 'behind'")
    #expect(try titles() == ["behind"])
    // What the server writes itself, in this zone and elsewhere.
    try alice.pull()
    try alice.sync([.update("lists", zone, ["title": "own"], rev: 1)])
    #expect(try titles() == ["own"])
    _ = try alice.makeList()
    #expect(try titles() == ["own"])
  }

  @Test("who loses a zone is told so by the next quiet sync, and reads nothing of it by a poll (I10)")
  func removed() throws {
    let bob = try server.signUp("bob")
    let list = try alice.makeList()
    let membership = try alice.share(list, with: "bob")
    try bob.pull()
    let known = try token(bob, list)
    for _ in 0..<2 {
      #expect(try bob.sync().parts.isEmpty)
      #expect(try poll(bob, list, known) == 304)
    }
    try alice.sync([.delete("members", membership)])
    #expect(try poll(bob, list, known) == 404)
    #expect(try bob.sync().lost == [list])
  }

  @Test("the token of a device that its user revokes is good no more for the next request (I10)")
  func revoked() throws {
    let other = try server.signIn("alice")
    try other.pull()
    for _ in 0..<2 { #expect(try server.respond(to: other.request([])).status == 200) }
    let answer = try server.respond(
      to: TestServer.request("DELETE", "/v1/sessions", [], token: alice.token))
    #expect(answer.status == 204)
    #expect(try server.respond(to: other.request([])).status == 401)
    #expect(try server.respond(to: alice.request([])).status == 200)
  }

  @Test("a refusal is in the answers to quiet requests until the device has dealt with it (I3)")
  func refusal() throws {
    _ = try server.respond(to: alice.request([]))
    let refused = try server.respond(
      to: alice.request([[.create("items", alice.newID(), ["title": "x", "list_id": "nowhere"])]]))
    #expect(try SyncAnswer(body: refused.body).refused.count == 1)
    for _ in 0..<2 {
      let quiet = try server.respond(to: alice.request([]))
      #expect(try SyncAnswer(body: quiet.body).refused.count == 1)
    }
  }

  @Test("what a trigger of the team writes besides is noticed (I10)")
  func trigger() throws {
    let bob = try server.signUp("bob")
    try bob.pull()
    let list = try #require(alice.records.first { $0.key.hasPrefix("lists ") }?.value.zone)
    try other().execute(
      """
      CREATE TRIGGER team AFTER INSERT ON items BEGIN
        UPDATE holdfast_devices SET token_hash = NULL WHERE user <> (SELECT user FROM holdfast_access WHERE zone = new.zone);
      END
      """)
    for _ in 0..<2 { #expect(try server.respond(to: bob.request([])).status == 200) }
    _ = try alice.makeItem(list)
    #expect(try server.respond(to: bob.request([])).status == 401)
  }
}
