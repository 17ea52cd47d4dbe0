import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

/// Who may make accounts and sessions, how many, and for how long. Invariants I10 and I11; docs/IDENTITY.md.
@Suite struct AccountLimitTests {
  private func server(_ change: (inout UserLimits) -> Void) throws -> TestServer {
    let server = try TestServer()
    server.world.limits.withLock { change(&$0) }
    try server.reopen()
    return server
  }

  private func signUp(_ name: String, at server: TestServer, from address: String = "") throws
    -> RestClient.Reply
  {
    let body: JSONValue = ["name": .string(name), "password": "correct horse", "device": ["name": "x"]]
    var request = TestServer.request("POST", "/v1/accounts", body.bytes, token: nil)
    request.remoteAddress = address
    return RestClient.Reply(try server.respond(to: request))
  }

  @Test("with an identity provider nobody takes a name with a password, unless that is asked for (I10)")
  func closed() throws {
    let provider = TestProvider()
    let server = try TestServer(provider: provider.configuration, allowsSignUp: false)
    let refused = try signUp("s-1", at: server)
    #expect(refused.status == 403 && refused.code == "sign-up-closed")
    let jwt = provider.token(TestProvider.claims("s-1", at: server.world.now))
    let session = try server.send("POST", "/v1/sessions", ["token": .string(jwt), "device": ["name": "x"]])
    #expect(session.status == 200)
    #expect(try #require(server.inline).api.allowsSignUp == false)
    let open = try TestServer(provider: provider.configuration)
    #expect(try signUp("s-1", at: open).status == 201)
  }

  @Test("sign-ups are counted by address, and a taken name costs no hash (I11)")
  func counted() throws {
    let server = try server { $0.signUpsInHour = 2 }
    #expect(try signUp("a", at: server, from: "192.0.2.1").status == 201)
    #expect(try signUp("a", at: server, from: "192.0.2.1").code == "name-taken")
    let refused = try signUp("b", at: server, from: "192.0.2.1")
    #expect(
      refused.status == 429 && refused.code == "rate-limited" && refused.headers["Retry-After"] == "3600")
    #expect(try signUp("b", at: server, from: "192.0.2.2").status == 201)
    server.world.advance(3_600_000)
    #expect(try signUp("c", at: server, from: "192.0.2.1").status == 201)
  }

  @Test("a look-up says whom sharing with a name reaches, and by whose word (I10)")
  func lookUp() throws {
    let provider = TestProvider()
    let server = try TestServer(provider: provider.configuration)
    let alice = try server.signUp("alice")
    let bob = try server.signUp("bob")
    let found = try RestClient(alice).get("/v1/users?name=bob")
    #expect(found.json["id"] == .string(bob.user) && found.json["issuer"] == .null)
    let jwt = provider.token(TestProvider.claims("carol", at: server.world.now))
    let session = try server.send("POST", "/v1/sessions", ["token": .string(jwt), "device": ["name": "x"]])
    let name = try #require(session.body["user"]?["name"]?.stringValue)
    let other = try RestClient(alice).get("/v1/users?name=\(name)")
    #expect(other.json["id"] == session.body["user"]?["id"] && other.json["issuer"]?.stringValue != nil)
    #expect(try RestClient(alice).get("/v1/users?name=nobody").status == 404)
    #expect(try server.respond(to: HTTPRequest(target: "/v1/users?name=bob")).status == 401)
  }

  @Test("memberships that name accounts count as look-ups, also if they are refused (I10)")
  func namesInMemberships() throws {
    let server = try server { $0.lookUpsInHour = 3 }
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    func member(_ name: String) -> JSONValue {
      [
        "op": "create", "table": "members", "zone": .string(list),
        "columns": ["name": .string(name), "role": "viewer"],
      ]
    }
    let client = RestClient(alice)
    let wrong: JSONValue = ["op": "update", "table": "lists", "id": .string(alice.newID()), "columns": [:]]
    let guesses: JSONValue = ["operations": .array(["bob", "carol"].map(member) + [wrong])]
    #expect(try client.send("POST", "/v1/batch", guesses).code == "batch-refused")
    // One request may go beyond the limit, the next may not.
    #expect(try client.send("POST", "/v1/batch", guesses).code == "batch-refused")
    let refused = try client.send("POST", "/v1/batch", guesses)
    #expect(refused.status == 429 && refused.headers["Retry-After"] == "3600")
    #expect(try client.get("/v1/users?name=bob").status == 429)
    let sync = alice.request([
      [.create("members", alice.newID(), ["zone": .string(list), "name": "bob", "role": "viewer"])]
    ])
    #expect(try server.respond(to: sync).status == 429)
    #expect(
      try server.respond(to: alice.request([[.create("notes", alice.newID(), ["text": "x"])]])).status == 200)
    server.world.advance(3_600_000)
    #expect(try client.get("/v1/users?name=alice").status == 200)
  }

  @Test("a session ends when nothing is synced for long, and at its age; the next sign-in goes on (I3)")
  func expiry() throws {
    let server = try server {
      $0.sessionIdle = .seconds(10 * 86_400)
      $0.sessionLifetime = .seconds(30 * 86_400)
    }
    let day: Int64 = 86_400_000
    let (alice, bob) = (try server.signUp("alice"), try server.signUp("bob"))
    for _ in 0..<9 {
      server.world.advance(day)
      try alice.sync()
    }
    server.world.advance(2 * day)
    // Also what the server has in memory of the token ends.
    for path in ["/v1/zones", "/v1/tables/lists"] { #expect(try RestClient(bob).get(path).status == 401) }
    #expect(
      try server.respond(to: bob.request([[.create("lists", bob.newID(), ["title": "x"])]])).status == 401)
    let list = try alice.makeList()
    let again = try server.signIn("bob", device: bob.id)
    #expect(again.id == bob.id && again.token != bob.token)
    #expect(try RestClient(again).get("/v1/zones").status == 200)
    for _ in 0..<18 {
      server.world.advance(day)
      try alice.sync()
    }
    server.world.advance(2 * day)
    let refused = try server.respond(to: alice.request([[.update("lists", list, ["title": "x"])]]))
    #expect(refused.status == 401)
    #expect(
      try RestClient(alice).send("PATCH", "/v1/tables/lists/\(list)", ["columns": ["title": "x"]]).status
        == 401)
  }

  @Test("who signs in on very many devices loses the session seen least recently (I11)")
  func devices() throws {
    let server = try server { $0.devices = 3 }
    let first = try server.signUp("alice")
    var others: [TestDevice] = []
    for _ in 0..<3 {
      server.world.advance(1000)
      others.append(try server.signIn("alice"))
    }
    #expect(try RestClient(first).get("/v1/zones").status == 401)
    for device in others { #expect(try RestClient(device).get("/v1/zones").status == 200) }
  }

  @Test("new sessions of a user are counted, by sign-in and by copies (I11)")
  func rate() throws {
    let server = try server { $0.sessionsInHour = 3 }
    let alice = try server.signUp("alice")
    for _ in 0..<2 { _ = try server.signIn("alice") }
    let copy = try RestClient(alice).send("POST", "/v1/devices", ["name": "copy"])
    #expect(copy.status == 201)
    #expect(try RestClient(alice).send("POST", "/v1/devices", ["name": "copy"]).code == "rate-limited")
    let body: JSONValue = ["name": "alice", "password": "correct horse", "device": ["name": "x"]]
    #expect(try server.send("POST", "/v1/sessions", body).status == 429)
  }

  @Test("devices that were never used go; those that wrote anything stay (I1, I11)")
  func unused() throws {
    let server = try TestServer()
    let alice = try server.signUp("alice")
    try alice.sync()
    let unused = try server.signIn("alice")
    let used = try server.signIn("alice")
    try used.sync()
    // One that goes on has a session that was not used, and a number that was.
    let again = try server.signIn("alice", device: used.id)
    server.world.advance(31 * 86_400_000)
    let purged = try #require(server.inline).purge()
    #expect(purged.devices == 1)
    #expect(try RestClient(unused).get("/v1/zones").status == 401)
    for device in [alice, again] { #expect(try RestClient(device).get("/v1/zones").status == 200) }
    #expect(try RestClient(alice).send("DELETE", "/v1/devices/\(unused.id)").status == 404)
    #expect(try server.findings().isEmpty)
  }

  @Test("who lost a zone is shown nothing of it by a request id that is used again (I10)")
  func replay() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.signUp("alice"), try server.signUp("bob"))
    let list = try alice.makeList()
    let membership = try alice.share(list, with: "bob")
    let rest = RestClient(bob)
    let item: JSONValue = ["columns": ["list_id": .string(list), "title": "Milk"]]
    let made = try rest.send("POST", "/v1/tables/items", item, id: "a")
    let path = "/v1/tables/items/\(made.id)"
    try rest.send("PATCH", path, ["columns": ["title": "Tea"]], id: "b")
    let both: [JSONValue] = [
      ["op": "update", "table": "items", "id": .string(made.id), "columns": ["note": "x"]]
    ]
    _ = try rest.batch(both, id: "c")
    try alice.sync([.delete("members", membership)])
    let replies = [
      try rest.send("POST", "/v1/tables/items", item, id: "a"),
      try rest.send("PATCH", path, ["columns": ["title": "Tea"]], id: "b"), try rest.batch(both, id: "c"),
    ]
    for reply in replies {
      #expect(reply.isReplay)
      #expect(!String(decoding: reply.body, as: UTF8.self).contains("Tea"))
    }
    #expect(replies[0].status == 404 && replies[1].status == 404)
    #expect(try RestClient(alice).get(path).status == 200)
  }
}
