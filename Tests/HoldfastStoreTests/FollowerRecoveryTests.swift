import HoldfastCore
import ServerScenes
import Testing

@testable import HoldfastServer

/// Records that a recovery moves or deletes along with another one, and that are recovered themselves: docs/RESTORING.md, section 4.
@Suite struct FollowerRecoveryTests {
  static let schema = """
    {"holdfast": 1, "name": "followers", "tables": {
      "lists": {"zone": "root", "columns": {"title": {"type": "text"}}},
      "items": {"zone": {"parent": "list_id"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"}, "title": {"type": "text"}}},
      "subs": {"zone": {"parent": "item_id"}, "columns": {
        "item_id": {"type": "reference", "to": "items", "required": true, "on_delete": "cascade"}, "title": {"type": "text"}}}}}
    """

  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  /// Of both users, and of alice alone.
  let (shared, own): (String, String)
  let (item, sub): (String, String)

  /// A list with an item and a record below it, as the backup has them; and an empty list.
  init() throws {
    let schema = try SyncSchema(json: Array(Self.schema.utf8))
    let before = try TestServer(schema)
    alice = try before.signUp("alice")
    bob = try before.signUp("bob")
    (shared, own) = (alice.newID(), alice.newID())
    (item, sub) = (alice.newID(), alice.newID())
    try alice.sync([shared, own].map { .create("lists", $0, ["title": "List"]) })
    try alice.sync([
      .create("items", item, ["list_id": .string(shared), "title": "Tent"]),
      .create("subs", sub, ["item_id": .string(item), "title": "Pegs"]),
    ])
    _ = try alice.share(shared, with: "bob")
    for device in [alice, bob] { try device.pull() }
    server = try before.restored(schema: schema)
    for device in [alice, bob] {
      device.server = server
      try device.sync(complete: true)
      try device.pull()
    }
  }

  private func recover(_ device: TestDevice, _ items: JSONValue...) throws {
    let body: JSONValue = [
      "protocol": 1, "acknowledged_refusals": .integer(device.answers), "digest": .string(device.digest),
      "recovered": .array(items),
    ]
    let answer = try device.apply(try server.post("/v1/sync", body, token: device.token))
    let recovered = try #require(answer.recovered)
    #expect(recovered.count == Int64(items.count) && recovered.refused.isEmpty)
  }

  private func items(in list: String, rev: Int64) -> JSONValue {
    [
      "table": "items", "id": .string(item), "zone": .string(list), "rev": .integer(rev),
      "columns": ["list_id": .string(list), "title": "Tent"],
    ]
  }

  private func subs(under item: String, in list: String, _ title: String, rev: Int64) -> JSONValue {
    [
      "table": "subs", "id": .string(sub), "zone": .string(list), "rev": .integer(rev),
      "columns": ["item_id": .string(item), "title": .string(title)],
    ]
  }

  private func deletion(of table: String, _ id: String, in list: String, rev: Int64) -> JSONValue {
    [
      "table": .string(table), "id": .string(id), "zone": .string(list), "rev": .integer(rev),
      "deleted": true,
    ]
  }

  private func conflicts() throws -> Int64? {
    try server.integer("SELECT count(*) FROM conflicts", "SELECT count(*) FROM holdfast.conflicts")
  }

  @Test("an edit of a record that moved along with its parent is taken back, and nothing is logged (I2)")
  func movedAlong() throws {
    try recover(alice, items(in: own, rev: 2), subs(under: item, in: own, "Ten pegs", rev: 3))
    try alice.pull()
    #expect(alice.column("subs", sub, "title") == "Ten pegs" && alice.records["subs \(sub)"]?.rev == 3)
    #expect(alice.records["subs \(sub)"]?.zone == own)
    #expect(try conflicts() == 0)
    // A second device has a later rev.
    try recover(alice, subs(under: item, in: own, "Eleven pegs", rev: 4))
    try alice.pull()
    #expect(alice.column("subs", sub, "title") == "Eleven pegs" && alice.records["subs \(sub)"]?.rev == 4)
    #expect(try conflicts() == 0 && server.findings().isEmpty)
  }

  @Test("a lost edit is merged into a record that somebody has moved since the restore (I2, I3)")
  func movedSince() throws {
    #expect(try alice.sync([.update("items", item, ["list_id": .string(own)])]).refused.isEmpty)
    try recover(alice, subs(under: item, in: shared, "Ten pegs", rev: 2))
    try alice.pull()
    #expect(alice.column("subs", sub, "title") == "Ten pegs" && alice.records["subs \(sub)"]?.zone == own)
    #expect(try conflicts() == 0 && server.findings().isEmpty)
  }

  @Test(
    "a recovered deletion does not keep what had moved away before, whose device comes later (I2)",
    arguments: [true, false])
  func movedAway(isToOtherZone: Bool) throws {
    let other = alice.newID()
    try alice.sync([.create("items", other, ["list_id": .string(shared), "title": "Boat"])])
    // To bob's device, what has left the zone is deleted.
    try recover(bob, deletion(of: "items", item, in: shared, rev: 2))
    if isToOtherZone {
      try recover(bob, deletion(of: "subs", sub, in: shared, rev: 2))
      try recover(alice, items(in: own, rev: 2), subs(under: item, in: own, "Pegs", rev: 2))
    } else {
      try recover(alice, subs(under: other, in: shared, "Pegs", rev: 2))
    }
    try alice.pull()
    #expect(alice.column("subs", sub, "title") == "Pegs")
    #expect(alice.has("items", item) == isToOtherZone)
    try bob.pull()
    #expect(bob.has("subs", sub) == !isToOtherZone)
    #expect(try conflicts() == 0 && server.findings().isEmpty)
  }

  @Test("what a recovered deletion took along stays deleted on devices that knew no more of it (I8)")
  func staysDeleted() throws {
    try recover(bob, deletion(of: "items", item, in: shared, rev: 2))
    try recover(alice, subs(under: item, in: shared, "Pegs", rev: 1))
    try alice.pull()
    #expect(!alice.has("items", item) && !alice.has("subs", sub))
    #expect(try conflicts() == 0 && server.findings().isEmpty)
  }
}
