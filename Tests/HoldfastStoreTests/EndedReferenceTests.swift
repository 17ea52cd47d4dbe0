import HoldfastCore
import ServerScenes
import Testing

/// Records that refer to what was deleted elsewhere meanwhile: PROTOCOL.md, section 5. Invariants I3, I8, I9.
@Suite struct EndedReferenceTests {
  let server: TestServer
  let alice: TestDevice
  let phone: TestDevice
  let list: String

  init() throws {
    server = try TestServer(MergeSchema.schema())
    alice = try server.signUp("alice")
    phone = try server.signIn("alice")
    list = try alice.makeList()
    try phone.pull()
  }

  private func settle() throws {
    try alice.pull()
    try phone.pull()
    #expect(alice.records == phone.records)
    #expect(try server.findings().isEmpty)
  }

  private func lost(_ id: String) -> TextSet {
    TextSet(
      alice.all("conflicts").filter { $0["record_id"] == .string(id) && $0["policy"] == "delete" }
        .compactMap { $0["loser_value"]?.stringValue })
  }

  @Test(
    "a child made offline goes with its parent, and what is under it, and later edits; all is logged (I3, I8, I9)"
  )
  func cascade() throws {
    let item = try alice.makeItem(list)
    try phone.pull()
    try alice.sync([.delete("items", item)])
    let (part, seal) = (phone.newID(), phone.newID())
    let made = try phone.sync(
      [.create("parts", part, ["item_id": .string(item), "note": "typed offline"])],
      [.update("parts", part, ["note": "typed later"], rev: 0)])
    #expect(made.refused.isEmpty)
    try settle()
    #expect(!phone.has("parts", part))
    #expect(lost(part) == [item, "typed offline", "typed later"])
    // What must keep its parent can't without one.
    let refused = try phone.refused(
      .create("seals", seal, ["list_id": .string(list), "item_id": .string(item)]))
    #expect(refused.code == .referenceMissing)
  }

  @Test("of a whole list that went, children and grandchildren go with it, in one set (I3, I6)")
  func root() throws {
    try alice.sync([.delete("lists", list)])
    let (item, part) = (phone.newID(), phone.newID())
    let made = try phone.sync([
      .create("parts", part, ["item_id": .string(item), "note": "below"]),
      .create("items", item, ["list_id": .string(list), "title": "Bread"]),
    ])
    #expect(made.refused.isEmpty)
    try settle()
    #expect(phone.all("items").isEmpty && phone.all("parts").isEmpty)
    #expect(lost(item) == [list, "Bread"])
    #expect(lost(part) == [item, "below"])
  }

  @Test("a reference that would have become null is null, and the record is made (I3, I9)")
  func setNull() throws {
    let (tag, item) = (alice.newID(), phone.newID())
    let other = try alice.makeItem(list)
    try alice.sync([.create("tags", tag, ["list_id": .string(list), "name": "cold"])])
    try phone.pull()
    try alice.sync([.delete("tags", tag)])
    let made = try phone.sync([
      .create("items", item, ["list_id": .string(list), "title": "Milk", "tag_id": .string(tag)]),
      .update("items", other, ["tag_id": .string(tag), "title": "Bread"]),
    ])
    #expect(made.refused.isEmpty)
    try settle()
    #expect(alice.column("items", item, "tag_id") == .null)
    #expect(alice.column("items", item, "title") == "Milk")
    #expect(alice.column("items", other, "tag_id") == .null)
    #expect(alice.column("items", other, "title") == "Bread")
    #expect(lost(item) == [tag])
    #expect(lost(other) == [tag])
  }

  @Test("a record that was moved below one that is gone stays where it was (I3, I9)")
  func move() throws {
    let (first, second, part) = (try alice.makeItem(list), try alice.makeItem(list), alice.newID())
    try alice.sync([.create("parts", part, ["item_id": .string(first), "note": "x"])])
    try phone.pull()
    try alice.sync([.delete("items", second)])
    let moved = try phone.sync([
      .update("parts", part, ["item_id": .string(second), "note": "y"], base: ["item_id": .string(first)])
    ])
    #expect(moved.refused.isEmpty)
    try settle()
    #expect(alice.column("parts", part, "item_id") == .string(first))
    #expect(alice.column("parts", part, "note") == "y")
    #expect(lost(part) == [second])
  }

  @Test("who may only read the zone, or never saw it, makes nothing there; REST is told at once (I10)")
  func rights() throws {
    let (bob, carol) = (try server.signUp("bob"), try server.signUp("carol"))
    _ = try alice.share(list, with: "bob", as: .viewer)
    let item = try alice.makeItem(list)
    try alice.sync([.delete("items", item)])
    func part(_ device: TestDevice) -> Sent {
      .create("parts", device.newID(), ["item_id": .string(item), "note": "x"])
    }
    #expect(try bob.refused(part(bob)).code == .roleInsufficient)
    #expect(try carol.refused(part(carol)).code == .referenceMissing)
    let columns: JSONValue = ["columns": ["item_id": .string(item), "note": "x"]]
    #expect(try RestClient(alice).send("POST", "/v1/tables/parts", columns).code == "reference-missing")
    try settle()
    #expect(alice.all("conflicts").isEmpty)
  }

  @Test("a refused as deleted child comes back by an explicit restore, once its parent has (I8)")
  func restore() throws {
    let item = try alice.makeItem(list)
    try phone.pull()
    try alice.sync([.delete("items", item)])
    let part = phone.newID()
    try phone.sync([.create("parts", part, ["item_id": .string(item), "note": "x"])])
    let (rest, columns) = (RestClient(phone), ["item_id": .string(item)] as JSONValue)
    let path = "/v1/tables/parts/\(part)/restore"
    #expect(try rest.send("POST", path, ["columns": columns]).code == "reference-missing")
    let back = try rest.send(
      "POST", "/v1/tables/items/\(item)/restore", ["columns": ["list_id": .string(list)]])
    #expect(back.status == 200)
    #expect(try rest.send("POST", path, ["columns": columns]).status == 200)
    try settle()
    #expect(alice.has("parts", part))
  }

  // MARK: Unique values

  @Test("a unique value that is taken is refused with who has it, and with one that is free")
  func proposal() throws {
    let (first, second) = (alice.newID(), alice.newID())
    func tag(_ id: String, _ name: String) -> Sent {
      .create("tags", id, ["list_id": .string(list), "name": .string(name)])
    }
    try alice.sync([tag(first, "cold"), tag(second, "cold 2")])
    let problem = try phone.refused(tag(phone.newID(), "cold"))
    #expect(problem.code == .uniqueTaken)
    #expect(problem.taken?.record == first)
    #expect(problem.taken?.columns == ["name"])
    #expect(problem.taken?.proposal == .init(column: "name", value: "cold 3"))
    // A new one would be longer than the column takes.
    try alice.sync([tag(alice.newID(), "12345678")])
    let long = try phone.refused(tag(phone.newID(), "12345678"))
    #expect(long.taken != nil && long.taken?.proposal == nil)
    let rest = try RestClient(alice).send(
      "PATCH", "/v1/tables/tags/\(second)", ["columns": ["name": "cold"]])
    #expect(rest.status == 409)
    #expect(rest.json["record"] == .string(first))
    // Its own value is free for it.
    #expect(rest.json["proposal"] == ["name": "cold 2"])
    try settle()
  }
}
