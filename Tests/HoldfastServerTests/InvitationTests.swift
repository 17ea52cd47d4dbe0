import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import ServerScenes
import Testing

/// Links by which a zone is shared with people whose names are not known. Invariants I10 and I1.
@Suite struct InvitationTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  let carol: TestDevice
  let list: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    carol = try server.signUp("carol")
    list = try alice.makeList("Groceries")
    for device in [alice, bob, carol] { try device.pull() }
  }

  private struct Answer {
    let status: Int
    let body: JSONValue
    var code: String? { body["code"]?.stringValue }
  }

  private func send(_ method: String, _ path: String, _ body: JSONValue? = nil, by device: TestDevice?) throws
    -> Answer
  {
    let answer = try server.respond(
      to: TestServer.request(method, path, body?.bytes ?? [], token: device?.token))
    return Answer(
      status: answer.status, body: answer.body.isEmpty ? .null : try JSONValue(parsing: answer.body))
  }

  private func invite(_ role: Role = .editor, seconds: Int64 = 3600, uses: Int64 = 1, by device: TestDevice)
    throws
    -> Answer
  {
    try send(
      "POST", "/v1/zones/\(list)/invitations",
      ["role": .string(role.rawValue), "expires_in": .integer(seconds), "uses": .integer(uses)], by: device)
  }

  private func token(_ role: Role = .editor, uses: Int64 = 1) throws -> JSONValue {
    try #require(try invite(role, uses: uses, by: alice).body["token"])
  }

  private func accept(_ token: JSONValue, by device: TestDevice) throws -> Answer {
    try send("POST", "/v1/invitations/accept", ["token": token], by: device)
  }

  @Test("who accepts is a member once, and has the zone (I1, I10)")
  func accepting() throws {
    let token = try token(.editor, uses: 1)
    let first = try accept(token, by: bob)
    #expect(first.status == 201)
    #expect(first.body["role"] == "editor")
    #expect(first.body["zone"] == .string(list))
    let second = try accept(token, by: bob)
    #expect(second.status == 200)
    #expect(second.body == first.body)
    #expect(try accept(token, by: carol).code == "invitation-invalid")
    try bob.pull()
    #expect(bob.has("lists", list))
    try alice.pull()
    #expect(alice.all("members").contains { $0["name"] == "bob" && $0["role"] == "editor" })
  }

  @Test("who accepts again uses nothing up, and no role is lowered (I1)")
  func again() throws {
    let link = try token(.editor, uses: 2)
    #expect(try accept(link, by: bob).status == 201)
    #expect(try accept(link, by: bob).status == 200)
    #expect(try accept(link, by: alice).body["role"] == "owner")
    #expect(try accept(link, by: carol).status == 201)
    let lower = try token(.viewer)
    #expect(try accept(lower, by: bob).body["role"] == "editor")
    let higher = try token(.owner)
    #expect(try accept(higher, by: bob).body["role"] == "owner")
  }

  @Test("unknown, expired, revoked and used up are answered alike (I10)")
  func alike() throws {
    let unknown = try accept("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", by: bob)
    #expect(unknown.status == 404)
    let revoked = try invite(by: alice)
    let id = try #require(revoked.body["id"]?.stringValue)
    #expect(try send("DELETE", "/v1/zones/\(list)/invitations/\(id)", by: alice).status == 204)
    #expect(try send("DELETE", "/v1/zones/\(list)/invitations/\(id)", by: alice).status == 404)
    let used = try token()
    _ = try accept(used, by: carol)
    let expired = try token()
    server.world.advance(3_600_000)
    for token in [revoked.body["token"] ?? .null, used, expired] {
      #expect(try accept(token, by: bob).body == unknown.body)
      #expect(try send("POST", "/v1/invitations/look", ["token": token], by: nil).body == unknown.body)
    }
    #expect(try send("GET", "/v1/zones/\(list)/invitations", by: alice).body["invitations"] == [])
  }

  @Test("a link is dead when who made it is no longer an owner (I10)")
  func inviter() throws {
    let membership = try alice.share(list, with: "bob", as: .owner)
    try bob.pull()
    let link = try #require(try invite(by: bob).body["token"])
    try alice.sync([.update("members", membership, ["role": "editor"], base: ["role": "owner"])])
    #expect(try accept(link, by: carol).code == "invitation-invalid")
    #expect(try send("POST", "/v1/invitations/look", ["token": link], by: nil).status == 404)
  }

  @Test("only owners make, list and revoke invitations (I10)")
  func owners() throws {
    #expect(try invite(by: bob).status == 404)
    _ = try alice.share(list, with: "bob")
    #expect(try invite(by: bob).code == "role-insufficient")
    #expect(try send("GET", "/v1/zones/\(list)/invitations", by: bob).status == 403)
    #expect(try send("GET", "/v1/zones/\(list)/invitations", by: carol).status == 404)
    let made = try invite(uses: 3, by: alice)
    let shown = try send("GET", "/v1/zones/\(list)/invitations", by: alice).body["invitations"]?.elements
    #expect(shown?.count == 1)
    #expect(shown?.first?["id"] == made.body["id"])
    #expect(shown?.first?["token"] == nil)
    let id = made.body["id"]?.stringValue ?? ""
    #expect(try send("DELETE", "/v1/zones/\(list)/invitations/\(id)", by: bob).status == 403)
  }

  @Test("whoever has the token may see what it gives, and nothing else")
  func looking() throws {
    let seen = try send("POST", "/v1/invitations/look", ["token": try token(.viewer)], by: nil)
    #expect(seen.status == 200)
    #expect(seen.body["title"] == "Groceries")
    #expect(seen.body["invited_by"] == "alice")
    #expect(seen.body["role"] == "viewer")
    #expect(seen.body.members?.count == 4)
  }

  @Test("what is out of its limits is refused, and a zone has at most a hundred (I11)")
  func limits() throws {
    for (seconds, uses) in [(0, 1), (2_592_001, 1), (60, 0), (60, 1001)] as [(Int64, Int64)] {
      #expect(try invite(seconds: seconds, uses: uses, by: alice).status == 400)
    }
    for _ in 0..<100 { #expect(try invite(seconds: 60, by: alice).status == 201) }
    #expect(try invite(by: alice).code == "sharing-limit")
    // Those that are used up don't count, and only the last ones are kept, for whoever repeats the last acceptance.
    try server.change(
      sqlite: "UPDATE holdfast_invitations SET uses = 0", postgres: "UPDATE holdfast.invitations SET uses = 0"
    )
    for _ in 0..<100 { #expect(try invite(seconds: 60, by: alice).status == 201) }
    #expect(try invite(by: alice).code == "sharing-limit")
    let count = try server.integer(
      "SELECT count(*) FROM holdfast_invitations", "SELECT count(*) FROM holdfast.invitations")
    #expect(count == 200)
    server.world.advance(60_000)
    #expect(try invite(by: alice).status == 201)
  }
}
