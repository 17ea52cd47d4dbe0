import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import ServerScenes
import Testing

/// Who may take a record out of a zone, or along with another. Invariant I10.
@Suite struct MoveAccessTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  /// The shared list, in which bob is an editor, and bob's own.
  let list: String
  let own: String
  let section: String
  let item: String
  let mark: String

  /// Editors may write items but not delete them, and only make marks. Sections are theirs.
  static let text = """
    {"holdfast": 1, "name": "moves", "tables": {
      "lists": {"zone": "root", "columns": {"title": {"type": "text"}}},
      "sections": {"zone": {"parent": "list_id"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"}}},
      "items": {"zone": {"parent": "section_id"}, "roles": {"delete": "owner"}, "columns": {
        "section_id": {"type": "reference", "to": "sections", "required": true, "on_delete": "cascade"},
        "topic_id": {"type": "reference", "to": "lists", "across": true, "on_delete": "cascade"},
        "title": {"type": "text"}}},
      "marks": {"zone": {"parent": "item_id"}, "roles": {"update": "owner", "delete": "owner"}, "columns": {
        "item_id": {"type": "reference", "to": "items", "required": true, "on_delete": "cascade"}}},
      "comments": {"zone": {"parent": "list_id"}, "roles": {"create": "owner"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"}}}
    }}
    """

  init() throws {
    server = try TestServer(SyncSchema(json: Array(Self.text.utf8)))
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    list = try alice.makeList()
    (section, item, mark) = (alice.newID(), alice.newID(), alice.newID())
    try alice.sync([
      .create("sections", section, ["list_id": .string(list)]),
      .create("items", item, ["section_id": .string(section), "title": "Milk"]),
      .create("marks", mark, ["item_id": .string(item)]),
    ])
    _ = try alice.share(list, with: "bob")
    own = try bob.makeList("Bob's")
    try bob.pull()
  }

  private func makeSection(_ device: TestDevice, in list: String) throws -> String {
    let id = device.newID()
    let answer = try device.sync([.create("sections", id, ["list_id": .string(list)])])
    #expect(answer.refused.isEmpty)
    return id
  }

  private func settle() throws {
    try alice.pull()
    try bob.pull()
    #expect(alice.records["items \(item)"]?.zone == list)
    #expect(alice.records["marks \(mark)"]?.zone == list)
    #expect(bob.records["items \(item)"] == alice.records["items \(item)"])
    #expect(try server.findings().isEmpty)
  }

  @Test("a move takes the role that a delete takes where the record is (I10)")
  func source() throws {
    let mine = try makeSection(bob, in: own)
    let move = Sent.update("items", item, ["section_id": .string(mine)])
    #expect(try bob.refused(move).code == .roleInsufficient)
    try settle()
    // An owner may.
    let theirs = try makeSection(alice, in: try alice.makeList("Other"))
    #expect(try alice.sync([.update("items", item, ["section_id": .string(theirs)])]).refused.isEmpty)
    try alice.pull()
    #expect(alice.records["marks \(mark)"]?.zone == alice.records["items \(item)"]?.zone)
  }

  @Test("a move takes the role that each record needs which goes along (I10)")
  func descendants() throws {
    // Bob may delete sections, but not what is in them.
    let move = Sent.update("sections", section, ["list_id": .string(own)])
    #expect(try bob.refused(move).code == .roleInsufficient)
    try settle()
    let empty = try makeSection(bob, in: list)
    #expect(try bob.sync([.update("sections", empty, ["list_id": .string(own)])]).refused.isEmpty)
  }

  @Test("a move takes the role that a create takes where the record goes (I10)")
  func target() throws {
    let comment = bob.newID()
    #expect(try bob.sync([.create("comments", comment, ["list_id": .string(own)])]).refused.isEmpty)
    let move = Sent.update("comments", comment, ["list_id": .string(list)])
    #expect(try bob.refused(move).code == .roleInsufficient)
    try bob.pull()
    #expect(bob.records["comments \(comment)"]?.zone == own)
  }

  @Test("a create of a record that is there moves it no more than an update does (I10)")
  func create() throws {
    let mine = try makeSection(bob, in: own)
    let create = Sent.create("items", item, ["section_id": .string(mine), "title": "Milk"])
    #expect(try bob.refused(create).code == .roleInsufficient)
    try settle()
  }

  @Test("REST moves by the same rule: alone, in bulk, by PUT, and in a batch (I10)", arguments: 0..<4)
  func rest(_ way: Int) throws {
    let mine = try makeSection(bob, in: own)
    let rest = RestClient(bob)
    let columns: JSONValue = ["section_id": .string(mine)]
    let operation: JSONValue = [
      "op": "update", "table": "items", "id": .string(item), "columns": columns,
    ]
    let path = "/v1/tables/items/\(item)"
    switch way {
    case 0: #expect(try rest.send("PATCH", path, ["columns": columns]).status == 403)
    case 1: #expect(try rest.send("PUT", path, ["columns": columns]).status == 403)
    case 2:
      let item: JSONValue = ["id": .string(item), "columns": columns]
      #expect(try rest.send("PATCH", "/v1/tables/items", ["records": [item]]).statuses == [403])
    default: #expect(try rest.batch([operation]).status == 422)
    }
    try settle()
  }

  @Test("who may not delete a record does not delete it with its parent (I10)")
  func cascade() throws {
    #expect(try bob.refused(.delete("sections", section)).code == .roleInsufficient)
    // Nor by way of a parent that they have made for it.
    let mine = try makeSection(bob, in: list)
    #expect(try bob.sync([.update("items", item, ["section_id": .string(mine)])]).refused.isEmpty)
    #expect(try bob.refused(.delete("sections", mine)).code == .roleInsufficient)
    #expect(try bob.sync([.delete("sections", section)]).refused.isEmpty)
    try settle()
    #expect(try alice.sync([.delete("sections", mine)]).refused.isEmpty)
    try alice.pull()
    #expect(!alice.has("items", item))
  }

  @Test("who may not delete a record can't make it go with a record of their own zone (I10)")
  func dependence() throws {
    let topic = try bob.makeList("Topic")
    #expect(try bob.refused(.update("items", item, ["topic_id": .string(topic)])).code == .roleInsufficient)
    // Nor do they make one that goes.
    let own: JSONValue = ["section_id": .string(section), "topic_id": .string(topic), "title": "Own"]
    #expect(try bob.refused(.create("items", bob.newID(), own)).code == .roleInsufficient)
    #expect(try bob.sync([.delete("lists", topic)]).refused.isEmpty)
    try settle()
  }

  @Test("a deleted record is restored elsewhere by who may restore it and delete it (I10)")
  func restore() throws {
    let mine = try makeSection(bob, in: own)
    try alice.sync([.delete("items", item)])
    try bob.pull()
    let columns: JSONValue = ["section_id": .string(mine), "title": "Mine"]
    let at = Stamp(milliseconds: server.world.now)
    #expect(try bob.refused(.create("items", item, columns, at: at)).code == .roleInsufficient)
    let reply = try RestClient(bob).send(
      "POST", "/v1/tables/items/\(item)/restore", ["columns": columns])
    #expect(reply.status == 403)
    // In its place an editor brings it back, as editors make items.
    let back: JSONValue = ["section_id": .string(section), "title": "Milk"]
    #expect(try bob.sync([.create("items", item, back, at: at)]).refused.isEmpty)
  }

  @Test("a record that is recovered after a restore moves by the same rule (I10)")
  func recovered() throws {
    let mine = try makeSection(bob, in: own)
    try bob.pull()
    let backup = try server.backUp()
    try alice.sync([.update("items", item, ["title": "Oat milk"])])
    try bob.pull()
    let restored = try server.restored(backup, schema: SyncSchema(json: Array(Self.text.utf8)))
    (alice.server, bob.server) = (restored, restored)
    let recovered: JSONValue = [
      "table": "items", "id": .string(item), "zone": .string(own), "rev": 2,
      "columns": ["section_id": .string(mine), "title": "Mine"],
    ]
    try bob.sync(complete: true)
    try bob.pull()
    let body: JSONValue = [
      "protocol": 1, "acknowledged_refusals": .integer(bob.answers), "digest": .string(bob.digest),
      "recovered": [recovered],
    ]
    let sent = try #require(try bob.apply(restored.post("/v1/sync", body, token: bob.token)).recovered)
    #expect(sent.refused.compactMap { Problem(document: $0.problem)?.code } == [.roleInsufficient])
    let fresh = try restored.signIn("alice")
    try fresh.pull()
    #expect(fresh.records["items \(item)"]?.zone == list)
    #expect(fresh.records["marks \(mark)"]?.zone == list)
  }

  @Test("a cascade asks for the right to delete, whatever the ids of the records are (I10)")
  func sameID() throws {
    #expect(try bob.sync([.create("sections", item, ["list_id": .string(list)])]).refused.isEmpty)
    #expect(try bob.sync([.update("items", item, ["section_id": .string(item)])]).refused.isEmpty)
    #expect(try bob.refused(.delete("sections", item)).code == .roleInsufficient)
    try settle()
  }

  @Test(
    "who moves a record refers by it to nothing that they may not see, and to nothing that is not there (I9, I10)"
  )
  func references() throws {
    let secret = try alice.makeList("Secret")
    let mine = try makeSection(alice, in: try alice.makeList("Other"))
    let hidden = try bob.makeList("Hidden")
    for topic in [hidden, alice.newID()] {
      let move = Sent.update("items", item, ["section_id": .string(mine), "topic_id": .string(topic)])
      #expect(try alice.refused(move).code == .referenceMissing)
    }
    let reply = try RestClient(alice).send(
      "PATCH", "/v1/tables/items/\(item)",
      ["columns": ["section_id": .string(mine), "topic_id": .string(hidden)]])
    #expect(reply.status == 422)
    try settle()
    #expect(
      try alice.sync([.update("items", item, ["section_id": .string(mine), "topic_id": .string(secret)])])
        .refused.isEmpty)
  }

  @Test("a service token moves no records of tables that it does not name (I10)")
  func token() throws {
    let other = try makeSection(alice, in: try alice.makeList("Other"))
    let administration = try Administration(server.location, environment: server.world.environment)
    func move(_ tables: [String]) throws -> Int {
      let token = try administration.createToken(
        name: tables.joined(separator: "-"), role: .owner, tables: tables, zones: nil)
      let body: JSONValue = ["columns": ["section_id": .string(other)]]
      return try server.respond(
        to: TestServer.request("PATCH", "/v1/tables/items/\(item)", body.bytes, token: token)
      ).status
    }
    #expect(try move(["items"]) == 403)
    try settle()
    #expect(try move(["items", "marks"]) == 200)
  }
}
