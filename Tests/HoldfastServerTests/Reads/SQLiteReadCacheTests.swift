import HoldfastCore
import HoldfastHTTP
import HoldfastSQLite
import Testing

@testable import HoldfastServer

/// What readers of SQLite keep while nobody writes. Invariants I7 and I10.
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
}
