import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer
@testable import HoldfastService

/// Passes, and the sessions of guests: docs/DIRECTORY.md, section 5. Invariant I10.
@Suite struct PassTests {
  let scene: DirectoryScene
  let ann: TestDevice

  init() throws {
    scene = try DirectoryScene()
    ann = try scene.a.signUp("ann")
  }

  private func use(_ pass: String, at server: TestServer? = nil) throws -> RestClient.Reply {
    RestClient.Reply(try (server ?? scene.b).respond(to: DirectoryScene.signIn(pass)))
  }

  @Test("a guest has the id and the name of home, and syncs")
  func guest() throws {
    let guest = try scene.guest(ann)
    #expect(guest.user == ann.user)
    let list = try guest.makeList()
    let bob = try scene.b.signUp("bob")
    _ = try guest.share(list, with: "bob")
    try bob.pull()
    #expect(bob.has("lists", list))
    let databases = try RestClient(guest).get("/v1/databases").json["databases"]?.elements ?? []
    #expect(databases.map { $0["is_home"] } == [true, false])
    #expect(databases.map { $0["is_member"] } == [true, true])
    #expect(try databases == RestClient(ann).get("/v1/databases").json["databases"]?.elements)
    try scene.check()
  }

  @Test("a pass is good once, for one database, for five minutes (I10)")
  func good() throws {
    let once = try scene.pass(ann)
    #expect(try use(once, at: scene.a).code == "pass-invalid")
    #expect(try use(once).status == 200)
    #expect(try use(once).code == "pass-invalid")
    let late = try scene.pass(ann)
    try scene.change("UPDATE holdfast_directory.passes SET expires = now() - interval '1 second'")
    #expect(try use(late).code == "pass-invalid")
    #expect(try use("invented").code == "pass-invalid")
    try scene.follow()
    #expect(try scene.count("passes") == 0)
  }

  @Test("a pass is refused for a database that is not there, at home, without JSON and without a directory")
  func refused() throws {
    func ask(_ body: JSONValue, _ device: TestDevice? = nil) throws -> RestClient.Reply {
      try RestClient(device ?? ann).send("POST", "/v1/passes", body)
    }
    #expect(try ask(["database": "c"]).status == 404)
    #expect(try ask(["database": "No Name"]).status == 404)
    #expect(try ask(["database": "a"]).code == "invalid-request")
    #expect(try ask([:]).code == "invalid-request")
    let alone = try TestServer().signUp("ann")
    #expect(try ask(["database": "b"], alone).status == 404)
    #expect(try RestClient(alone).get("/v1/databases").status == 404)
    let body = DirectoryScene.body("x")
    #expect(try RestClient.Reply(alone.server.post("/v1/sessions", body)).code == "invalid-request")
    var both = DirectoryScene.body("x").members ?? []
    both.append(.init("name", "ann"))
    #expect(
      try RestClient.Reply(scene.b.post("/v1/sessions", .object(both))).code == "invalid-request")
    #expect(try scene.count("passes") == 0)
  }

  @Test("two requests with one pass: one has a session, the other's has ended (I10)")
  func twice() throws {
    for steps in 1..<6 {
      let pass = try scene.pass(ann)
      let first = try Steps(DirectoryScene.signIn(pass), at: scene.b)
      first.take(steps)
      let second = try use(pass)
      let answer = try #require(first.take(6))
      #expect([answer.status, second.status].sorted() == [200, 401])
      let session = answer.status == 200 ? RestClient.Reply(answer).json : second.json
      #expect(try DirectoryScene.isGood(TestDevice(scene.b, session)))
      #expect(try scene.liveInB() == Int64(steps))
    }
  }

  @Test("a request for a pass that is ended at any step is repeated")
  func killedAtHome() throws {
    let body: JSONValue = ["database": "b"]
    for steps in 0..<5 {
      let request = RestClient(ann).request("POST", "/v1/passes", body)
      _ = try DirectoryScene.kill(scene.a, after: steps, of: request)
    }
    _ = try scene.guest(ann)
    try scene.check()
  }

  @Test("a sign-in with a pass that is ended at any step is repeated with another pass")
  func killed() throws {
    for steps in 0..<6 {
      _ = try DirectoryScene.kill(scene.b, after: steps, of: DirectoryScene.signIn(scene.pass(ann)))
      #expect(try DirectoryScene.isGood(scene.guest(ann)))
    }
    // What was stored before the kills is ended with the rest.
    try RestClient(ann).send("DELETE", "/v1/sessions/current")
    try scene.follow()
    #expect(try scene.liveInB() == 0)
    try scene.check()
  }

  @Test("a session that ends between the steps of a pass leaves none elsewhere (I10)")
  func endedMeanwhile() throws {
    for (count, isErased) in [false, true].enumerated() {
      for steps in 0..<5 {
        let name = "user\(count).\(steps)"
        let user = try scene.a.signUp(name)
        let signIn = try Steps(DirectoryScene.signIn(scene.pass(user)), at: scene.b)
        signIn.take(steps)
        if isErased {
          try RestClient(user).send("DELETE", "/v1/account", ["password": "correct horse"])
        } else {
          try RestClient(user).send("DELETE", "/v1/sessions/current")
        }
        try scene.follow()
        signIn.take(6)
        try scene.follow()
        #expect(try scene.liveInB() == 0, "\(name)")
        let named = try scene.b.integer(
          "SELECT count(*) FROM holdfast_accounts WHERE name = '\(name)'",
          "SELECT count(*) FROM holdfast.accounts WHERE name = '\(name)'")
        #expect(!isErased || named == 0, "\(name)")
      }
    }
  }

  @Test("a guest's session ends with that of the home, however it ends (I10)")
  func ends() throws {
    for how in ["sign-out", "password", "revocation", "others", "sign-in", "erasure"] {
      let (one, other) = (try scene.a.signUp(how), try scene.a.signIn(how))
      let (guest, kept) = (try scene.guest(one), try scene.guest(other))
      let (rest, otherRest) = (RestClient(one), RestClient(other))
      switch how {
      case "sign-out": try rest.send("DELETE", "/v1/sessions/current")
      case "password":
        try otherRest.send("PUT", "/v1/account/password", ["old": "correct horse", "new": "battery staple"])
      case "revocation": try otherRest.send("DELETE", "/v1/devices/\(one.id)")
      case "others": try otherRest.send("DELETE", "/v1/sessions")
      case "sign-in": _ = try scene.a.signIn(how, device: one.id)
      default: try otherRest.send("DELETE", "/v1/account", ["password": "correct horse"])
      }
      #expect(try DirectoryScene.isGood(guest), "\(how): the directory has not been told")
      try scene.follow()
      #expect(try !DirectoryScene.isGood(guest), "\(how)")
      #expect(try DirectoryScene.isGood(kept) == (how != "erasure"), "\(how)")
    }
    #expect(try scene.count("ends") == 0)
  }

  @Test("an end that is told twice, or of which a second one comes meanwhile, is not lost (I10)")
  func toldTwice() throws {
    let guest = try scene.guest(ann)
    let again = try scene.a.signIn("ann", device: ann.id)
    let (directory, database) = (
      try #require(scene.a.inline?.api.directory), try #require(scene.a.inline?.api.database)
    )
    let work = try database.read { try $0.directoryWork(at: 0, limit: 10) }
    #expect(work.ended == [EndedSession(device: ann.id, user: ann.user, session: 1)])
    try directory.tell(work.ended, erased: [])
    // Killed before it is noted; then the second session ends before the first is noted as told.
    let second = try scene.guest(again)
    try RestClient(again).send("DELETE", "/v1/sessions/current")
    _ = scene.a.inline?.service.apply([.told(work.ended, erased: [])])
    try scene.follow()
    #expect(try !DirectoryScene.isGood(guest) && !DirectoryScene.isGood(second))
    // b is killed before it drops the ends.
    let last = try scene.guest(scene.a.signIn("ann"))
    try scene.change("INSERT INTO holdfast_directory.ends (database, home_device) VALUES ('b', '\(ann.id)')")
    try scene.follow()
    #expect(try DirectoryScene.isGood(last))
    #expect(try database.read { try $0.directoryWork(at: 0, limit: 10) }.ended.isEmpty)
  }

  @Test("a guest's session ends seven days after the last pass, and a copy's with it")
  func age() throws {
    let day: Int64 = 86_400_000
    let guest = try scene.guest(ann)
    let copy = try RestClient(guest).send("POST", "/v1/devices", ["name": "copy"])
    let copied = try TestDevice(scene.b, copy.json)
    let renewed = try scene.guest(ann)
    scene.b.world.advance(6 * day)
    try scene.follow()
    #expect(try DirectoryScene.isGood(guest) && DirectoryScene.isGood(copied))
    let body = DirectoryScene.body(
      try scene.pass(ann), device: ["name": "phone", "id": .string(renewed.id), "session": 1])
    let answer = RestClient.Reply(try scene.b.post("/v1/sessions", body))
    #expect(answer.json["device"]?["id"] == .string(renewed.id))
    scene.b.world.advance(2 * day)
    try scene.follow()
    #expect(try !DirectoryScene.isGood(guest) && !DirectoryScene.isGood(copied))
    #expect(try DirectoryScene.isGood(TestDevice(scene.b, answer.json)))
  }

  @Test("a guest's session ends no later than the session of the home may last (I10)")
  func lifetime() throws {
    let day: Int64 = 86_400_000
    scene.a.world.limits.withLock { $0.sessionLifetime = .seconds(10 * 86_400) }
    try scene.a.reopen()
    scene.a.world.advance(7 * day)
    let guest = try scene.guest(ann)
    scene.b.world.advance(2 * day)
    try scene.follow()
    #expect(try DirectoryScene.isGood(guest))
    scene.b.world.advance(day + day / 2)
    try scene.follow()
    #expect(try !DirectoryScene.isGood(guest))
    let late = try scene.pass(ann)
    try scene.change("UPDATE holdfast_directory.passes SET session_ends = now()")
    #expect(try use(late).code == "pass-invalid")
  }

  @Test("a guest has nothing that only the home has (I10)")
  func homeOnly() throws {
    let guest = try scene.guest(ann)
    let rest = RestClient(guest)
    let password: JSONValue = ["old": "correct horse", "new": "battery staple"]
    for reply in [
      try rest.send("POST", "/v1/passes", ["database": "a"]),
      try rest.send("PUT", "/v1/account/password", password), try rest.send("DELETE", "/v1/account", [:]),
      try rest.send("DELETE", "/v1/account", ["password": ""]),
      try rest.send("POST", "/v1/tables/notes", ["columns": ["text": "mine"]]),
    ] { #expect(reply.status == 403 && reply.code == "not-at-home", "\(reply.json)") }
    #expect(try guest.refused(.create("notes", guest.newID(), ["text": "mine"])).code == .notAtHome)
    #expect(try rest.send("DELETE", "/v1/zones/\(ann.user)/membership").status == 404)
    let administration = try Administration(scene.b.location)
    #expect(throws: ServerError.self) { try administration.erase("ann") }
    #expect(throws: ServerError.self) { try administration.setPassword("battery staple", ofUser: "ann") }
    if case .postgres = Engine.used {
      let writer = try SQLWriter(scene.b)
      #expect(throws: (any Error).self) {
        try writer.run(
          "SET holdfast.account = '\(ann.user)'; INSERT INTO notes (id, text) VALUES ('\(guest.newID())', 'mine')"
        )
      }
      try writer.run("RESET holdfast.account")
    }
    // The rest of an account is a guest's, too.
    for path in ["/v1/devices", "/v1/zones", "/v1/memberships", "/v1/blocks", "/v1/account/export"] {
      #expect(try rest.get(path).status == 200, "\(path)")
    }
    #expect(try rest.send("PUT", "/v1/push-token", ["kind": "apns", "token": "t"]).status == 204)
    #expect(try DirectoryScene.isGood(ann) && DirectoryScene.isGood(guest))
    try scene.check()
  }

  @Test("a stranger's zone with the id of a guest is not the guest's own (I3, I10)")
  func stranger() throws {
    let eve = try scene.b.signUp("eve")
    #expect(try eve.sync([.create("lists", ann.user, ["title": "trap"])]).refused.isEmpty)
    let guest = try scene.guest(ann)
    let membership = try eve.share(ann.user, with: "ann")
    #expect(try RestClient(guest).send("POST", "/v1/memberships/\(membership)/accept").status < 300)
    #expect(try guest.refused(.create("notes", guest.newID(), ["text": "secret"])).code == .notAtHome)
    try scene.check()
    #expect(try RestClient(guest).send("DELETE", "/v1/zones/\(ann.user)/membership").status == 204)
    try scene.check()
  }
}
