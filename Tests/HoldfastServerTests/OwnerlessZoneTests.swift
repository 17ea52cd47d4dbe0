import HoldfastCore
import ServerScenes
import Testing

/// The last owner of a zone may leave once its root record is deleted. Whoever restores the record owns the zone: SHARING.md, section 1.
/// Invariant I10.
@Suite struct OwnerlessZoneTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  let list: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    list = try alice.makeList()
    _ = try alice.share(list, with: "bob")
    for device in [alice, bob] { try device.pull() }
  }

  private func leave(_ device: TestDevice) throws {
    #expect(try RestClient(device).send("DELETE", "/v1/zones/\(list)/membership").status == 204)
  }

  private func owners() throws -> [JSONValue] {
    let members = try RestClient(bob).get("/v1/tables/members?zone=\(list)").json["records"]?.elements ?? []
    return members.filter { $0["columns"]?["role"] == "owner" }.compactMap { $0["columns"]?["name"] }
  }

  private func isOwned(by device: TestDevice) throws {
    let body: JSONValue = ["role": "editor", "expires_in": 1000, "uses": 1]
    #expect(try RestClient(device).send("POST", "/v1/zones/\(list)/invitations", body).status == 201)
    let left = try RestClient(device).send("DELETE", "/v1/zones/\(list)/membership")
    #expect(left.code == "last-owner")
    #expect(try server.findings().isEmpty)
  }

  @Test("an editor who restores the root record over REST becomes its owner (I10)")
  func rest() throws {
    try alice.sync([.delete("lists", list)])
    try leave(alice)
    let path = "/v1/tables/lists/\(list)/restore"
    #expect(try RestClient(bob).send("POST", path, ["columns": ["title": "Back"]]).status == 200)
    #expect(try owners() == ["bob"])
    try isOwned(by: bob)
  }

  @Test("and so does one whose device brings it back (I10)")
  func sync() throws {
    try alice.sync([.delete("lists", list)])
    try leave(alice)
    try bob.pull()
    try bob.sync([.create("lists", list, ["title": "Back"], at: Stamp(milliseconds: 2000))])
    try bob.pull()
    #expect(bob.has("lists", list))
    #expect(try owners() == ["bob"])
    try isOwned(by: bob)
  }

  @Test("a member by a group alone gets a membership of the own (I10)")
  func group() throws {
    let carol = try server.signUp("carol")
    let team = try alice.makeList("Team")
    _ = try alice.share(team, with: "carol")
    try alice.sync([
      .create(
        "members", alice.newID(), ["zone": .string(list), "group": .string(team), "role": "editor"])
    ])
    try carol.pull()
    try alice.sync([.delete("lists", list)])
    try leave(alice)
    let path = "/v1/tables/lists/\(list)/restore"
    #expect(try RestClient(carol).send("POST", path, ["columns": ["title": "Back"]]).status == 200)
    #expect(try owners() == ["carol"])
    try isOwned(by: carol)
  }

  @Test("while the zone has an owner, who restores the record stays what they are (I10)")
  func owned() throws {
    try alice.sync([.delete("lists", list)])
    let path = "/v1/tables/lists/\(list)/restore"
    #expect(try RestClient(bob).send("POST", path, ["columns": ["title": "Back"]]).status == 200)
    #expect(try owners() == ["alice"])
    try isOwned(by: alice)
  }
}
