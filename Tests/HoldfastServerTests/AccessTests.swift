import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import ServerScenes
import Testing

/// Who may do what. Invariant I10, and I4 for access that comes late.
@Suite struct AccessTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  let list: String
  let item: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    list = try alice.makeList()
    item = try alice.makeItem(list)
    try bob.pull()
  }

  @Test("for a stranger a record is as if it did not exist (I10)")
  func stranger() throws {
    #expect(try bob.refused(.update("items", item, ["title": "x"])).code == .recordUnknown)
    #expect(
      try bob.refused(.update("items", item, ["title": "x"]))
        == bob.refused(.update("items", bob.newID(), ["title": "x"])))
    let child = JSONValue.object([.init("list_id", .string(list)), .init("title", "x")])
    let missing = JSONValue.object([.init("list_id", .string(bob.newID())), .init("title", "x")])
    #expect(
      try bob.refused(.create("items", bob.newID(), child))
        == bob.refused(.create("items", bob.newID(), missing)))
    #expect(try bob.sync([.delete("items", item)]).refused.isEmpty)
    try alice.pull()
    #expect(alice.column("items", item, "title") == "Milk")
    #expect(!bob.has("lists", list))
  }

  @Test("a stranger can't become a member by writing members (I10)")
  func strangerMembers() throws {
    let problem = try bob.refused(
      .create("members", bob.newID(), ["zone": .string(list), "name": "bob", "role": "owner"]))
    #expect(problem.code == .referenceMissing)
    let other = try bob.refused(
      .create("members", bob.newID(), ["zone": .string(bob.newID()), "name": "bob", "role": "owner"]))
    #expect(problem == other)
  }

  @Test("a reference across zones must name a record that the user may read (I9, I10)")
  func across() throws {
    let note = JSONValue.object([.init("text", "see"), .init("list_id", .string(list))])
    #expect(try bob.refused(.create("notes", bob.newID(), note)).code == .referenceMissing)
    _ = try alice.share(list, with: "bob", as: .viewer)
    #expect(try bob.sync([.create("notes", bob.newID(), note)]).refused.isEmpty)
  }

  @Test("access that is granted late brings the past (I4)")
  func late() throws {
    _ = try alice.share(list, with: "bob")
    try bob.pull()
    #expect(bob.column("items", item, "title") == "Milk")
    #expect(bob.has("lists", list))
  }

  @Test("roles are kept to: a viewer reads, an editor writes, only an owner decides about members")
  func roles() throws {
    let membership = try alice.share(list, with: "bob", as: .viewer)
    #expect(try bob.refused(.update("items", item, ["title": "x"])).code == .roleInsufficient)
    #expect(try bob.refused(.delete("items", item)).code == .roleInsufficient)
    let child = JSONValue.object([.init("list_id", .string(list)), .init("title", "x")])
    #expect(try bob.refused(.create("items", bob.newID(), child)).code == .roleInsufficient)
    #expect(try bob.refused(.update("members", membership, ["role": "owner"])).code == .roleInsufficient)
    try alice.sync([.update("members", membership, ["role": "editor"])])
    #expect(try bob.sync([.update("items", item, ["title": "Bread"])]).refused.isEmpty)
    #expect(try bob.refused(.update("members", membership, ["role": "owner"])).code == .roleInsufficient)
    #expect(
      try bob.refused(
        .create("members", bob.newID(), ["zone": .string(list), "name": "bob", "role": "owner"])
      ).code
        == .roleInsufficient)
    #expect(try server.findings().isEmpty)
  }

  @Test("revocation makes the zone lost, and edits that wait are refused (I3, I10)")
  func revoked() throws {
    let membership = try alice.share(list, with: "bob")
    try bob.pull()
    #expect(bob.has("items", item))
    try alice.sync([.delete("members", membership)])
    let answer = try bob.sync([.update("items", item, ["title": "Late"], base: ["title": "Milk"])])
    #expect(answer.lost == [list])
    #expect(answer.refused.count == 1)
    #expect(!bob.has("items", item))
    try bob.pull()
    #expect(try bob.sync().lost.isEmpty)
  }

  @Test("after a revocation and a new grant the zone comes from its beginning")
  func grantedAgain() throws {
    let membership = try alice.share(list, with: "bob")
    try bob.pull()
    try alice.sync([.delete("members", membership)])
    try bob.pull()
    _ = try alice.share(list, with: "bob")
    try bob.pull()
    #expect(bob.column("items", item, "title") == "Milk")
  }

  @Test(
    "what an old request says of zones is not taken when it comes once more: a zone that was lost and given back since is resynced (I4, I7)",
    arguments: [true, false])
  func oldRequest(isComplete: Bool) throws {
    let membership = try alice.share(list, with: "bob")
    try bob.pull()
    #expect(try Administration(server.location).reset(.device(bob.id), zone: list) == 1)
    while bob.acks[list] != "" { try bob.sync() }
    let old = bob.request([], complete: isComplete)
    try bob.pull()
    #expect(bob.has("items", item))
    try alice.sync([.delete("members", membership)])
    // As a stranger's it does nothing, and bob does not hear that he was one.
    let deletion = bob.request([[.delete("items", item)]])
    bob.records["items \(item)"] = nil
    #expect(try server.respond(to: deletion).status == 200)
    _ = try alice.share(list, with: "bob")
    #expect(try server.respond(to: old).status == 200)
    _ = try bob.apply(try server.respond(to: deletion))
    try bob.pull()
    #expect(bob.has("items", item))
  }

  @Test("anybody may leave, but the last owner can't go")
  func leaving() throws {
    let membership = try alice.share(list, with: "bob")
    try bob.pull()
    try alice.pull()
    let own = try #require(
      alice.records.first {
        $0.key.hasPrefix("members ") && $0.value.zone == list && $0.value.columns["name"] == "alice"
      })
    let id = String(own.key.dropFirst("members ".count))
    #expect(try alice.refused(.delete("members", id)).code == .lastOwner)
    #expect(try alice.refused(.update("members", id, ["role": "viewer"])).code == .lastOwner)
    #expect(try bob.refused(.delete("members", id)).code == .roleInsufficient)
    #expect(try bob.sync([.delete("members", membership)]).lost == [list])
    _ = try alice.share(list, with: "bob", as: .owner)
    #expect(try alice.sync([.delete("members", id)]).lost == [list])
    #expect(try server.findings().isEmpty)
  }

  @Test("a member is named by user or by name; an unknown one is refused, a second time as well")
  func naming() throws {
    let first = alice.newID()
    try alice.sync([
      .create("members", first, ["zone": .string(list), "user": .string(bob.user), "role": "viewer"])
    ])
    #expect(alice.column("members", first, "name") == "bob")
    func refused(_ columns: JSONValue) throws -> ProblemCode {
      try alice.refused(.create("members", alice.newID(), columns)).code
    }
    #expect(try refused(["zone": .string(list), "name": "nobody", "role": "viewer"]) == .userUnknown)
    #expect(try refused(["zone": .string(list), "user": .string(list), "role": "viewer"]) == .userUnknown)
    #expect(try refused(["zone": .string(list), "role": "viewer"]) == .valueMissing)
    #expect(try refused(["zone": .string(list), "name": "bob", "role": "editor"]) == .uniqueTaken)
    #expect(try refused(["name": "bob", "role": "editor"]) == .valueMissing)
    #expect(try alice.refused(.update("members", first, ["name": "alice"])).code == .invalidOperation)
  }

  @Test("a public zone is read by all who follow it, and written by those who are named")
  func publicZone() throws {
    let product = alice.newID()
    #expect(try alice.refused(.create("products", product, ["name": "Soap"])).code == .roleInsufficient)
    try Administration(server.location).grant(zone: "catalogue", name: "alice", role: .editor)
    #expect(try alice.sync([.create("products", product, ["name": "Soap"])]).refused.isEmpty)
    try bob.pull()
    #expect(!bob.has("products", product))
    bob.unsentAcks = [.init(zone: "catalogue", token: "")]
    try bob.pull()
    #expect(bob.column("products", product, "name") == "Soap")
    #expect(try server.findings().isEmpty)
  }

  @Test("the operator's grant is seen like every other change of members (I4)")
  func operatorGrant() throws {
    let administration = try Administration(server.location)
    try administration.grant(zone: list, name: "bob", role: .viewer)
    try bob.pull()
    #expect(bob.has("items", item))
    try administration.grant(zone: list, name: "bob", role: .editor)
    #expect(try bob.sync([.update("items", item, ["title": "Bread"])]).refused.isEmpty)
    #expect(throws: ServerError.self) { try administration.grant(zone: list, name: "alice", role: .viewer) }
    #expect(throws: ServerError.self) {
      try administration.grant(zone: "nowhere", name: "alice", role: .viewer)
    }
    #expect(throws: ServerError.self) { try administration.grant(zone: list, name: "nobody", role: .viewer) }
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "what a member of somebody's own zone deletes and restores is there again, and not the member's (I7, I10)"
  )
  func ownZone() throws {
    let member: JSONValue = ["zone": .string(alice.user), "columns": ["name": "bob", "role": "editor"]]
    try server.accept(try RestClient(alice).send("POST", "/v1/tables/members", member).id, by: "bob")
    let ids = [alice.newID(), alice.newID()]
    try alice.sync(ids.map { .create("notes", $0, ["text": "mine"]) })
    try bob.pull()
    try bob.sync([.delete("notes", ids[0])])
    try bob.sync([.create("notes", ids[0], ["text": "by sync"])])
    let rest = RestClient(bob)
    try rest.send("DELETE", "/v1/tables/notes/\(ids[1])")
    try rest.send("POST", "/v1/tables/notes/\(ids[1])/restore", ["columns": ["text": "by REST"]])
    for device in [alice, bob] {
      try device.pull()
      for (id, text) in zip(ids, ["by sync", "by REST"] as [JSONValue]) {
        #expect(device.column("notes", id, "text") == text)
        #expect(device.records["notes \(id)"]?.zone == alice.user)
      }
    }
    #expect(try server.findings().isEmpty)
  }
}
