import HoldfastCore
import HoldfastHTTP
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Names are unique over the databases of a directory: docs/DIRECTORY.md, section 4.
@Suite struct DirectoryNameTests {
  let scene: DirectoryScene

  init() throws { scene = try DirectoryScene() }

  private func signIn(_ name: String, password: String = "correct horse") throws -> RestClient.Reply {
    let body: JSONValue = [
      "name": .string(name), "password": .string(password), "device": ["name": "phone"],
    ]
    return RestClient.Reply(try scene.b.post("/v1/sessions", body))
  }

  @Test("a name is one user's in all databases, and a sign-in elsewhere is told the address of the home")
  func unique() throws {
    _ = try scene.a.signUp("ann")
    #expect(try DirectoryScene.code(scene.b.respond(to: DirectoryScene.signUp("ann"))) == "name-taken")
    for password in ["correct horse", "wrong horse"] {
      let reply = try signIn("ann", password: password)
      #expect(reply.status == 421 && reply.code == "account-elsewhere")
      #expect(reply.json["url"] == "https://a.example.org")
    }
    #expect(try signIn("nobody").code == "credentials-wrong")
    try scene.check()
  }

  @Test("of two databases that sign a name up at once, one gets it")
  func race() throws {
    for steps in 0..<6 {
      let name = "ann\(steps)"
      let isDone = try DirectoryScene.kill(scene.a, after: steps, of: DirectoryScene.signUp(name))
      let other = try scene.b.respond(to: DirectoryScene.signUp(name)).status == 201
      let again = try scene.a.respond(to: DirectoryScene.signUp(name)).status == 201
      #expect(isDone || other || again)
      #expect(!(other && again))
      #expect(try scene.count("names WHERE name = '\(name)'") == 1)
    }
    try scene.check()
  }

  @Test("a sign-up that is ended at any step is repeated, or has made the account (I1)")
  func killed() throws {
    for steps in 0..<6 {
      let name = "ann\(steps)"
      _ = try DirectoryScene.kill(scene.a, after: steps, of: DirectoryScene.signUp(name))
      let again = try scene.a.respond(to: DirectoryScene.signUp(name))
      if again.status != 201 {
        #expect(DirectoryScene.code(again) == "name-taken")
        _ = try scene.a.signIn(name)
      }
    }
    #expect(try scene.count("names") == 6)
    try scene.check()
  }

  @Test("a claim without an account goes after an hour, one with an account stays")
  func abandoned() throws {
    _ = try scene.a.signUp("ann")
    for steps in 1...4 where try scene.count("names WHERE name = 'bob'") == 0 {
      _ = try DirectoryScene.kill(scene.a, after: steps, of: DirectoryScene.signUp("bob"))
    }
    #expect(try scene.count("names") == 2)
    try scene.follow()
    #expect(try scene.b.respond(to: DirectoryScene.signUp("bob")).status == 409)
    try scene.change("UPDATE holdfast_directory.names SET claimed = now() - interval '2 hours'")
    try scene.follow()
    #expect(try scene.b.respond(to: DirectoryScene.signUp("bob")).status == 201)
    #expect(try scene.b.respond(to: DirectoryScene.signUp("ann")).status == 409)
    #expect(try scene.count("names WHERE is_served") == 1)
    try scene.check()
  }

  @Test("a closed database names an open one; when all are closed, nobody signs up")
  func closed() throws {
    try scene.administration.setOpen(false, "a")
    let reply = RestClient.Reply(try scene.a.respond(to: DirectoryScene.signUp("ann")))
    #expect(reply.code == "account-elsewhere" && reply.json["url"] == "https://b.example.org")
    try scene.administration.setOpen(false, "b")
    #expect(try DirectoryScene.code(scene.a.respond(to: DirectoryScene.signUp("ann"))) == "sign-up-closed")
    #expect(throws: ServerError.self) { try scene.administration.setOpen(true, "c") }
    #expect(try scene.count("names") == 0)
  }

  @Test("a database joins with its names, or not at all when one is taken")
  func joining() throws {
    _ = try scene.a.signUp("ann")
    let c = try TestServer()
    for name in ["ann", "carl"] { _ = try c.signUp(name) }
    #expect(try scene.join(c, as: "c").taken == ["ann"])
    #expect(try scene.count("names") == 1 && scene.count("databases") == 2)
    #expect(throws: ServerError.self) { try scene.join(c, as: "home") }
    try Administration(c.location).rename("ann", to: "ann-c")
    #expect(try scene.join(c, as: "c").claimed == 2)
    #expect(try scene.join(c, as: "c").claimed == 2, "a repeat does no harm")
    #expect(throws: ServerError.self) { try scene.join(c, as: "d") }
    #expect(throws: ServerError.self) { try Administration(c.location).rename("carl", to: "carla") }
    #expect(try scene.count("names WHERE home = 'c' AND is_served") == 2)
  }

  @Test("a database of a directory does not start without it, nor another one with it, nor a copy")
  func starting() throws {
    scene.a.directory = nil
    #expect(throws: ServerError.self) { try scene.a.reopen() }
    let c = try TestServer()
    c.directory = DirectoryConfiguration(scene.url)
    #expect(throws: ServerError.self) { try c.reopen() }
    scene.a.directory = c.directory
    try scene.change("UPDATE holdfast_directory.databases SET identity = 'another place' WHERE name = 'a'")
    #expect(throws: ServerError.self) { try scene.a.reopen() }
    #expect(throws: ServerError.self) { try scene.join(scene.a, as: "a") }
    #expect(try scene.join(scene.a, as: "a", isMoved: true).taken.isEmpty)
    try scene.a.reopen()
  }

  @Test("the names of service tokens are claimed, and checking finds and mends what is missing")
  func checking() throws {
    let administration = try Administration(scene.a.location)
    #expect(throws: ServerError.self) {
      try administration.createToken(name: "worker", role: .viewer, tables: nil, zones: nil)
    }
    _ = try administration.createToken(
      name: "worker", role: .viewer, tables: nil, zones: nil, directory: scene.administration)
    #expect(try scene.b.respond(to: DirectoryScene.signUp("worker")).status == 409)
    _ = try scene.a.signUp("ann")
    try scene.change("DELETE FROM holdfast_directory.names WHERE name = 'ann'")
    try scene.change(
      "INSERT INTO holdfast_directory.names (name, user_id, home, is_served) VALUES ('lost', 'x', 'a', true)")
    #expect(try scene.administration.check(administration, repairs: false).count == 2)
    #expect(try scene.administration.check(administration, repairs: true).count == 1)
    #expect(try scene.count("names WHERE name = 'ann'") == 1)
  }

  @Test("an erased user's name is free when the directory is told, whatever a crash repeats")
  func erasing() throws {
    let ann = try scene.a.signUp("ann")
    let guest = try scene.guest(ann)
    let body: JSONValue = ["password": "correct horse"]
    #expect(try RestClient(ann).send("DELETE", "/v1/account", body).status == 204)
    #expect(try scene.b.respond(to: DirectoryScene.signUp("ann")).status == 409)
    // It is told, and killed before it has noted that.
    let directory = try #require(scene.a.inline?.api.directory)
    try directory.tell([], erased: [ann.user])
    try scene.a.reopen()
    // The name is taken again before b has heard of the end: the older guest gives way.
    let other = try scene.b.signUp("ann")
    #expect(other.user != ann.user)
    try scene.follow()
    #expect(try !DirectoryScene.isGood(guest))
    #expect(try scene.count("ends") == 0 && scene.count("presences") == 0)
    for server in [scene.a, scene.b] {
      let untold = try server.integer(
        "SELECT count(*) FROM holdfast_accounts WHERE erasure_untold = 1",
        "SELECT count(*) FROM holdfast.accounts WHERE erasure_untold")
      #expect(untold == 0, "each round would look at it for ever (I11)")
    }
    #expect(try DirectoryScene.isGood(other))
    try scene.check()
  }
}
