import HoldfastCore
import HoldfastServer
import ServerScenes
import Testing

/// Who may let a record go with a record of another zone. Invariant I10.
@Suite struct DependenceTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  /// The shared list, in which bob is an editor.
  let list: String
  let item: String
  let sub: String
  /// Bob's own note, with which he would delete others.
  let note: String

  /// Editors write items, and delete them. Subs and entries they only write.
  static let text = """
    {"holdfast": 1, "name": "dependence", "tables": {
      "lists": {"zone": "root", "columns": {"title": {"type": "text"}}},
      "items": {"zone": {"parent": "list_id"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
        "source_id": {"type": "reference", "to": "notes", "on_delete": "cascade"},
        "title": {"type": "text"}}},
      "parts": {"zone": {"parent": "item_id"}, "columns": {
        "item_id": {"type": "reference", "to": "items", "required": true}}},
      "subs": {"zone": {"parent": "part_id"}, "roles": {"delete": "owner"}, "columns": {
        "part_id": {"type": "reference", "to": "parts", "required": true, "on_delete": "cascade"}}},
      "entries": {"zone": {"parent": "list_id"}, "roles": {"update": "owner", "delete": "owner"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
        "source_id": {"type": "reference", "to": "notes", "on_delete": "cascade"}}},
      "notes": {"zone": "user", "columns": {"text": {"type": "text"}}}
    }}
    """

  init() throws {
    server = try TestServer(SyncSchema(json: Array(Self.text.utf8)))
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    list = try alice.makeList()
    (item, sub, note) = (alice.newID(), alice.newID(), bob.newID())
    let part = alice.newID()
    try alice.sync([
      .create("items", item, ["list_id": .string(list), "title": "Milk"]),
      .create("parts", part, ["item_id": .string(item)]), .create("subs", sub, ["part_id": .string(part)]),
    ])
    _ = try alice.share(list, with: "bob")
    try bob.sync([.create("notes", note, ["text": "Mine"])])
    for device in [alice, bob] { try device.pull() }
  }

  private func columns(_ source: String, in list: String? = nil) -> JSONValue {
    ["list_id": .string(list ?? self.list), "source_id": .string(source)]
  }

  /// Whatever bob deletes, and even without him, all of alice's is there.
  private func settle() throws {
    let members = try #require(
      alice.records.first { $0.value.columns["name"] == "bob" }?.key.split(separator: " "))
    try alice.sync([.delete("members", String(members[1]))])
    try bob.sync([.delete("notes", note)])
    #expect(
      try RestClient(bob).send("DELETE", "/v1/account", ["password": "correct horse"]).status == 204)
    try alice.pull()
    #expect(alice.has("items", item) && alice.has("subs", sub))
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "who may not delete what is below a record can't make it go with a record of their own: alone, in a create of what is there, by REST (I10)",
    arguments: 0..<4)
  func update(_ way: Int) throws {
    let columns: JSONValue = ["source_id": .string(note)]
    let path = "/v1/tables/items/\(item)"
    switch way {
    case 0: #expect(try bob.refused(.update("items", item, columns)).code == .roleInsufficient)
    case 1:
      #expect(
        try bob.refused(.create("items", item, self.columns(note), at: Stamp(milliseconds: 9000))).code
          == .roleInsufficient)
    case 2: #expect(try RestClient(bob).send("PATCH", path, ["columns": columns]).status == 403)
    default: #expect(try RestClient(bob).send("PUT", path, ["columns": self.columns(note)]).status == 403)
    }
    try settle()
  }

  @Test("who may not delete a record doesn't make one that goes with a record of their own (I10)")
  func create() throws {
    // What others put below it would go as well.
    #expect(try bob.refused(.create("items", bob.newID(), columns(note))).code == .roleInsufficient)
    let entry = bob.newID()
    #expect(try bob.refused(.create("entries", entry, columns(note))).code == .roleInsufficient)
    #expect(
      try RestClient(bob).send("POST", "/v1/tables/entries", ["columns": columns(note)]).status == 403)
    #expect(try bob.sync([.create("entries", entry, ["list_id": .string(list)])]).refused.isEmpty)
    try settle()
    #expect(alice.has("entries", entry))
  }

  @Test("nor do they move one into the zone (I10)")
  func move() throws {
    let own = try bob.makeList("Own")
    let moved = bob.newID()
    #expect(try bob.sync([.create("items", moved, columns(note, in: own))]).refused.isEmpty)
    #expect(try bob.refused(.update("items", moved, ["list_id": .string(list)])).code == .roleInsufficient)
    try bob.sync([.update("items", moved, ["source_id": .null])])
    #expect(try bob.sync([.update("items", moved, ["list_id": .string(list)])]).refused.isEmpty)
    try settle()
  }

  @Test("nor do they move a record below one that goes with a record of another zone (I10)")
  func place() throws {
    let (dependent, free) = (alice.newID(), alice.newID())
    let (below, other) = (alice.newID(), alice.newID())
    let given = alice.newID()
    try alice.sync([
      .create("notes", given, ["text": "Alice's"]), .create("items", dependent, columns(given)),
      .create("items", free, ["list_id": .string(list)]),
      .create("parts", below, ["item_id": .string(dependent)]),
      .create("parts", other, ["item_id": .string(free)]),
    ])
    try bob.pull()
    #expect(try bob.refused(.update("subs", sub, ["part_id": .string(below)])).code == .roleInsufficient)
    #expect(try bob.sync([.update("subs", sub, ["part_id": .string(other)])]).refused.isEmpty)
    // With the part above it no more.
    #expect(
      try bob.refused(.update("parts", other, ["item_id": .string(dependent)])).code == .roleInsufficient)
    // An owner may, and so may who takes the reference away.
    #expect(try alice.sync([.update("subs", sub, ["part_id": .string(below)], rev: 2)]).refused.isEmpty)
    #expect(try bob.sync([.update("items", dependent, ["source_id": .null])]).refused.isEmpty)
    try settle()
  }

  @Test("who may delete all below a record lets it go with a record of another zone")
  func owner() throws {
    let given = alice.newID()
    #expect(
      try alice.sync([
        .create("notes", given, ["text": "Alice's"]), .update("items", item, ["source_id": .string(given)]),
      ]).refused.isEmpty)
    try alice.sync([.delete("notes", given)])
    try bob.pull()
    #expect(!bob.has("items", item) && !bob.has("subs", sub))
    #expect(try server.findings().isEmpty)
  }

  @Test("what is recovered after a restore depends on other zones by the same rule (I10)")
  func recovered() throws {
    let backup = try server.backUp()
    try alice.sync([.update("items", item, ["title": "Oat milk"])])
    for device in [alice, bob] { try device.pull() }
    let restored = try server.restored(backup, schema: SyncSchema(json: Array(Self.text.utf8)))
    (alice.server, bob.server) = (restored, restored)
    for device in [alice, bob] {
      try device.sync(complete: true)
      try device.pull()
    }
    func recover(_ table: String, _ id: String, rev: Int64) throws -> [ProblemCode] {
      let body: JSONValue = [
        "protocol": 1, "acknowledged_refusals": .integer(bob.answers), "digest": .string(bob.digest),
        "recovered": [
          [
            "table": .string(table), "id": .string(id), "zone": .string(list), "rev": .integer(rev),
            "columns": columns(note),
          ]
        ],
      ]
      let answer = try bob.apply(restored.post("/v1/sync", body, token: bob.token))
      return try #require(answer.recovered).refused.compactMap { Problem(document: $0.problem)?.code }
    }
    #expect(try recover("items", item, rev: 2) == [.roleInsufficient])
    #expect(try recover("items", bob.newID(), rev: 1) == [.roleInsufficient])
    #expect(try recover("entries", bob.newID(), rev: 1) == [.roleInsufficient])
    try bob.sync([.delete("notes", note)])
    try alice.pull()
    #expect(alice.has("items", item) && alice.has("subs", sub))
    #expect(try restored.findings().isEmpty)
  }
}
