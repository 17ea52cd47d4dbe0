import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// People of an identity provider have one home over the databases of a directory: docs/DIRECTORY.md, section 4.
@Suite struct DirectoryIdentityTests {
  let scene: DirectoryScene
  let provider = TestProvider()

  init() throws {
    scene = try DirectoryScene()
    for server in [scene.a, scene.b] {
      server.provider = provider.configuration
      try server.reopen()
    }
  }

  private func token(_ subject: String, _ name: String, at server: TestServer) -> String {
    provider.token(
      TestProvider.claims(
        subject, at: server.world.now, [.init("preferred_username", .string(name)), .init("azp", "reporter")])
    )
  }

  private func request(_ subject: String, _ name: String, at server: TestServer) -> HTTPRequest {
    let body: JSONValue = ["token": .string(token(subject, name, at: server)), "device": ["name": "phone"]]
    return TestServer.request("POST", "/v1/sessions", body.bytes, token: nil)
  }

  private func signIn(
    _ subject: String, _ name: String = "ann", at server: TestServer
  ) throws -> RestClient.Reply {
    RestClient.Reply(try server.respond(to: request(subject, name, at: server)))
  }

  /// The person's first database is the home: the other one names it.
  private func expectHome(_ subject: String, _ home: String, at other: TestServer) throws {
    let reply = try signIn(subject, at: other)
    #expect(reply.status == 421 && reply.code == "account-elsewhere")
    #expect(reply.json["url"] == .string("https://\(home).example.org"))
  }

  @Test(
    "a person's first database is the home, which the others name; with a pass the person is a guest there")
  func home() throws {
    let reply = try signIn("s-1", at: scene.a)
    #expect(reply.status == 200 && reply.json["user"]?["name"] == "ann")
    try expectHome("s-1", "a", at: scene.b)
    let rest = RestClient.Reply(
      try scene.b.respond(
        to: TestServer.request("GET", "/v1/zones", [], token: token("s-1", "ann", at: scene.b))))
    #expect(rest.status == 421 && rest.json["url"] == "https://a.example.org")
    let phone = try TestDevice(scene.a, reply.json)
    let found = try RestClient(scene.b.signUp("bob")).get("/v1/users?name=ann").json
    #expect(found["id"] == .string(phone.user) && found["issuer"] == .string(TestProvider.issuer))
    let guest = try scene.guest(phone)
    #expect(guest.user == phone.user)
    try expectHome("s-1", "a", at: scene.b)
    try scene.check()
  }

  @Test("a name that is taken in another database gets a number; a program's first JWT claims as well (I1)")
  func numbered() throws {
    _ = try scene.a.signUp("ann")
    #expect(try signIn("s-1", at: scene.b).json["user"]?["name"] == "ann-2")
    let program = TestServer.request("GET", "/v1/zones", [], token: token("s-2", "ann", at: scene.a))
    #expect(try scene.a.respond(to: program).status == 200)
    #expect(try scene.count("names WHERE name = 'ann-3' AND home = 'a'") == 1)
    #expect(try signIn("s-2", at: scene.a).json["user"]?["name"] == "ann-3")
    try scene.check()
  }

  @Test("of two databases in which a person begins at once, one becomes the home; killed anywhere, too (I1)")
  func race() throws {
    for steps in 0..<6 {
      let subject = "s-\(steps)"
      _ = try DirectoryScene.kill(scene.a, after: steps, of: request(subject, "ann", at: scene.a))
      let other = try signIn(subject, at: scene.b)
      let again = try signIn(subject, at: scene.a)
      #expect((other.status == 200) != (again.status == 200))
      #expect(TextSet([other, again].compactMap(\.code)) == ["account-elsewhere"])
      #expect(try scene.count("names WHERE subject = '\(subject)'") == 1)
    }
    try scene.check()
  }

  @Test("an erased person begins as somebody new, when the directory has heard of it (I10)")
  func erased() throws {
    let phone = try TestDevice(scene.a, signIn("s-1", at: scene.a).json)
    #expect(try RestClient(phone).send("DELETE", "/v1/account", [:]).status == 204)
    #expect(try signIn("s-1", at: scene.a).status == 503)
    try scene.follow()
    let later = try TestDevice(scene.b, signIn("s-1", at: scene.b).json)
    #expect(later.user != phone.user)
    try expectHome("s-1", "b", at: scene.a)
    try scene.check()
  }

  @Test("a database joins with its people, unless one of them has another account in the directory")
  func joins() throws {
    _ = try signIn("s-1", at: scene.a)
    let other = try TestServer(provider: provider.configuration)
    // All begin with the same seed, and ids must differ.
    _ = other.world.random(11)
    #expect(try signIn("s-1", "anna", at: other).status == 200)
    #expect(try signIn("s-2", "bert", at: other).status == 200)
    #expect(try scene.join(other, as: "c").taken == ["anna"])
    #expect(try scene.count("names WHERE home = 'c'") == 0)
    let third = try TestServer(provider: provider.configuration)
    _ = third.world.random(13)
    #expect(try signIn("s-3", "cleo", at: third).status == 200)
    #expect(try scene.join(third, as: "d").claimed == 1)
    try expectHome("s-3", "d", at: scene.a)
  }

  @Test("a directory that has lost who a person is gets it back by a repair (I2)") func repaired() throws {
    _ = try signIn("s-1", at: scene.a)
    try scene.change("UPDATE holdfast_directory.names SET issuer = NULL, subject = NULL")
    let administration = try Administration(scene.a.location)
    let check = { try scene.administration.check(administration, repairs: $0) }
    #expect(try check(false).count == 1)
    #expect(try check(true).isEmpty)
    try expectHome("s-1", "a", at: scene.b)
    try scene.change("DELETE FROM holdfast_directory.names")
    #expect(try check(true).isEmpty)
    try expectHome("s-1", "a", at: scene.b)
    try scene.check()
  }
}
