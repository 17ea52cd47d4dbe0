import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer
@testable import HoldfastService

/// The push tokens of devices: docs/PUSH.md.
@Suite struct PushTokenTests {
  private let server: TestServer
  private let alice: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
  }

  private func put(_ token: String, kind: String = "apns", _ device: TestDevice) throws -> ReadAnswer {
    try server.send(
      "PUT", "/v1/push-token", ["kind": .string(kind), "token": .string(token)], token: device.token)
  }

  private func remove(_ device: TestDevice) throws -> ReadAnswer {
    try server.send("DELETE", "/v1/push-token", token: device.token)
  }

  /// The tokens of all devices of a user, as the webhook gets them.
  private func tokens(_ device: TestDevice) throws -> TextMap<String> {
    let targets = try #require(server.inline).api.database.read {
      try $0.pushTargets(.users([device.user]), after: 0, limit: 10)
    }
    return TextMap(targets.map { ($0.id, $0.token.token) }, uniquingKeysWith: { first, _ in first })
  }

  @Test("a device sets, replaces and removes its token, as often as it likes")
  func sets() throws {
    #expect(try remove(alice).status == 204)
    #expect(try put("one", alice).status == 204)
    #expect(try put("one", alice).status == 204)
    #expect(try tokens(alice) == [alice.id: "one"])
    #expect(try put("two", kind: "fcm", alice).status == 204)
    #expect(try tokens(alice) == [alice.id: "two"])
    try server.reopen()
    #expect(try tokens(alice) == [alice.id: "two"])
    #expect(try remove(alice).status == 204)
    #expect(try tokens(alice).isEmpty)
    #expect(try server.findings().isEmpty)
  }

  @Test("a token that another device sets is that device's alone: the app was installed again")
  func moves() throws {
    let bob = try server.signUp("bob")
    _ = try put("one", alice)
    _ = try put("one", bob)
    #expect(try tokens(alice).isEmpty)
    #expect(try tokens(bob) == [bob.id: "one"])
  }

  @Test("a token goes with the session, by whatever it ends (I10)")
  func ends() throws {
    let phone = try server.signIn("alice")
    _ = try put("phone", phone)
    #expect(try server.send("DELETE", "/v1/sessions/current", token: phone.token).status == 204)
    #expect(try tokens(alice).isEmpty)
    #expect(try put("phone", phone).code == "token-invalid")
    let tablet = try server.signIn("alice")
    _ = try put("tablet", tablet)
    #expect(try server.send("DELETE", "/v1/devices/\(tablet.id)", token: alice.token).status == 204)
    #expect(try tokens(alice).isEmpty)
    let watch = try server.signIn("alice")
    _ = try put("watch", watch)
    _ = try put("mine", alice)
    #expect(try server.send("DELETE", "/v1/sessions", token: alice.token).status == 204)
    #expect(try tokens(alice) == [alice.id: "mine"])
  }

  @Test("erasure removes the tokens of all devices at once")
  func erasure() throws {
    _ = try put("one", alice)
    _ = try put("two", try server.signIn("alice"))
    #expect(
      try server.send("DELETE", "/v1/account", ["password": "correct horse"], token: alice.token).status
        < 300)
    let count = try server.integer(
      "SELECT count(*) FROM holdfast_push_tokens", "SELECT count(*) FROM holdfast.push_tokens")
    #expect(count == 0)
  }

  @Test("the token of an expired device goes with its acks (I11)")
  func expires() throws {
    _ = try alice.makeList()
    try alice.pull()
    try alice.sync()
    _ = try put("one", alice)
    let days: Int64 = 86_400_000
    server.world.advance(400 * days)
    let bob = try server.signUp("bob")
    _ = try bob.makeList()
    for _ in 0..<3 { _ = try #require(server.inline).purge(Retention()) }
    #expect(try tokens(alice).isEmpty)
  }

  @Test("an export shows the user the own tokens, and nobody else's (I10)")
  func export() throws {
    let bob = try server.signUp("bob")
    _ = try put("secret of alice", alice)
    _ = try put("secret of bob", bob)
    let text = String(decoding: try bob.get("/v1/account/export").response.body, as: UTF8.self)
    #expect(text.contains(#""push_token":{"kind":"apns","token":"secret of bob"}"#))
    #expect(!text.contains("secret of alice"))
    let list = String(decoding: try bob.get("/v1/devices").response.body, as: UTF8.self)
    #expect(!list.contains("secret of bob"))
  }

  @Test("a token that no service has is refused, with what is wrong with it")
  func limits() throws {
    #expect(try put(String(repeating: "x", count: 4096), alice).status == 204)
    for (kind, token) in [
      ("", "x"), ("APNs", "x"), (String(repeating: "a", count: 33), "x"), ("apns", ""),
      ("apns", String(repeating: "x", count: 4097)), ("apns", "a\u{0}b"),
    ] {
      let answer = try put(token, kind: kind, alice)
      #expect(answer.status == 422 || answer.status == 400)
      #expect(answer.code == "invalid-request")
    }
    let unknown = try server.send("PUT", "/v1/push-token", ["key": "x"], token: alice.token)
    #expect(unknown.code == "invalid-request")
    #expect(try server.send("PUT", "/v1/push-token", ["kind": "x", "token": "x"]).code == "token-missing")
    #expect(try server.send("GET", "/v1/push-token", token: alice.token).status == 405)
    #expect(try tokens(alice)[alice.id]?.utf8.count == 4096)
    #expect(server.failures.lines.withLock { $0 }.isEmpty)
  }

  @Test("a service token has no device to wake")
  func services() throws {
    let token = try Administration(server.location, environment: server.world.environment).createToken(
      name: "reporter", role: .editor, tables: nil, zones: nil)
    let answer = try server.send("PUT", "/v1/push-token", ["kind": "x", "token": "x"], token: token)
    #expect(answer.code == "token-limited")
  }

  @Test("tokens that the push program calls dead are removed, on any device")
  func gone() throws {
    let bob = try server.signUp("bob")
    _ = try put("one", alice)
    _ = try put("two", bob)
    _ = try #require(server.inline).service.apply([.notified([], gone: ["one", "unknown"])])
    #expect(try tokens(alice).isEmpty)
    #expect(try tokens(bob) == [bob.id: "two"])
  }

  @Test("a device that follows a public zone is found by it, whoever its user is")
  func followers() throws {
    _ = try put("one", alice)
    func find() throws -> [String] {
      try #require(server.inline).api.database.read {
        try $0.pushTargets(.followers(["catalogue"]), after: 0, limit: 10)
      }.map(\.id)
    }
    #expect(try find().isEmpty)
    alice.unsentAcks = [.init(zone: "catalogue", token: "")]
    try alice.sync()
    #expect(try find() == [alice.id])
  }
}
