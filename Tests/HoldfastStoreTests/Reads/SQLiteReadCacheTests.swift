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
