import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

/// Nobody is made a member by strangers. Invariants I10 and I11; docs/SHARING.md, sections 2 and 3.
@Suite struct ConsentTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  let list: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    list = try alice.makeList("Plan")
    for device in [alice, bob] { try device.pull() }
  }

  private func pending(_ device: TestDevice) throws -> [JSONValue] {
    let answer = try RestClient(device).get("/v1/memberships")
    try #require(answer.status == 200)
    return answer.json["memberships"]?.elements ?? []
  }

  @discardableResult
  private func send(_ device: TestDevice, _ method: String, _ path: String) throws -> RestClient.Reply {
    try RestClient(device).send(method, path)
  }

  @Test("who is made a member by a stranger waits, sees nothing, and accepts (I10)")
  func accepting() throws {
    let member = try alice.offer(list, to: "bob")
    try bob.pull()
    #expect(!bob.has("lists", list))
    #expect(try RestClient(bob).get("/v1/tables/lists/\(list)").status == 404)
    #expect(try bob.refused(.update("lists", list, ["title": "x"])).code == .recordUnknown)
    try alice.pull()
    #expect(alice.column("members", member, "invited_by") == .string(alice.user))
    let waiting = try #require(try pending(bob).first)
    #expect(
      waiting["id"] == .string(member) && waiting["title"] == "Plan" && waiting["role"] == "editor"
        && waiting["invited_by"]?["id"] == .string(alice.user)
        && waiting["invited_by"]?["name"] == "alice")
    let accepted = try send(bob, "POST", "/v1/memberships/\(member)/accept")
    #expect(accepted.status == 201 && accepted.json["zone"] == .string(list))
    #expect(try send(bob, "POST", "/v1/memberships/\(member)/accept").status == 200)
    try bob.pull()
    #expect(bob.column("lists", list, "title") == "Plan")
    #expect(try pending(bob).isEmpty)
    try alice.pull()
    #expect(alice.column("members", member, "invited_by") == .null)
    #expect(try server.findings().isEmpty)
  }

  @Test("who shares a zone with the maker is a member at once; a public zone does not count (I10)")
  func acquainted() throws {
    let carol = try server.signUp("carol")
    try server.change(
      sqlite:
        "INSERT INTO holdfast_access (zone, user, role) VALUES ('catalogue', '\(alice.user)', 'viewer'), ('catalogue', '\(carol.user)', 'viewer')",
      postgres:
        "INSERT INTO holdfast.access (zone, \"user\", role) VALUES ('catalogue', '\(alice.user)', 'viewer'), ('catalogue', '\(carol.user)', 'viewer')"
    )
    _ = try alice.offer(list, to: "carol")
    #expect(try pending(carol).count == 1)
    _ = try alice.share(list, with: "bob")
    let other = try alice.makeList("Other")
    _ = try alice.offer(other, to: "bob")
    try bob.pull()
    #expect(bob.has("lists", other))
  }

  @Test("what a device says of invited_by counts for nothing (I10)")
  func claimed() throws {
    let id = alice.newID()
    let columns: JSONValue = [
      "zone": .string(list), "name": "bob", "role": "owner", "invited_by": .null,
    ]
    try alice.sync([.create("members", id, columns)])
    try alice.sync([.update("members", id, ["invited_by": .null, "role": "editor"])])
    let rest = RestClient(alice)
    try rest.send("PATCH", "/v1/tables/members/\(id)", ["columns": ["invited_by": .null]])
    try rest.send(
      "PUT", "/v1/tables/members/\(id)",
      ["zone": .string(list), "columns": ["name": "bob", "role": "editor", "invited_by": .null]])
    try alice.sync([.delete("members", id)])
    try alice.sync([.create("members", id, columns)])
    try bob.pull()
    #expect(!bob.has("lists", list))
    #expect(try send(alice, "POST", "/v1/memberships/\(id)/accept").status == 404)
    #expect(try pending(bob).count == 1)
  }

  @Test("who declines leaves nothing behind; the maker sees the record go (I10)")
  func declining() throws {
    let member = try alice.offer(list, to: "bob")
    #expect(try send(alice, "DELETE", "/v1/memberships/\(member)").status == 404)
    #expect(try send(bob, "DELETE", "/v1/memberships/\(member)").status == 204)
    #expect(try send(bob, "DELETE", "/v1/memberships/\(member)").status == 404)
    #expect(try pending(bob).isEmpty)
    try alice.pull()
    #expect(!alice.has("members", member))
    #expect(try send(bob, "POST", "/v1/memberships/\(member)/accept").status == 404)
    #expect(try server.findings().isEmpty)
  }

  @Test("a member that waits is no owner of a zone, and no member of a group (I10)")
  func withoutRights() throws {
    let team = try alice.makeList("Team")
    _ = try alice.offer(team, to: "bob", as: .owner)
    try alice.sync([
      .create(
        "members", alice.newID(), ["zone": .string(list), "group": .string(team), "role": "editor"])
    ])
    try bob.pull()
    #expect(!bob.has("lists", list))
    let own = try #require(
      alice.records.first {
        $0.value.zone == team && $0.key.hasPrefix("members ") && $0.value.columns["name"] == "alice"
      }?.key.split(separator: " ").last)
    #expect(try alice.refused(.delete("members", String(own))).code == .lastOwner)
    let row = try #require(try pending(bob).first?["id"]?.stringValue)
    try server.accept(row, by: "bob")
    try bob.pull()
    #expect(bob.has("lists", list))
    #expect(try server.findings().isEmpty)
  }

  @Test("an accepted link makes a member of who was asked by name, with the greater role (I10)")
  func link() throws {
    let member = try alice.offer(list, to: "bob", as: .viewer)
    let rest = RestClient(alice)
    let made = try rest.send(
      "POST", "/v1/zones/\(list)/invitations", ["role": "editor", "expires_in": 60, "uses": 1])
    let accepted = try RestClient(bob).send(
      "POST", "/v1/invitations/accept", ["token": try #require(made.json["token"])])
    #expect(accepted.status == 201 && accepted.id == member && accepted.json["role"] == "editor")
    #expect(try RestClient(bob).get("/v1/tables/lists/\(list)").status == 200)
    #expect(try server.findings().isEmpty)
  }

  @Test("who blocks another is shown nothing of theirs, and they are not told (I10)")
  func blocking() throws {
    _ = try alice.share(list, with: "bob")
    #expect(try send(bob, "PUT", "/v1/blocks/\(alice.user)").status == 204)
    #expect(try send(bob, "PUT", "/v1/blocks/\(alice.user)").status == 204)
    #expect(try send(bob, "PUT", "/v1/blocks/\(bob.user)").status == 404)
    #expect(try send(bob, "PUT", "/v1/blocks/nobody").status == 404)
    #expect(
      try send(bob, "GET", "/v1/blocks").json["blocks"]?.elements?.first?["id"] == .string(alice.user))
    let other = try alice.makeList("Other")
    let member = try alice.offer(other, to: "bob")
    try bob.pull()
    #expect(!bob.has("lists", other))
    #expect(try pending(bob).isEmpty)
    try alice.pull()
    #expect(alice.has("members", member))
    #expect(try send(bob, "DELETE", "/v1/blocks/\(alice.user)").status == 204)
    #expect(try pending(bob).count == 1)
  }

  @Test("what is named as a group by somebody blocked is not given (I10)")
  func blockingGroups() throws {
    let team = try alice.makeList("Team")
    _ = try alice.share(team, with: "bob")
    try send(bob, "PUT", "/v1/blocks/\(alice.user)")
    try alice.sync([
      .create(
        "members", alice.newID(), ["zone": .string(list), "group": .string(team), "role": "editor"])
    ])
    try bob.pull()
    #expect(bob.has("lists", team) && !bob.has("lists", list))
  }

  @Test("who leaves a zone that a group gives stays in the group, and comes back by the own word (I10)")
  func leaving() throws {
    let team = try alice.makeList("Team")
    _ = try alice.share(team, with: "bob")
    let row = alice.newID()
    try alice.sync([
      .create("members", row, ["zone": .string(list), "group": .string(team), "role": "editor"])
    ])
    try bob.pull()
    #expect(bob.has("lists", list))
    #expect(try send(bob, "DELETE", "/v1/zones/\(list)/membership").status == 204)
    #expect(try send(bob, "DELETE", "/v1/zones/\(list)/membership").status == 404)
    try bob.pull()
    #expect(bob.has("lists", team) && !bob.has("lists", list))
    // Whatever becomes of the group's row gives it no more.
    try alice.sync([.update("members", row, ["role": "owner"], base: ["role": "editor"])])
    try alice.sync([.delete("lists", team)])
    try alice.sync([.create("lists", team, ["title": "Team"])])
    try bob.pull()
    #expect(!bob.has("lists", list))
    // They share the team, and yet it takes bob's word.
    let member = try alice.offer(list, to: "bob", as: .viewer)
    try bob.pull()
    #expect(!bob.has("lists", list))
    try server.accept(member, by: "bob")
    try bob.pull()
    #expect(bob.has("lists", list))
    #expect(try server.findings().isEmpty)
  }

  @Test("who leaves by the own membership and a group loses both; the only owner stays (I10)")
  func leavingAltogether() throws {
    let team = try alice.makeList("Team")
    _ = try alice.share(team, with: "bob")
    _ = try alice.share(list, with: "bob")
    try alice.sync([
      .create("members", alice.newID(), ["zone": .string(list), "group": .string(team), "role": "editor"])
    ])
    #expect(try send(bob, "DELETE", "/v1/zones/\(list)/membership").status == 204)
    #expect(try RestClient(bob).get("/v1/tables/lists/\(list)").status == 404)
    let refused = try send(alice, "DELETE", "/v1/zones/\(list)/membership")
    #expect(refused.status == 409 && refused.code == "last-owner")
    #expect(try send(bob, "DELETE", "/v1/zones/\(bob.user)/membership").status == 409)
    #expect(try send(bob, "DELETE", "/v1/zones/catalogue/membership").status == 404)
    #expect(try server.findings().isEmpty)
  }

  @Test("only owners name a zone as a group, and they take it back, wherever it is named (I10)")
  func grants() throws {
    let team = try alice.makeList("Team")
    let carol = try server.signUp("carol")
    for (name, role) in [("bob", Role.owner), ("carol", .editor)] {
      _ = try alice.share(team, with: name, as: role)
    }
    let hers = try carol.makeList("Hers")
    let group: JSONValue = ["zone": .string(hers), "group": .string(team), "role": "viewer"]
    #expect(try carol.refused(.create("members", carol.newID(), group)).code == .referenceMissing)
    let (his, row) = (try bob.makeList("His"), bob.newID())
    try bob.sync([
      .create("members", row, ["zone": .string(his), "group": .string(team), "role": "viewer"])
    ])
    try carol.pull()
    #expect(carol.has("lists", his))
    let path = "/v1/zones/\(team)/grants"
    #expect(try send(carol, "GET", path).status == 403)
    #expect(try send(carol, "DELETE", "\(path)/\(row)").status == 403)
    let shown = try send(alice, "GET", path).json["grants"]?.elements ?? []
    #expect(shown.count == 1 && shown.first?["zone"] == .string(his))
    #expect(try send(alice, "DELETE", "\(path)/\(row)").status == 204)
    #expect(try send(alice, "DELETE", "\(path)/\(row)").status == 404)
    for device in [carol, alice] { try device.pull() }
    #expect(!carol.has("lists", his))
    // As a record, too, where it is in visible.
    try bob.sync([
      .create("members", bob.newID(), ["zone": .string(his), "group": .string(team), "role": "viewer"])
    ])
    try alice.pull()
    let again = try #require(
      alice.records.first { $0.value.columns["group"] == .string(team) }?.key.split(separator: " ").last)
    try alice.sync([.delete("members", String(again))])
    try carol.pull()
    #expect(!carol.has("lists", his))
    #expect(try server.findings().isEmpty)
  }

  @Test("what waits goes with its user, and with the zone (I10)")
  func erasure() throws {
    let member = try alice.offer(list, to: "bob")
    let other = try bob.makeList("Other")
    _ = try bob.offer(other, to: "alice")
    let erased = try RestClient(bob).send("DELETE", "/v1/account", ["password": "correct horse"])
    #expect(erased.status == 204)
    #expect(try pending(alice).isEmpty)
    for _ in 0..<3 { try server.inline?.purge() }
    try alice.pull()
    #expect(!alice.has("members", member))
    #expect(try !server.dump().contains("\"bob\""))
    #expect(try server.findings().isEmpty)
  }

  // MARK: Limits

  /// A server on which a user has few of everything.
  private func limited(_ change: (inout UserLimits) -> Void) throws -> TestServer {
    var limits = UserLimits()
    change(&limits)
    let server = try TestServer()
    server.world.limits.withLock { $0 = limits }
    try server.reopen()
    return server
  }

  @Test("who has too many zones makes none more, and is made a member of none without the own word (I11)")
  func zones() throws {
    let server = try limited { $0.zones = 4 }
    let (anna, ben) = (try server.signUp("anna"), try server.signUp("ben"))
    let lists = try (0..<3).map { try anna.makeList("\($0)") }
    #expect(try anna.refused(.create("lists", anna.newID(), ["title": "x"])).code == .userLimit)
    for list in lists { _ = try anna.share(list, with: "ben") }
    try ben.pull()
    #expect(ben.all("lists").count == 3)
    let carl = try server.signUp("carl")
    let more = try carl.makeList("More")
    _ = try carl.share(lists[0], with: "ben")
    let member = try carl.offer(more, to: "ben")
    let refused = try RestClient(ben).send("POST", "/v1/memberships/\(member)/accept")
    #expect(refused.status == 422 && refused.code == "user-limit")
    let token = try #require(
      try RestClient(carl).send(
        "POST", "/v1/zones/\(more)/invitations", ["role": "editor", "expires_in": 60, "uses": 1]
      ).json["token"])
    #expect(try RestClient(ben).send("POST", "/v1/invitations/accept", ["token": token]).code == "user-limit")
    try RestClient(ben).send("DELETE", "/v1/zones/\(lists[1])/membership")
    #expect(try RestClient(ben).send("POST", "/v1/memberships/\(member)/accept").status == 201)
    try ben.pull()
    #expect(ben.has("lists", more))
  }

  @Test("zones that a user has by groups take none of the room for own ones (I12)") func groupZones() throws {
    let server = try limited { $0.zones = 4 }
    let (anna, ben) = (try server.signUp("anna"), try server.signUp("ben"))
    let lists = try (0..<3).map { try anna.makeList("\($0)") }
    _ = try anna.share(lists[0], with: "ben")
    for list in lists[1...] {
      let member: JSONValue = ["zone": .string(list), "group": .string(lists[0]), "role": "editor"]
      #expect(try anna.sync([.create("members", anna.newID(), member)]).refused.isEmpty)
    }
    try ben.pull()
    #expect(ben.all("lists").count == 3)
    for title in ["Home", "Work"] { _ = try ben.makeList(title) }
    #expect(try ben.refused(.create("lists", ben.newID(), ["title": "x"])).code == .userLimit)
  }

  @Test("invitations that nobody answers are bounded, those of one inviter, too (I11)")
  func invitations() throws {
    let server = try limited {
      $0.invitations = 3
      $0.invitationsOfInviter = 2
    }
    let (anna, ben, carl) = (try server.signUp("anna"), try server.signUp("ben"), try server.signUp("carl"))
    func invite(_ device: TestDevice) throws -> Problem? {
      let list = try device.makeList()
      let member: JSONValue = ["zone": .string(list), "name": "ben", "role": "viewer"]
      let answer = try device.sync([.create("members", device.newID(), member)])
      return try answer.refused.last.map { try #require(Problem(document: $0.problem)) }
    }
    #expect(try invite(anna) == nil && invite(anna) == nil)
    #expect(try invite(anna)?.code == .sharingLimit)
    #expect(try invite(carl) == nil)
    #expect(try invite(carl)?.code == .sharingLimit)
    #expect(try pending(ben).count == 3)
    // Who is blocked takes nobody's place.
    try RestClient(ben).send("PUT", "/v1/blocks/\(anna.user)")
    #expect(try invite(carl) == nil)
    #expect(try pending(ben).count == 2)
  }

  @Test("a device of a user with more zones than it may follow syncs all the same (I11)")
  func manyZones() throws {
    let server = try limited { $0.zonesOfDevice = 5 }
    let anna = try server.signUp("anna")
    for number in 0..<8 { _ = try anna.makeList("\(number)") }
    try anna.pull()
    #expect(anna.acks.count == 5)
    let answer = try JSONValue(parsing: try server.respond(to: anna.request([])).body)
    #expect(answer["withheld"] == 4)
    // What it gives up makes room for others.
    let zone = try #require(anna.acks.keys.first { $0 != anna.user })
    try RestClient(anna).send("DELETE", "/v1/tables/lists/\(zone)")
    try RestClient(anna).send("DELETE", "/v1/zones/\(zone)/membership")
    try anna.pull()
    #expect(anna.acks.count == 5 && anna.acks[zone] == nil)
    #expect(try anna.sync(complete: true).refused.isEmpty)
  }
}
