import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import ServerScenes
import Testing

@testable import HoldfastServer
@testable import HoldfastService

/// A zone that moves from a to b: docs/MOVING.md.
@Suite struct ZoneMoveTests {
  let scene: DirectoryScene
  let ann: TestDevice
  let list: String
  let milk: String

  init() throws { try self.init(b: .used) }

  init(b engine: Engine) throws {
    scene = try DirectoryScene(b: engine)
    ann = try scene.a.signUp("ann")
    list = try ann.makeList()
    milk = try ann.makeItem(list)
    try ann.sync([.update("items", milk, ["title": "Oat milk"], at: Stamp(milliseconds: 2000))])
    let eggs = try ann.makeItem(list, "Eggs")
    try ann.sync([.delete("items", eggs)])
  }

  private func moving() throws -> ZoneMoving { try Self.moving(scene) }

  /// The step of a first move to b after which it was interrupted.
  static func letGo(_ zone: String, _ server: TestServer, number: Int64 = 1) throws {
    let source = try Administration(server.location, environment: server.world.environment)
    try source.change(.move, Footprint(zones: [zone])) { work, _, _ in
      try ZoneMoves(work).letGo(zone, to: "b", number: number)
    }
  }

  static func moving(_ scene: DirectoryScene, back: Bool = false) throws -> ZoneMoving {
    let (from, to) = back ? (scene.b, scene.a) : (scene.a, scene.b)
    return try ZoneMoving(
      from: Administration(from.location, environment: from.world.environment),
      to: Administration(to.location, environment: to.world.environment), in: scene.administration)
  }

  @Test("a zone is in the other database whole, with its members, deletions and revs (I6, I8)")
  func whole() throws {
    _ = try scene.a.signUp("carl")
    _ = try ann.share(list, with: "carl", as: .viewer)
    let moved = try #require(try moving().move(list))
    #expect(moved == .init(database: "b", records: 4, deletions: 1, members: 2))
    let guest = try scene.guest(ann)
    try guest.pull()
    #expect(guest.column("items", milk, "title") == "Oat milk")
    #expect(guest.records["items \(milk)"]?.rev == 2)
    #expect(guest.all("items").count == 1)
    #expect(try guest.sync([.update("items", milk, ["title": "Soy milk"], rev: 2)]).refused.isEmpty)
    let carl = try scene.guest(scene.a.signIn("carl"))
    try carl.pull()
    #expect(carl.column("items", milk, "title") == "Soy milk")
    #expect(try carl.refused(.update("items", milk, ["title": "Mine"], rev: 3)).code == .roleInsufficient)
    try scene.check()
  }

  @Test(
    "what a device has of it is taken away and named; its edits are refused, and deletions never count as done (I3, I10)"
  )
  func left() throws {
    _ = try moving().move(list)
    for edit in [
      Sent.update("items", milk, ["title": "Tea"], rev: 2), .delete("items", milk, rev: 2),
      .create("items", ann.newID(), ["list_id": .string(list), "title": "Bread"]),
    ] {
      let problem = try ann.refused(edit)
      #expect(problem.code == .zoneMoved && problem.database == "b", "\(edit.json)")
    }
    let answer = try ann.sync()
    #expect(answer.lost.isEmpty, "it was told with the first answer")
    #expect(!ann.has("lists", list))
    #expect(try ann.sync([.create("lists", ann.newID(), ["title": "Other"])]).refused.isEmpty)
    #expect(try ann.refused(.create("lists", list, ["title": "Again"])).code != .internalError)
    try scene.check()
  }

  @Test("an answer names the database to which a lost zone has moved") func named() throws {
    try ann.pull()
    _ = try moving().move(list)
    let answer = try ann.sync()
    #expect(answer.lost == [list])
    #expect(answer.moved.map(\.zone) == [list] && answer.moved.map(\.database) == ["b"])
    #expect(try ann.sync().moved.isEmpty)
  }

  @Test("REST answers 421 to members and service tokens, and strangers see nothing of it (I10)")
  func rest() throws {
    let stranger = try scene.a.signUp("eve")
    let client = RestClient(ann)
    _ = try moving().move(list)
    let writes: [(String, String, JSONValue)] = [
      ("PATCH", "/v1/tables/items/\(milk)", ["columns": ["title": "Tea"]]),
      ("DELETE", "/v1/tables/items/\(milk)", .null),
      ("POST", "/v1/tables/items", ["columns": ["list_id": .string(list), "title": "Bread"]]),
    ]
    for (method, path, body) in writes {
      let reply = try client.send(method, path, body)
      #expect(reply.status == 421 && reply.code == "zone-moved", "\(method) \(reply.json)")
      #expect(reply.json["database"] == "b")
      #expect(try RestClient(stranger).send(method, path, body).code != "zone-moved")
    }
    for path in ["/v1/zones/\(list)/changes", "/v1/zones/\(list)/invitations"] {
      #expect(try client.get(path).code == "zone-moved", "\(path)")
      #expect(try RestClient(stranger).get(path).status == 404)
    }
    #expect(try client.get("/v1/tables/items/\(milk)").status == 404)
    #expect(try client.get("/v1/tables/items").json["records"]?.elements?.count == 0)
    let token = try Administration(scene.a.location).createToken(
      name: "report", role: .editor, tables: nil, zones: nil, directory: scene.administration)
    let service = RestClient(TestDevice(scene.a, token: token))
    #expect(try service.get("/v1/zones/\(list)/changes").code == "zone-moved")
    #expect(try service.send("DELETE", "/v1/tables/items/\(milk)").code == "zone-moved")
    #expect(try service.get("/v1/tables/items/\(milk)").status == 404)
    #expect(try service.get("/v1/tables/items").json["records"]?.elements?.count == 0)
  }

  @Test("a link and a pending membership of the zone are good in the other database") func links() throws {
    let reply = try RestClient(ann).send(
      "POST", "/v1/zones/\(list)/invitations", ["role": "editor", "expires_in": 3600, "uses": 2])
    let token = try #require(reply.json["token"]?.stringValue, "\(reply.json)")
    let dora = try scene.b.signUp("dora")
    _ = try ann.offer(list, to: "dora")
    let eve = try scene.a.signUp("eve")
    _ = try ann.offer(list, to: "eve")
    _ = try moving().move(list)
    #expect(try RestClient(eve).get("/v1/memberships").json["memberships"]?.elements?.isEmpty == true)
    let body: JSONValue = ["token": .string(token)]
    let carl = try scene.a.signUp("carl")
    for path in ["look", "accept"] {
      #expect(try RestClient(carl).send("POST", "/v1/invitations/\(path)", body).code == "zone-moved")
    }
    let guest = try scene.guest(carl)
    #expect(try RestClient(guest).send("POST", "/v1/invitations/accept", body).status < 300)
    let waiting = try RestClient(dora).get("/v1/memberships").json["memberships"]?.elements ?? []
    #expect(waiting.count == 1)
    try scene.check()
  }

  @Test(
    "a move that ends between two steps goes on when it is repeated, or is cancelled (I2, I6)",
    arguments: [false, true])
  func interrupted(_ cancels: Bool) throws {
    try ann.pull()
    // The record is in the way: the zone is let go, and can't arrive.
    let bob = try scene.b.signUp("bob")
    let other = try bob.makeList()
    try bob.sync([.create("items", milk, ["list_id": .string(other), "title": "In the way"])])
    #expect(throws: ServerError.self) { try moving().move(list) }
    #expect(try Administration(scene.a.location).place(of: list)?.leftFor == nil, "nothing has changed")
    try Self.letGo(list, scene.a)
    let error = #expect(throws: ServerError.self) { try moving().move(list) }
    #expect(error?.code == .refused)
    #expect(try Administration(scene.b.location).place(of: list) == nil)
    #expect(try ann.sync().lost == [list])
    if cancels {
      try moving().cancel(list)
      try ann.pull()
      #expect(ann.column("items", milk, "title") == "Oat milk")
      #expect(try ann.sync([.update("items", milk, ["title": "Tea"], rev: 2)]).refused.isEmpty)
      #expect(try Administration(scene.b.location).place(of: list)?.leftFor == "a")
      try bob.sync([.delete("items", milk)])
      #expect(try ann.makeList() != list)
    } else {
      try bob.sync([.delete("items", milk)])
      #expect(try moving().move(list)?.database == "b")
      #expect(try moving().move(list) == nil, "a repeat does nothing")
      #expect(throws: ServerError.self) { try moving().cancel(list) }
      let guest = try scene.guest(ann)
      try guest.pull()
      #expect(guest.column("items", milk, "title") == "Oat milk")
    }
    try scene.check()
  }

  @Test("a cancelled move never arrives, and another one does (I8)") func cancelled() throws {
    let (a, b) = (scene.a, scene.b)
    let source = try Administration(a.location, environment: a.world.environment)
    let target = try Administration(b.location, environment: b.world.environment)
    try Self.letGo(list, a)
    try moving().cancel(list)
    #expect(throws: ServerError.self) {
      try target.change(.move) { work, now, _ in
        _ = try ZoneMoves(work).arrive(list, from: "a", number: 1, at: now) { _ in (0, 0) }
      }
    }
    #expect(throws: ServerError.self) { try source.drop(list) }
    #expect(try moving().move(list)?.records == 3)
    try scene.check()
  }

  @Test("a zone comes back, with what was written in the other database (I7)") func back() throws {
    try ann.pull()
    _ = try moving().move(list)
    let guest = try scene.guest(ann)
    try guest.pull()
    try guest.sync([.update("items", milk, ["title": "Tea"], rev: 2)])
    #expect(try Self.moving(scene, back: true).move(list)?.records == 3)
    try ann.pull()
    #expect(ann.column("items", milk, "title") == "Tea")
    #expect(try guest.sync().moved.map(\.database) == ["a"])
    #expect(try ann.sync([.update("items", milk, ["title": "Coffee"], rev: 3)]).refused.isEmpty)
    #expect(try moving().move(list)?.records == 3)
    try guest.pull()
    #expect(guest.column("items", milk, "title") == "Coffee")
    try scene.check()
  }

  @Test("a zone that has moved on is not taken back, and the first database can name the third (I8)")
  func movedOn() throws {
    let third = try TestServer()
    _ = third.world.random(13)
    #expect(try scene.join(third, as: "c").taken.isEmpty)
    func move(_ from: TestServer, _ to: TestServer) throws -> ZoneMoving {
      try ZoneMoving(
        from: Administration(from.location, environment: from.world.environment),
        to: Administration(to.location, environment: to.world.environment), in: scene.administration)
    }
    _ = try moving().move(list)
    #expect(try move(scene.b, third).move(list)?.records == 3)
    #expect(throws: ServerError.self) { try moving().cancel(list) }
    #expect(throws: ServerError.self) { _ = try moving().move(list) }
    let place = { try Administration(scene.a.location).place(of: list)?.leftFor }
    #expect(try place() == "b")
    #expect(try move(scene.a, third).move(list) == nil)
    #expect(try place() == "c")
    #expect(try ann.sync().moved.map(\.database) == ["c"])
    #expect(try move(third, scene.a).move(list)?.records == 3)
    #expect(try place() == nil)
    try scene.check()
  }

  @Test("a change token of before deletions that were purged in the other database is fenced (I8)")
  func purged() throws {
    let token = try #require(try RestClient(ann).get("/v1/zones/\(list)/changes").json["to"]?.stringValue)
    _ = try moving().move(list)
    let guest = try scene.guest(ann)
    try guest.pull()
    try guest.sync([.delete("items", milk, rev: 2)])
    try guest.pull()
    for server in [scene.a, scene.b] { server.world.advance(400 * 86_400_000) }
    let there = try Administration(scene.b.location, environment: scene.b.world.environment)
    #expect(try there.purge(trustsClock: true).tombstones > 0)
    #expect(try Self.moving(scene, back: true).move(list)?.deletions == 0)
    let back = RestClient(try scene.a.signIn("ann"))
    #expect(try back.get("/v1/zones/\(list)/changes?since=\(token)").code == "token-fenced")
    #expect(try back.get("/v1/zones/\(list)/changes").status == 200)
    for server in [scene.a, scene.b] {
      #expect(try server.findings().allSatisfy { $0.hasPrefix("clock") })
    }
  }

  @Test(
    "what is left of a zone can be dropped; no record makes it again, and deletions are refused as before (I3, I8)"
  )
  func dropped() throws {
    try ann.pull()
    _ = try moving().move(list)
    try Administration(scene.a.location).drop(list)
    #expect(try ann.refused(.delete("items", milk, rev: 2)).code == .zoneMoved)
    try ann.pull()
    #expect(try ann.refused(.delete("items", milk, rev: 2)).code == .zoneMoved, "it may have more to send")
    let own = try ann.makeList()
    try ann.sync([.delete("lists", own)])
    #expect(try ann.sync([.delete("lists", own)]).refused.isEmpty, "a deletion that is known here is done")
    #expect(try Administration(scene.a.location).place(of: list)?.leftFor == "b")
    try scene.check()
  }

  @Test("SQL writes nothing to a zone that has moved (I3)", .enabled(if: Engine.used == .postgres))
  func sql() throws {
    _ = try moving().move(list)
    let writer = try SQLWriter(scene.a)
    for sql in [
      "UPDATE items SET title = 'Tea' WHERE id = '\(milk)'", "DELETE FROM items WHERE id = '\(milk)'",
      "INSERT INTO items (id, list_id, title) VALUES ('\(ann.newID())', '\(list)', 'Bread')",
      "DELETE FROM holdfast.members WHERE zone = '\(list)'",
    ] {
      let error = #expect(throws: PostgresError.self) { try writer.run(sql) }
      #expect(error?.code == .objectNotInPrerequisiteState, "\(sql)")
    }
    try scene.check()
  }

  @Test(
    "a command that others keep waiting is told to be run again, and has changed nothing (I2)",
    .enabled(if: Engine.used == .postgres))
  func busy() throws {
    let writer = try SQLWriter(superuserOn: scene.a)
    try writer.run("BEGIN; SELECT FROM holdfast.zones WHERE zone = '\(list)' FOR UPDATE")
    let error = #expect(throws: ServerError.self) { try moving().move(list) }
    #expect(error?.code == .busy)
    try writer.run("ROLLBACK")
    #expect(try moving().move(list)?.database == "b")
    try scene.check()
  }

  @Test(
    "a repair leaves what is left of a moved zone as it is, and mends the rest (I7)",
    .enabled(if: Engine.used == .postgres))
  func repaired() throws {
    let other = try ann.makeItem(ann.makeList())
    _ = try moving().move(list)
    try SQLWriter(superuserOn: scene.a).run(
      "SET session_replication_role = replica; UPDATE items SET title = 'Tea'; DELETE FROM items WHERE id = '\(milk)'"
    )
    #expect(try DatabaseRepair(scene.a.location).run().contains { $0.hasPrefix("repaired: items") })
    try ann.pull()
    #expect(ann.column("items", other, "title") == "Tea")
    #expect(try Administration(scene.a.location).place(of: list)?.leftFor == "b")
  }

  @Test(
    "a copy that a restore has brought back is given up, but for what was written to it since (I2, I3)",
    arguments: [false, true])
  func restored(_ isWritten: Bool) throws {
    let source = try Administration(scene.a.location, environment: scene.a.world.environment)
    try ann.pull()
    _ = try moving().move(list)
    // As a backup of before the move has it.
    try source.change(.restore, Footprint(zones: [list])) { work, now, _ in
      try ZoneMoves(work).takeBack(list, number: 1, at: now)
    }
    try scene.a.change(sqlite: "DELETE FROM holdfast_moves", postgres: "DELETE FROM holdfast.moves")
    _ = try source.operators.store.beginEpoch(
      NewEpoch(scene.a.world.environment, because: .restored, isForkKnown: true), after: nil)
    try scene.a.reopen()
    if isWritten {
      let phone = try scene.a.signIn("ann")
      try phone.pull()
      try phone.sync([.update("items", milk, ["title": "Tea"], rev: 2)])
      let error = #expect(throws: ServerError.self) { try moving().move(list) }
      #expect(error?.code == .refused)
      try phone.sync([.update("items", milk, ["title": "Coffee"], rev: 3)])
    }
    #expect(try moving().move(list, discards: isWritten) == nil)
    #expect(
      try Administration(scene.a.location).place(of: list)
        == ZonePlace(leftFor: "b", number: 1, state: .arrived))
    let guest = try scene.guest(scene.a.signIn("ann"))
    try guest.pull()
    #expect(guest.column("items", milk, "title") == "Oat milk")
    try scene.check()
  }

  @Test("purges and erasures take what is left of a zone, too (I11)") func retention() throws {
    let carl = try scene.a.signUp("carl")
    _ = try ann.share(list, with: "carl", as: .viewer)
    _ = try moving().move(list)
    let source = try Administration(scene.a.location, environment: scene.a.world.environment)
    #expect(try source.erase("carl") == (carl.user, true))
    let members = "members WHERE zone = '\(list)'"
    #expect(
      try scene.a.integer("SELECT count(*) FROM \(members)", "SELECT count(*) FROM holdfast.\(members)") == 1)
    #expect(try source.erase("ann") == (ann.user, true))
    #expect(try scene.a.integer("SELECT count(*) FROM items", "SELECT count(*) FROM items") == 0)
    _ = try source.purge()
    try scene.follow()
    try scene.check()
    #expect(try moving().move(list) == nil)
  }

  @Test("zones that others depend on stay") func stay() throws {
    #expect(throws: ServerError.self) { try moving().move(ann.user) }
    #expect(throws: ServerError.self) { try moving().move(ann.newID()) }
    let group = try ann.makeList("Family")
    try ann.sync([
      .create("members", ann.newID(), ["zone": .string(list), "group": .string(group), "role": "editor"])
    ])
    for zone in [list, group] {
      let error = #expect(throws: ServerError.self) { try moving().move(zone) }
      #expect(error?.code == .refused)
    }
    try ann.pull()
    #expect(ann.has("lists", list) && ann.has("lists", group))
    try scene.check()
  }

  @Test("a zone moves to another engine and back") func engines() throws {
    let tests = try ZoneMoveTests(b: Engine.used == .sqlite ? .postgres : .sqlite)
    try tests.whole()
    #expect(try Self.moving(tests.scene, back: true).move(tests.list)?.members == 2)
    try tests.scene.check()
  }
}
