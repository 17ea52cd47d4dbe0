import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// Users who are erased: docs/EXPORT-AND-ERASURE.md, section 2. Invariants I1, I2, I7, I9 and I10.
@Suite("Erasing a user")
struct ErasureTests {
  private struct Killed: Error {}

  @Test(
    "nothing in the database, its log or the snapshots names who was erased, or has what was theirs alone")
  func nothing() throws {
    let scene = try ErasureScene()
    #expect(try RestClient(scene.gone).get("/v1/account/export").status == 200)
    #expect(try scene.leaks(of: ErasureScene.kept) == ErasureScene.kept)
    #expect(try scene.erase(scene.gone).status == 204)
    try scene.finish()
    #expect(try scene.leaks() == [])
    // What belongs to others is there.
    #expect(try scene.leaks(of: ["for all"]) == ["for all"])
  }

  @Test("from the answer on nobody is the user: no token, no password, no invitation is good (I10)")
  func gone() throws {
    let scene = try ErasureScene()
    #expect(try scene.erase(scene.gone).status == 204)
    for device in [scene.gone, scene.second] {
      #expect(try scene.erase(device).code == "token-invalid")
      #expect(try scene.server.respond(to: device.request([])).status == 401)
    }
    let signIn: JSONValue = [
      "name": .string(ErasureScene.name), "password": "correct horse", "device": ["name": "x"],
    ]
    #expect(try scene.server.post("/v1/sessions", signIn).status == 401)
    let token: JSONValue = ["token": .string(scene.invitation)]
    let dave = RestClient(try scene.server.signUp("dave"))
    #expect(try dave.send("POST", "/v1/invitations/accept", token).code == "invitation-invalid")
    #expect(try scene.server.post("/v1/invitations/look", token).status == 404)
    for key in ["user": scene.gone.user, "name": ErasureScene.name] {
      let member: JSONValue = ["zone": .string(scene.guest), "role": "editor", key.key: .string(key.value)]
      let problem = try scene.bob.refused(.create("members", scene.bob.newID(), member))
      #expect(problem.code == .userUnknown)
    }
  }

  @Test("the others keep what is shared, hear of the leaving, and have an owner (I7, I9)")
  func others() throws {
    let scene = try ErasureScene()
    let (bob, carol, server) = (scene.bob, scene.carol, scene.server)
    try scene.erase(scene.gone)
    try scene.finish()
    for device in [bob, carol] { try device.pull() }
    #expect(bob.column("items", scene.sharedItem, "title") == "for all")
    #expect(carol.column("items", scene.sharedItem, "title") == "for all")
    func members(_ device: TestDevice, _ zone: String) -> TextMap<String> {
      let rows = device.records.filter { $0.key.hasPrefix("members ") && $0.value.zone == zone }.map(\.value)
      return TextMap(
        rows.compactMap { row in
          row.columns["name"]?.stringValue.map { ($0, row.columns["role"]?.stringValue ?? "") }
        })
    }
    // The editor before the viewer; of a zone that all have by a group, one of the group.
    #expect(members(bob, scene.shared) == ["bob": "owner", "carol": "viewer"])
    #expect(members(carol, scene.shared) == members(bob, scene.shared))
    #expect(members(bob, scene.guest) == ["bob": "owner"])
    #expect(members(carol, scene.team) == ["carol": "owner"])
    #expect(members(carol, scene.grouped) == ["carol": "owner"])
    #expect(try bob.sync([.update("items", scene.sharedItem, ["title": "still"])]).refused.isEmpty)
    #expect(
      try carol.sync([.update("lists", scene.grouped, ["title": "still"])]).refused.isEmpty)
    try bob.pull()
    try carol.pull()
    #expect(carol.column("items", scene.sharedItem, "title") == "still")
    let fresh = try server.signIn("carol")
    try fresh.pull()
    #expect(
      fresh.records.filter { $0.value.zone == scene.shared }
        == carol.records.filter { $0.value.zone == scene.shared })
    #expect(!bob.has("lists", scene.own))
  }

  private func role(_ device: TestDevice, _ zone: String) throws -> String? {
    let zones = try RestClient(device).get("/v1/zones").json["zones"]?.elements ?? []
    return zones.first { $0["zone"]?.stringValue == zone }?["role"]?.stringValue
  }

  @Test("whoever has left a zone does not get it back as an owner, but another one of the group (I10)")
  func passedBy() throws {
    let scene = try ErasureScene()
    let dave = try scene.server.signUp("dave")
    _ = try scene.gone.share(scene.team, with: "dave", as: .viewer)
    let path = "/v1/zones/\(scene.grouped)/membership"
    #expect(try RestClient(scene.carol).send("DELETE", path).status == 204)
    try scene.erase(scene.gone)
    try scene.finish()
    #expect(try role(dave, scene.grouped) == "owner")
    #expect(try role(scene.carol, scene.grouped) == nil)
  }

  @Test("an owner's membership is the one that the user had not answered (I10)")
  func unanswered() throws {
    let scene = try ErasureScene()
    let block = try RestClient(scene.carol).send("PUT", "/v1/blocks/\(scene.gone.user)")
    #expect(block.status == 204)
    let member: JSONValue = [
      "zone": .string(scene.grouped), "user": .string(scene.carol.user), "role": "viewer",
    ]
    try scene.gone.sync([.create("members", scene.gone.newID(), member)])
    try scene.erase(scene.gone)
    try scene.finish()
    #expect(try role(scene.carol, scene.grouped) == "owner")
  }

  @Test("a second account of the name knows nothing of the first (I10)")
  func sameName() throws {
    let scene = try ErasureScene()
    try scene.erase(scene.gone)
    let other = try scene.server.signUp(ErasureScene.name)
    try scene.finish()
    #expect(other.user != scene.gone.user)
    try other.pull()
    #expect(TextSet(other.records.values.map(\.zone)) == [other.user])
    #expect(try scene.server.respond(to: scene.gone.request([])).status == 401)
    // Nor does a device that knew the first.
    let session: JSONValue = [
      "name": .string(ErasureScene.name), "password": "correct horse",
      "device": ["name": "x", "id": .string(scene.gone.id)],
    ]
    let answer = try JSONValue(parsing: scene.server.post("/v1/sessions", session).body)
    #expect(answer["device"]?["id"]?.stringValue != scene.gone.id)
  }

  @Test(
    "an erasure that is killed after any of its steps is finished by the next server, zones together or each alone (I2)",
    arguments: [true, false])
  func killed(isTogether: Bool) throws {
    let scene = try ErasureScene()
    try scene.erase(scene.gone)
    var steps = 0
    while try scene.isUnderWay {
      steps += 1
      try #require(steps < 60)
      try run(scene.server, steps: steps, isTogether: isTogether)
      try scene.server.reopen()
      #expect(try scene.server.findings().isEmpty, "after \(steps) steps")
    }
    #expect(steps > (isTogether ? 3 : 5))
    try scene.server.reopen()
    try scene.finish()
    #expect(try scene.leaks() == [])
  }

  /// A pass that ends after some commands.
  ///
  /// - Parameter isTogether: whether what is found for one transaction gets one.
  private func run(_ server: TestServer, steps: Int, isTogether: Bool) throws {
    let inline = try #require(server.inline)
    let terms = RetentionTerms(
      Retention(), in: inline.api.database.history, at: TrustedTime(time: server.world.now))
    var left = steps
    let pass = RetentionPass(
      find: { kind, place in
        try inline.api.database.read { try $0.found(kind, after: place, terms, in: inline.schema) }
      },
      purge: { item in
        if case .together = item, !isTogether { return nil }
        let result = inline.service.apply([.purge(item, terms)])[0]
        guard case .success(.purged(let purged)) = result else { throw Killed() }
        left -= 1
        if left == 0 { throw Killed() }
        return purged
      })
    do { _ = try pass.run(Purgeable.Kind.ofErasures) } catch is Killed {}
  }

  @Test("the last of several who are erased at once takes the zone along")
  func together() throws {
    let scene = try ErasureScene()
    for device in [scene.gone, scene.bob, scene.carol] { #expect(try scene.erase(device).status == 204) }
    try scene.finish()
    #expect(try scene.leaks(of: ErasureScene.secrets + ["for all", "bob", "carol", "grouped"]) == [])
  }

  @Test("a reference of another zone to what is erased is dealt with as its rule says (I9)")
  func across() throws {
    let scene = try ErasureScene()
    let (bob, note) = (scene.bob, scene.bob.newID())
    let membership = try scene.gone.share(scene.own, with: "bob")
    try bob.pull()
    try bob.sync([.create("notes", note, ["text": "bob's", "list_id": .string(scene.own)])])
    try scene.gone.sync([.delete("members", membership)])
    try scene.erase(scene.gone)
    try scene.finish()
    try bob.pull()
    #expect(bob.column("notes", note, "text") == "bob's")
    #expect(bob.column("notes", note, "list_id") == .null)
  }

  @Test("a wrong password erases nobody, and is counted; a wrong form is refused (I10)")
  func passwords() throws {
    let scene = try ErasureScene()
    let rest = RestClient(scene.gone)
    #expect(try scene.erase(scene.gone, password: nil).status == 400)
    #expect(try scene.erase(scene.gone, password: 7).status == 400)
    #expect(try rest.send("DELETE", "/v1/account", ["passwort": "correct horse"]).status == 400)
    #expect(try rest.send("DELETE", "/v1/account").status == 415)
    for _ in 0..<10 { #expect(try scene.erase(scene.gone, password: "wrong").code == "credentials-wrong") }
    #expect(try scene.erase(scene.gone).code == "too-many-attempts")
    scene.server.world.advance(86_400_000)
    try scene.server.inline?.purge()
    try scene.gone.pull()
    #expect(scene.gone.has("lists", scene.own))
    #expect(try scene.erase(scene.gone).status == 204)
  }

  @Test("a user of an identity provider is erased by the session alone, and comes back as somebody else")
  func provider() throws {
    let provider = TestProvider()
    let server = try TestServer(provider: provider.configuration)
    let jwt = provider.token(TestProvider.claims("s-1", at: server.world.now))
    let body: JSONValue = ["token": .string(jwt), "device": ["name": "x"]]
    let first = try server.send("POST", "/v1/sessions", body)
    let token = try #require(first.body["token"]?.stringValue)
    #expect(try server.send("GET", "/v1/zones", token: jwt).status == 200)
    #expect(try server.send("DELETE", "/v1/account", [:], token: token).status == 204)
    #expect(try server.send("GET", "/v1/zones", token: token).status == 401)
    try server.inline?.purge()
    #expect(try server.dump().contains("s-1") == false)
    // A program that shows the JWT itself learns once that it is nobody's, and is somebody new then.
    let list: JSONValue = ["columns": ["title": "new"]]
    let statuses = try (0..<2).map { _ in try server.send("POST", "/v1/tables/lists", list, token: jwt).status
    }
    #expect(statuses == [401, 201])
    let second = try server.send("POST", "/v1/sessions", body)
    #expect(second.status == 200)
    #expect(second.body["user"]?["id"] != first.body["user"]?["id"])
    #expect(try server.findings().isEmpty)
  }

  @Test("an operator erases a user by name, once, and sees the id afterwards")
  func operators() throws {
    let scene = try ErasureScene()
    let administration = try Administration(
      scene.server.location, environment: scene.server.world.environment)
    let (id, isDone) = try administration.erase(ErasureScene.name)
    #expect(id == scene.gone.user && isDone)
    #expect(throws: ServerError.self) { try administration.erase(ErasureScene.name) }
    let row = try administration.users().rows.first { $0[0] == id }
    #expect(row?[1] == "(erased)")
    #expect(try administration.devices().rows.filter { $0[1] == "(erased)" }.allSatisfy { $0[2].isEmpty })
    try scene.finish()
    #expect(try scene.leaks() == [])
  }
}
