import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// Edits that meet moves, deletions, and writes over REST by the same device: docs/PROTOCOL.md, section 5.
@Suite struct PlaceOfConflictTests {
  let server: TestServer
  let (alice, bob): (TestDevice, TestDevice)
  /// Of both users, and of alice alone.
  let (shared, own): (String, String)
  let item: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    (shared, own) = (try alice.makeList(), try alice.makeList())
    item = try alice.makeItem(shared)
    _ = try alice.share(shared, with: "bob")
    for device in [alice, bob] { try device.pull() }
  }

  private func zones(of table: String, on device: TestDevice) -> [String] {
    device.records.filter { $0.key.hasPrefix(table + " ") }.map(\.value.zone)
  }

  @Test(
    "a conflict of an edit that moves the record is logged where the record is now (I10)",
    arguments: [9000, 7000])
  func moved(at time: Int64) throws {
    let earlier = Sent.update(
      "items", item, ["title": "Bob's"], base: ["title": "Milk"], at: Stamp(milliseconds: 8000))
    let later = Sent.update(
      "items", item, ["list_id": .string(own), "title": "Private"],
      base: ["list_id": .string(shared), "title": "Milk"], at: Stamp(milliseconds: time))
    try bob.sync([earlier])
    try alice.sync([later])
    for device in [alice, bob] { try device.pull() }
    #expect(zones(of: "conflicts", on: alice) == [own] && zones(of: "conflicts", on: bob).isEmpty)
    #expect(alice.column("items", item, "title") == (time > 8000 ? "Private" : "Bob's"))
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "an edit that moves a record to a list and refers to what was deleted there is accepted without it (I9)")
  func endedThere() throws {
    let tag = alice.newID()
    try alice.sync([.create("tags", tag, ["list_id": .string(own), "name": "Food"])])
    let phone = try server.signIn("alice")
    try phone.pull()
    try phone.sync([.delete("tags", tag)])
    let edit = Sent.update(
      "items", item, ["list_id": .string(own), "tag_id": .string(tag)],
      base: ["list_id": .string(shared), "tag_id": .null])
    #expect(try alice.sync([edit]).refused.isEmpty)
    try alice.pull()
    #expect(alice.column("items", item, "tag_id") == .null && alice.records["items \(item)"]?.zone == own)
    #expect(try server.findings().isEmpty)
  }

  @Test("an edit that waited on a device does not replace a later one over REST with its token silently (I3)")
  func afterREST() throws {
    let body: JSONValue = ["columns": ["title": "By REST"]]
    #expect(try RestClient(alice).send("PATCH", "/v1/tables/items/\(item)", body).status == 200)
    try alice.sync([.update("items", item, ["title": "Earlier"], base: ["title": "Milk"])])
    try alice.pull()
    #expect(alice.column("items", item, "title") == "By REST" && alice.all("conflicts").count == 1)
    try alice.sync([.delete("items", item)])
    try alice.pull()
    #expect(!alice.has("items", item) && alice.all("conflicts").contains { $0["loser_value"] == "By REST" })
  }

  @Test("a record made again in a zone that it had left is later than what devices have of it there (I7, I8)")
  func madeAgain() throws {
    for title in ["Oat milk", "Soy milk"] {
      try alice.sync([.update("items", item, ["title": .string(title)])])
    }
    for device in [alice, bob] { try device.pull() }
    try alice.sync([.update("items", item, ["list_id": .string(own)])])
    try alice.sync([.delete("items", item)])
    for _ in 0..<2 {
      try alice.pull()
      server.world.advance(2 * 86_400_000)
    }
    try server.inline?.purge()
    try alice.sync([.create("items", item, ["list_id": .string(shared), "title": "Again"])])
    try alice.pull()
    #expect(alice.records["items \(item)"]?.rev == 5)
    try alice.sync([.delete("items", item, rev: 5)])
    try bob.pull()
    #expect(!bob.has("items", item))
    #expect(try server.findings().isEmpty)
  }

  @Test("the log has room for the JSON of the longest text (I3)")
  func longest() throws {
    let text = JSONValue.string(String(repeating: "\u{1}", count: 1_000_000))
    for name in ["base", "winner_value", "loser_value"] {
      let column = try #require(TableSchema.conflicts.columns.first { $0.name == name })
      try column.check(.text(String(decoding: text.bytes, as: UTF8.self)))
    }
  }
}
