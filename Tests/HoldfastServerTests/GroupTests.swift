import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import ServerScenes
import Synchronization
import Testing

/// Zones whose members may be those of another zone. Invariants I10 and I4.
@Suite struct GroupTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  let carol: TestDevice
  /// The zone whose members are the group.
  let team: String
  let list: String
  let item: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    carol = try server.signUp("carol")
    team = try alice.makeList("Team")
    list = try alice.makeList("Plan")
    item = try alice.makeItem(list)
    for device in [alice, bob, carol] { try device.pull() }
  }

  private func name(_ group: String, in zone: String, as role: Role, by device: TestDevice) -> (String, Sent)
  {
    let id = device.newID()
    return (
      id,
      .create(
        "members", id, ["zone": .string(zone), "group": .string(group), "role": .string(role.rawValue)])
    )
  }

  @discardableResult
  private func share(_ zone: String, with group: String, as role: Role = .editor) throws -> String {
    let (id, sent) = name(group, in: zone, as: role, by: alice)
    #expect(try alice.sync([sent]).refused.isEmpty)
    return id
  }

  @Test("members of the group have the zone, whether they joined before or after (I10, I4)")
  func joining() throws {
    _ = try alice.share(team, with: "bob")
    try share(list, with: team)
    try bob.pull()
    #expect(bob.column("items", item, "title") == "Milk")
    #expect(!carol.has("lists", list))
    _ = try alice.share(team, with: "carol")
    try carol.pull()
    #expect(carol.column("items", item, "title") == "Milk")
    #expect(try carol.sync([.update("items", item, ["title": "Oat milk"])]).refused.isEmpty)
    try bob.pull()
    #expect(bob.column("items", item, "title") == "Oat milk")
  }

  @Test("who leaves the group loses its zones, and who comes back begins them again (I10)")
  func leaving() throws {
    let membership = try alice.share(team, with: "bob")
    try share(list, with: team)
    try bob.pull()
    #expect(try bob.sync([.delete("members", membership)]).lost.sorted() == [team, list].sorted())
    #expect(!bob.has("lists", list))
    #expect(try bob.refused(.update("items", item, ["title": "x"])).code == .recordUnknown)
    _ = try alice.share(team, with: "bob")
    try bob.pull()
    #expect(bob.column("items", item, "title") == "Milk")
  }

  @Test("a zone is lost with the group's row, but not by who has a membership of the own (I10)")
  func ownMembership() throws {
    for name in ["bob", "carol"] { _ = try alice.share(team, with: name) }
    _ = try alice.share(list, with: "carol", as: .viewer)
    let row = try share(list, with: team)
    for device in [bob, carol] { try device.pull() }
    // The greater of both roles counts.
    #expect(try carol.sync([.update("items", item, ["title": "Tea"])]).refused.isEmpty)
    try alice.sync([.delete("members", row)])
    for device in [bob, carol] { try device.pull() }
    #expect(!bob.has("items", item))
    #expect(carol.has("items", item))
    #expect(try carol.refused(.update("items", item, ["title": "x"])).code == .roleInsufficient)
  }

  @Test("another role of the group is another role of its members (I10)")
  func changingTheRole() throws {
    _ = try alice.share(team, with: "bob")
    let row = try share(list, with: team, as: .viewer)
    try bob.pull()
    #expect(try bob.refused(.update("items", item, ["title": "x"])).code == .roleInsufficient)
    try alice.sync([.update("members", row, ["role": "editor"], base: ["role": "viewer"])])
    #expect(try bob.sync([.update("items", item, ["title": "Tea"])]).refused.isEmpty)
    #expect(try alice.refused(.update("members", row, ["group": .string(item)])).code == .invalidOperation)
  }

  @Test("access ends with the group's zone, and comes back with it (I10)")
  func ending() throws {
    _ = try alice.share(team, with: "bob")
    try share(list, with: team)
    try bob.pull()
    try alice.sync([.delete("lists", team)])
    try bob.pull()
    #expect(!bob.has("lists", list))
    try alice.sync([.create("lists", team, ["title": "Team"])])
    try bob.pull()
    #expect(bob.has("lists", list))
  }

  @Test("groups of groups do not count (I10)")
  func oneLevel() throws {
    let above = try alice.makeList("Department")
    _ = try alice.share(team, with: "bob")
    try share(above, with: team)
    try share(list, with: above)
    try bob.pull()
    #expect(bob.has("lists", above))
    #expect(!bob.has("lists", list))
  }

  @Test("only an owner who is a member of the group may name it (I10)")
  func naming() throws {
    let hers = try carol.makeList("Hers")
    let (_, foreign) = name(hers, in: list, as: .viewer, by: alice)
    let (_, unknown) = name(alice.newID(), in: list, as: .viewer, by: alice)
    #expect(try alice.refused(foreign).code == .referenceMissing)
    #expect(try alice.refused(foreign) == alice.refused(unknown))
    #expect(try alice.refused(name(list, in: list, as: .viewer, by: alice).1).code == .invalidValue)
    _ = try alice.share(list, with: "bob")
    _ = try alice.share(team, with: "bob")
    #expect(try bob.refused(name(team, in: list, as: .viewer, by: bob).1).code == .roleInsufficient)
    try share(list, with: team)
    #expect(try alice.refused(name(team, in: list, as: .viewer, by: alice).1).code == .uniqueTaken)
    let both: JSONValue = [
      "zone": .string(list), "group": .string(hers), "name": "carol", "role": "viewer",
    ]
    #expect(try alice.refused(.create("members", alice.newID(), both)).code == .invalidValue)
  }

  @Test("a zone keeps an owner of its own: those of a group do not count")
  func lastOwner() throws {
    _ = try alice.share(team, with: "bob", as: .owner)
    try share(list, with: team, as: .owner)
    try bob.pull()
    let own = try #require(
      bob.records.first {
        $0.value.zone == list && $0.key.hasPrefix("members ") && $0.value.columns["name"] == "alice"
      })
    let id = String(own.key.dropFirst("members ".count))
    #expect(try bob.refused(.delete("members", id)).code == .lastOwner)
  }

  @Test("a refused set leaves access as it was (I6)")
  func refused() throws {
    _ = try alice.share(team, with: "bob")
    let (_, sent) = name(team, in: list, as: .editor, by: alice)
    let bad = Sent.create("items", alice.newID(), ["list_id": .string(alice.newID()), "title": "x"])
    _ = try alice.refused(sent, bad)
    try bob.pull()
    #expect(!bob.has("lists", list))
    try share(list, with: team)
    try bob.pull()
    #expect(bob.has("lists", list))
  }

  @Test("joining and adding the group in one set gives the zone as well (I6)")
  func together() throws {
    let joined: JSONValue = ["zone": .string(team), "name": "bob", "role": "viewer"]
    let (_, sent) = name(team, in: list, as: .editor, by: alice)
    let member = alice.newID()
    #expect(try alice.sync([sent, .create("members", member, joined)]).refused.isEmpty)
    try server.accept(member, by: "bob")
    try bob.pull()
    #expect(bob.column("items", item, "title") == "Milk")
  }

  @Test("REST shows a group's zone to its members alone, and its sums tell when it is lost (I10)")
  func rest() throws {
    let membership = try alice.share(team, with: "bob")
    try share(list, with: team)
    let path = "/v1/tables/items/\(item)"
    #expect(try server.respond(to: TestServer.request("GET", path, [], token: bob.token)).status == 200)
    #expect(try server.respond(to: TestServer.request("GET", path, [], token: carol.token)).status == 404)
    try alice.sync([.delete("members", membership)])
    #expect(try server.respond(to: TestServer.request("GET", path, [], token: bob.token)).status == 404)
  }

  @Test("what a group's coming and going is for its zones counts as work of the change set (I12)")
  func work() throws {
    for _ in 0..<20 { try share(alice.makeList(), with: team) }
    try alice.pull()
    server.world.changeSetWork.withLock { $0 = 20_000 }
    try server.reopen()
    let times = (0..<10).flatMap { _ -> [Sent] in
      [.delete("lists", team), .create("lists", team, ["title": "Team"])]
    }
    let answer = try alice.sync(times)
    #expect(answer.refused.first.flatMap { Problem(document: $0.problem) }?.code == .changeSetTooLarge)
    #expect(try bob.sync([.create("notes", bob.newID(), ["text": "x"])]).refused.isEmpty)
  }
}
