import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

/// What a restored server takes of the records that devices recover, and how much at a time. Invariants I10, I12; docs/RESTORING.md, section 4.
@Suite struct RecoveredRecordTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  let list: String
  let item: String

  init() throws {
    try self.init(TestServer.schema()) { alice, list in try alice.makeItem(list) }
  }

  /// - Parameter fill: fills the list, and gives the id of an item.
  private init(
    _ schema: SyncSchema, fill: (TestDevice, _ list: String) throws -> String
  ) throws {
    let before = try TestServer(schema)
    alice = try before.signUp("alice")
    bob = try before.signUp("bob")
    list = try alice.makeList()
    item = try fill(alice, list)
    _ = try alice.share(list, with: "bob")
    for device in [alice, bob] { try device.pull() }
    server = try before.restored(schema: schema)
    for device in [alice, bob] {
      device.server = server
      try device.sync(complete: true)
      try device.pull()
    }
  }

  private func recover(_ device: TestDevice, _ items: [JSONValue]) throws -> SyncAnswer {
    let body: JSONValue = [
      "protocol": 1, "acknowledged_refusals": .integer(device.answers), "digest": .string(device.digest),
      "recovered": .array(items),
    ]
    return try device.apply(try server.post("/v1/sync", body, token: device.token))
  }

  private func codes(_ answer: SyncAnswer) throws -> [ProblemCode] {
    try #require(answer.recovered).refused.compactMap { Problem(document: $0.problem)?.code }
  }

  private func item(_ id: String, _ title: String, rev: Int64, tag: JSONValue = .null) -> JSONValue {
    [
      "table": "items", "id": .string(id), "zone": .string(list), "rev": .integer(rev),
      "columns": ["list_id": .string(list), "title": .string(title), "tag_id": tag],
    ]
  }

  // MARK: Revs

  @Test(
    "a recovered rev that leaves no room for edits is refused, alone; with the greatest one a record lives on (I12)"
  )
  func revs() throws {
    let (far, near) = (bob.newID(), bob.newID())
    let greatest = RecoveredRecord.greatestRev
    let answer = try recover(
      bob,
      [
        item(far, "Far", rev: greatest + 1), item(item, "Far", rev: 4_611_686_018_427_387_902),
        item(near, "Near", rev: greatest),
      ])
    #expect(try codes(answer) == [.invalidValue, .invalidValue])
    try alice.pull()
    #expect(!alice.has("items", far) && alice.records["items \(near)"]?.rev == greatest)
    #expect(alice.records["items \(item)"]?.rev == 1)
    #expect(try alice.sync([.update("items", near, ["title": "Here"], rev: greatest)]).refused.isEmpty)
    try bob.pull()
    #expect(bob.records["items \(near)"]?.rev == greatest + 1)
    #expect(greatest < 1 << 50)
    #expect(try alice.sync([.delete("items", near)]).refused.isEmpty)
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "a record with the greatest rev that a database takes is changed, restored and deleted, and its owner erased (I12)"
  )
  func saturated() throws {
    let other = try alice.makeItem(list, "Other")
    let most = "4611686018427387904"
    try server.change(
      sqlite: "UPDATE items SET rev = \(most); UPDATE lists SET rev = \(most)",
      postgres: """
        BEGIN; SET LOCAL holdfast.service = 'on';
        UPDATE holdfast.records SET rev = \(most) WHERE record_table IN ('items', 'lists'); COMMIT
        """)
    try server.reopen()
    #expect(try bob.sync([.update("items", item, ["title": "Oat milk"])]).refused.isEmpty)
    #expect(try bob.sync([.delete("items", item)]).refused.isEmpty)
    let back = try RestClient(bob).send(
      "POST", "/v1/tables/items/\(item)/restore", ["columns": ["list_id": .string(list), "title": "Back"]])
    #expect(back.status == 200)
    #expect(try alice.sync([.delete("items", other)]).refused.isEmpty)
    // The zone is alice's alone, and goes with her.
    #expect(try RestClient(bob).send("DELETE", "/v1/zones/\(list)/membership").status == 204)
    #expect(
      try RestClient(alice).send("DELETE", "/v1/account", ["password": "correct horse"]).status == 204)
    for _ in 0..<10 { try server.inline?.purge() }
    let live = "SELECT count(*) FROM holdfast.records WHERE state = 0 AND record_table = 'items'"
    #expect(try server.integer("SELECT count(*) FROM items", live) == 0)
    #expect(try server.findings().isEmpty)
  }
}
