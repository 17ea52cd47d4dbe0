import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer
@testable import HoldfastService

/// Requests of devices that have everything, and say so again and again: the server answers them from what it remembers. Invariants I4, I7 and I10.
@Suite struct QuietAnswerTests {
  /// How often a device says the same: a connection to PostgreSQL remembers from the third time on.
  private static let times = 4

  private let server: TestServer
  private let alice: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    _ = try alice.makeList()
    try alice.pull()
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

  @Test("a device that says the same again is answered the same, at the time of then")
  func same() throws {
    for _ in 1..<Self.times { _ = try server.respond(to: alice.request([])) }
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
    for _ in 0..<Self.times { _ = try server.respond(to: alice.request([])) }
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

  @Test("what another member writes in a zone is in the next answer of a quiet sync and of a poll (I4, I7)")
  func shared() throws {
    let bob = try server.signUp("bob")
    let list = try alice.makeList()
    _ = try alice.share(list, with: "bob")
    try bob.pull()
    try alice.pull()
    for _ in 0..<3 {
      let known = try token(alice, list)
      for _ in 0..<Self.times {
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

  @Test("who loses a zone is told so by the next quiet sync, and reads nothing of it by a poll (I10)")
  func removed() throws {
    let bob = try server.signUp("bob")
    let list = try alice.makeList()
    let membership = try alice.share(list, with: "bob")
    try bob.pull()
    let known = try token(bob, list)
    for _ in 0..<Self.times {
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
    for _ in 0..<Self.times { #expect(try server.respond(to: other.request([])).status == 200) }
    let answer = try server.respond(
      to: TestServer.request("DELETE", "/v1/sessions", [], token: alice.token))
    #expect(answer.status == 204)
    #expect(try server.respond(to: other.request([])).status == 401)
    #expect(try server.respond(to: alice.request([])).status == 200)
  }

  @Test("a refusal is in the answers to quiet requests until the device has dealt with it (I3)")
  func refusal() throws {
    for _ in 0..<Self.times { _ = try server.respond(to: alice.request([])) }
    let refused = try server.respond(
      to: alice.request([[.create("items", alice.newID(), ["title": "x", "list_id": "nowhere"])]]))
    #expect(try SyncAnswer(body: refused.body).refused.count == 1)
    for _ in 0..<Self.times {
      let quiet = try server.respond(to: alice.request([]))
      #expect(try SyncAnswer(body: quiet.body).refused.count == 1)
    }
  }
}
