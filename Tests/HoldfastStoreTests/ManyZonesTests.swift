import HoldfastCore
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

/// The zones of a user, counted while a transaction makes, gives and takes many: PROTOCOL.md, section 8. Invariants I10, I11, I12.
@Suite struct ManyZonesTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
  }

  /// Lets users have so many zones, their own ones included.
  private func limit(_ zones: Int) throws {
    server.world.limits.withLock { $0.zones = zones }
    try server.reopen()
  }

  private func list(_ id: String) -> Sent { .create("lists", id, ["title": "L"]) }

  private func member(_ zone: String, _ user: TestDevice, _ role: Role = .editor) -> Sent {
    .create(
      "members", alice.newID(),
      ["zone": .string(zone), "user": .string(user.user), "role": .string(role.rawValue)])
  }

  @Test("each root record of a set counts, and those of a refused set do not (I11, I12)")
  func roots() throws {
    try limit(6)
    let ids = (0..<8).map { _ in alice.newID() }
    let answer = try alice.sync(
      ids[0..<3].map(list), ids[3..<6].map(list), ids[3..<5].map(list), [list(ids[6])])
    #expect(answer.refused.map(\.problem).map { Problem(document: $0)?.code } == [.userLimit, .userLimit])
    #expect(answer.refused.map(\.operation) == [6, 9])
    try alice.pull()
    #expect(alice.all("lists").count == 5)
    #expect(try server.findings().isEmpty)
  }

  @Test("a root record that the set deletes makes room, and its restore takes it (I11)")
  func ended() throws {
    try limit(3)
    let (first, second, third) = (try alice.makeList(), try alice.makeList(), alice.newID())
    #expect(try alice.refused(list(third)).code == .userLimit)
    #expect(try alice.refused(list(third), .delete("lists", first)).code == .userLimit)
    try alice.sync([.delete("lists", first), list(third)])
    let back = try alice.refused(.delete("lists", second), list(first), list(alice.newID()))
    #expect(back.code == .userLimit)
    try alice.pull()
    #expect(alice.has("lists", second) && alice.has("lists", third) && !alice.has("lists", first))
  }

  @Test(
    "memberships that a set gives and takes count for their user, who is asked beyond the limit (I10, I11)")
  func memberships() throws {
    let zones = try (0..<5).map { _ in try alice.makeList() }
    _ = try alice.share(zones[0], with: "bob")
    try limit(4)
    let taken = member(zones[1], bob)
    let id = try #require(taken.json["id"]?.stringValue)
    // Bob has two zones. He gains two and loses one, and so has room for one more.
    try alice.sync([taken, member(zones[2], bob), .delete("members", id), member(zones[3], bob)])
    try alice.sync([member(zones[4], bob)])
    try bob.pull()
    #expect(zones.map { bob.has("lists", $0) } == [true, false, true, true, false])
    #expect(try RestClient(bob).get("/v1/memberships").json["memberships"]?.elements?.count == 1)
    #expect(try server.findings().isEmpty)
  }

  @Test("whom a set makes acquainted is a member at once in the rest of it, and not after a refusal (I10)")
  func acquainted() throws {
    let zones = (0..<4).map { _ in alice.newID() }
    _ = try alice.offer(try alice.makeList(), to: "bob")
    let carol = try server.signUp("carol")
    let shared = try bob.makeList()
    _ = try bob.share(shared, with: "alice")
    _ = try bob.share(shared, with: "carol")
    // Alice leaves the only zone that she shares with Bob. With Carol she then shares the one that the transaction has made.
    try alice.pull()
    let own = try #require(
      alice.records.first {
        $0.key.hasPrefix("members ") && $0.value.zone == shared
          && $0.value.columns["user"] == .string(alice.user)
      })
    let gone = Sent.delete("members", String(own.key.dropFirst("members ".count)))
    let refused = Sent.create("items", alice.newID(), ["list_id": .string(alice.newID()), "title": "x"])
    let answer = try alice.sync(
      [gone, refused], [list(zones[0]), member(zones[0], carol)],
      [gone, list(zones[1]), member(zones[1], bob)],
      [list(zones[2]), member(zones[2], bob)], [list(zones[3]), member(zones[3], carol)])
    #expect(answer.refused.count == 1)
    for device in [bob, carol] { try device.pull() }
    #expect(carol.has("lists", zones[0]) && carol.has("lists", zones[3]))
    #expect(!bob.has("lists", zones[1]) && !bob.has("lists", zones[2]))
    #expect(try server.findings().isEmpty)
  }
}
