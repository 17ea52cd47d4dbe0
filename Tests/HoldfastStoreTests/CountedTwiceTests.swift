import HoldfastCore
import HoldfastServer
import ServerScenes
import Testing

/// One record that two devices created offline under one id. Invariants I1, I3.
@Suite struct CountedTwiceTests {
  private func columns(_ list: String, _ votes: Int64) -> JSONValue {
    ["list_id": .string(list), "votes": .integer(votes)]
  }

  @Test(
    "counters that two devices created under one id add up, and a create that is sent again does not (I1)")
  func counter() throws {
    let server = try TestServer(MergeSchema.schema())
    let (phone, tablet) = (try server.signUp("alice"), try server.signIn("alice"))
    let list = try phone.makeList()
    let item = Identifier.derived(from: [phone.user, "card"])
    #expect(item == Identifier.derived(from: [tablet.user, "card"]))
    let (one, other) = (
      Stamp(milliseconds: server.world.now - 20), Stamp(milliseconds: server.world.now - 10)
    )
    let first = Sent.create("items", item, columns(list, 2), at: one)
    let second = Sent.create("items", item, columns(list, 3), at: other)
    #expect(try phone.sync([first]).refused.isEmpty)
    #expect(try tablet.sync([second]).refused.isEmpty)
    // A copy of the first device sends what it had not sent.
    #expect(try server.signIn("alice").sync([first]).refused.isEmpty)
    try phone.pull()
    try tablet.pull()
    #expect(phone.column("items", item, "votes") == 5)
    #expect(phone.records == tablet.records)
    #expect(try server.findings().isEmpty)
  }

  @Test("names together make one id, and other names another")
  func derived() {
    let ids = [["a", "b"], ["ab"], ["b", "a"], ["a", "b", ""], []].map { Identifier.derived(from: $0) }
    #expect(TextSet(ids).count == ids.count)
    #expect(ids.allSatisfy { Identifier.isUUID($0) })
    #expect(ids[0] == Identifier.derived(from: ["a", "b"]))
    #expect(ids.allSatisfy { Array($0.utf8)[14] == UInt8(ascii: "8") })
  }
}
