import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// Passwords, devices and their sessions: PROTOCOL.md, section 2.
@Suite struct SessionTests {
  let server: TestServer
  let alice: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
  }

  private func change(_ old: String, _ new: String, _ more: [JSONValue.Member] = []) throws -> ReadAnswer {
    try server.send(
      "PUT", "/v1/account/password",
      .object([.init("old", .string(old)), .init("new", .string(new))] + more), token: alice.token)
  }

  private func isAlive(_ device: TestDevice) throws -> Bool { try device.get("/v1/zones").status == 200 }

  @Test("a new password takes the old one's place, and ends the other sessions")
  func password() throws {
    let other = try server.signIn("alice")
    #expect(try change("correct horse", "battery staple").status == 204)
    #expect(try server.tryPassword("correct horse").code == "credentials-wrong")
    #expect(try server.tryPassword("battery staple").status == 200)
    #expect(try isAlive(alice))
    #expect(try !isAlive(other))
  }

  @Test("other sessions go on where the change says so")
  func kept() throws {
    let other = try server.signIn("alice")
    #expect(try change("correct horse", "battery staple", [.init("keep_sessions", true)]).status == 204)
    #expect(try isAlive(other))
  }

  @Test("a password is not changed without the old one, and not into one that is too short (I10)")
  func wrong() throws {
    #expect(try change("wrong horse", "battery staple").code == "credentials-wrong")
    #expect(try change("correct horse", "short").status == 400)
    #expect(try change("correct horse", "battery staple", [.init("admin", true)]).status == 400)
    #expect(
      try server.send("PUT", "/v1/account/password", ["old": "a", "new": "battery staple"]).status == 401)
    #expect(try server.tryPassword("correct horse").status == 200)
  }

  @Test("who verified the old password before it was changed gets no session with it")
  func race() throws {
    let inline = try #require(server.inline)
    let body: JSONValue = ["name": "alice", "password": "correct horse", "device": ["name": "x"]]
    let answers = inline.respond(to: [
      TestServer.request(
        "PUT", "/v1/account/password",
        (["old": "correct horse", "new": "battery staple"] as JSONValue).bytes,
        token: alice.token),
      TestServer.request("POST", "/v1/sessions", body.bytes, token: nil),
    ])
    #expect(answers.map(\.status) == [204, 401])
  }

  @Test("the devices of a user are listed, and nobody else's (I10)")
  func listed() throws {
    _ = try server.signUp("bob")
    let other = try server.signIn("alice")
    #expect(try server.send("DELETE", "/v1/sessions/current", token: other.token).status == 204)
    let devices = try #require(alice.get("/v1/devices").body["devices"]?.elements)
    #expect(TextSet(devices.compactMap { $0["id"]?.stringValue }) == [alice.id, other.id])
    let own = try #require(devices.first { $0["id"] == .string(alice.id) })
    #expect(own["is_current"] == true)
    #expect(own["has_session"] == true)
    #expect(own["name"] == "alice's device")
    #expect(own["created_at"] == .string(Timestamp.text(milliseconds: server.world.now)))
    let gone = try #require(devices.first { $0["id"] == .string(other.id) })
    #expect(gone["has_session"] == false)
    #expect(gone["is_current"] == false)
  }

  @Test(
    "a revoked device is signed out at once, its stream ends, and it goes on when somebody signs in on it")
  func revoked() throws {
    let other = try server.signIn("alice")
    let list = try other.makeList()
    let inline = try #require(server.inline)
    guard
      case .success = inline.open(TestServer.request("GET", "/v1/events", [], token: other.token), stream: 1)
    else {
      Issue.record("There is no stream.")
      return
    }
    #expect(try server.send("DELETE", "/v1/devices/\(other.id)", token: alice.token).status == 204)
    #expect(inline.takeEnded() == [1])
    #expect(try server.respond(to: other.request([])).status == 401)
    #expect(try server.send("DELETE", "/v1/devices/\(other.id)", token: alice.token).status == 204)
    let again = try server.signIn("alice", device: other.id)
    #expect(again.id == other.id)
    try again.pull()
    #expect(again.has("lists", list))
  }

  @Test("what waits to be written with a token that is revoked is refused")
  func late() throws {
    let other = try server.signIn("alice")
    let inline = try #require(server.inline)
    let answers = inline.respond(to: [
      TestServer.request("DELETE", "/v1/sessions", [], token: alice.token),
      other.request([[.create("lists", other.newID(), ["title": "Late"])]]),
    ])
    #expect(answers.map(\.status) == [204, 401])
    #expect(try isAlive(alice))
  }

  @Test("nobody revokes somebody else's device (I10)")
  func foreign() throws {
    let bob = try server.signUp("bob")
    #expect(try server.send("DELETE", "/v1/devices/\(alice.id)", token: bob.token).code == "not-found")
    #expect(try isAlive(alice))
  }

  @Test("an operator gives a user another password, and revokes devices")
  func operators() throws {
    let administration = try Administration(server.location, environment: server.world.environment)
    try administration.setPassword("battery staple", ofUser: "alice")
    #expect(try !isAlive(alice))
    #expect(try server.tryPassword("battery staple").status == 200)
    #expect(throws: ServerError.self) { try administration.setPassword("battery staple", ofUser: "nobody") }
    #expect(throws: ServerError.self) { try administration.setPassword("short", ofUser: "alice") }
    #expect(throws: ServerError.self) { try administration.revoke(device: "nobody's") }
    let bob = try server.signUp("bob")
    try administration.revoke(device: bob.id)
    #expect(try !isAlive(bob))
    #expect(try server.findings().isEmpty)
  }
}
