import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// Tokens of a team's programs: docs/IDENTITY.md, section 6.
@Suite struct ServiceTokenTests {
  let server: TestServer
  let alice: TestDevice
  /// Two lists, with an item each, and the one that a token with zones names.
  let list: String
  let item: String
  let otherList: String
  let otherItem: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    list = try alice.makeList()
    item = try alice.makeItem(list)
    otherList = try alice.makeList("Other")
    otherItem = try alice.makeItem(otherList, "Secret")
  }

  private func token(
    _ role: Role = .editor, tables: [String]? = nil, zones: [String]?, name: String = "reporter"
  ) throws -> String {
    try Administration(server.location, environment: server.world.environment).createToken(
      name: name, role: role, tables: tables, zones: zones)
  }

  private func get(_ path: String, _ token: String) throws -> ReadAnswer {
    try server.send("GET", path, token: token)
  }

  @Test("a token reads its zones, and others are like those that are not there (I10)")
  func zones() throws {
    let token = try token(zones: [list])
    #expect(try get("/v1/tables/items/\(item)", token).status == 200)
    #expect(try get("/v1/tables/items/\(otherItem)", token).status == 404)
    #expect(
      try get("/v1/tables/items?ids=\(item),\(otherItem)", token).body["results"]?.elements?.map {
        $0["status"]
      } == [200, 404])
    #expect(try get("/v1/tables/items", token).ids == [item])
    #expect(try get("/v1/tables/items?zone=\(otherList)", token).status == 404)
    #expect(try get("/v1/tables/products", token).ids.isEmpty)
    #expect(try get("/v1/zones", token).body["zones"]?.elements?.map { $0["zone"] } == [.string(list)])
    #expect(try get("/v1/zones/\(list)/changes", token).status == 200)
    #expect(try get("/v1/zones/\(list)/changes", token).body["role"] == "editor")
    for zone in [otherList, alice.user, "catalogue", "none"] {
      #expect(try get("/v1/zones/\(zone)/changes", token).status == 404, "\(zone)")
      #expect(try get("/v1/zones/\(zone)/snapshot", token).status == 404, "\(zone)")
    }
    #expect(try get("/v1/zones/\(list)/snapshot", token).status == 200)
  }

  @Test("a token writes in its zones only, and what it did is known by its request id (I1, I10)")
  func writes() throws {
    let token = try token(zones: [list])
    func create(_ list: String) throws -> ReadAnswer {
      try server.send(
        "POST", "/v1/tables/items", ["columns": ["list_id": .string(list), "title": "Made"]], token: token)
    }
    #expect(try create(list).status == 201)
    #expect(try create(otherList).status == 422)
    let change: JSONValue = ["columns": ["title": "Changed"]]
    #expect(try server.send("PATCH", "/v1/tables/items/\(item)", change, token: token).status == 200)
    #expect(try server.send("PATCH", "/v1/tables/items/\(otherItem)", change, token: token).status == 404)
    #expect(try server.send("DELETE", "/v1/tables/items/\(otherItem)", token: token).status != 200)
    #expect(try server.send("PUT", "/v1/tables/items/\(otherItem)", change, token: token).status != 200)
    let move: JSONValue = ["columns": ["list_id": .string(otherList)]]
    #expect(try server.send("PATCH", "/v1/tables/items/\(item)", move, token: token).status != 200)
    let root = try server.send("POST", "/v1/tables/lists", ["columns": ["title": "Mine"]], token: token)
    #expect(root.code == "token-limited")
    let put = try server.send(
      "PUT", "/v1/tables/lists/\(server.world.id())", ["columns": ["title": "Mine"]], token: token)
    #expect(put.code == "token-limited")
    let member: JSONValue = ["zone": .string(list), "columns": ["name": "reporter", "role": "owner"]]
    #expect(try server.send("POST", "/v1/tables/members", member, token: token).status == 403)
    try alice.pull()
    #expect(alice.column("items", item, "title") == "Changed")
    #expect(alice.column("items", otherItem, "title") == "Secret")
    #expect(try server.findings().isEmpty)
  }

  @Test("a batch of a token that leaves its scope has no effect at all (I6, I10)")
  func batch() throws {
    let token = try token(tables: ["items"], zones: [list])
    func batch(_ table: String, _ id: String) throws -> ReadAnswer {
      try server.send(
        "POST", "/v1/batch",
        [
          "operations": [
            ["op": "update", "table": "items", "id": .string(item), "columns": ["title": "First"]],
            ["op": "update", "table": .string(table), "id": .string(id), "columns": ["title": "Second"]],
          ]
        ], token: token)
    }
    #expect(try batch("lists", list).code == "token-limited")
    #expect(try batch("items", otherItem).code == "batch-refused")
    try alice.pull()
    #expect(alice.column("items", item, "title") == "Milk")
    #expect(try batch("items", item).status == 200)
  }

  @Test("a token for conflicts alone is shown no record by a choice that was made before (I10)")
  func choice() throws {
    let scene = try AccessScene()
    let conflict = try scene.makeTarget("conflicts")
    let path = "/v1/tables/conflicts/\(conflict.id)/resolve"
    #expect(try scene.alice.send("POST", path, ["take": "loser"]).status == 200)
    let token = try Administration(scene.server.location, environment: scene.server.world.environment)
      .createToken(name: "judge", role: .editor, tables: ["conflicts"], zones: nil)
    let answer = try scene.server.send("POST", path, ["take": "loser"], token: token)
    #expect(answer.code == "token-limited")
    #expect(!String(decoding: answer.body.bytes, as: UTF8.self).contains(conflict.secret))
  }

  @Test("a token with tables sees no other, in no way (I10)")
  func tables() throws {
    let token = try token(tables: ["items"], zones: nil)
    #expect(TextSet(try get("/v1/tables/items", token).ids) == [item, otherItem])
    for path in [
      "/v1/tables/lists", "/v1/tables/lists/\(list)", "/v1/tables/lists?ids=\(list)", "/v1/tables/members",
      "/v1/tables/conflicts", "/v1/zones/\(list)/changes", "/v1/zones/\(list)/snapshot",
    ] {
      #expect(try get(path, token).code == "token-limited", "\(path)")
    }
    // Seals refer to items, and keep them; tags do not go with them.
    #expect(try server.send("DELETE", "/v1/tables/items/\(item)", token: token).status == 200)
    let lists = try self.token(tables: ["lists"], zones: nil, name: "cleaner")
    #expect(try server.send("DELETE", "/v1/tables/lists/\(list)", token: lists).code == "token-limited")
    let all = try self.token(zones: nil, name: "all")
    #expect(try server.send("DELETE", "/v1/tables/lists/\(list)", token: all).status == 200)
  }

  @Test("no deletion of a token reaches a table that it does not name, also not by way of another zone (I10)")
  func tablesBeyond() throws {
    let schema = try SyncSchema(
      json: Array(
        """
        {"holdfast": 1, "name": "test", "tables": {
          "lists": {"zone": "root", "columns": {"title": {"type": "text"}}},
          "notes": {"zone": "user", "columns": {
            "list_id": {"type": "reference", "to": "lists", "on_delete": "cascade", "across": true}}},
          "lines": {"zone": {"parent": "note_id"}, "columns": {
            "note_id": {"type": "reference", "to": "notes", "required": true, "on_delete": "restrict"}}},
          "marks": {"zone": "user", "columns": {
            "note_id": {"type": "reference", "to": "notes", "on_delete": "restrict"}}}
        }}
        """.utf8))
    let server = try TestServer(schema)
    let alice = try server.signUp("alice")
    let (list, note, line, mark) = (alice.newID(), alice.newID(), alice.newID(), alice.newID())
    try alice.sync([
      .create("lists", list, ["title": "List"]), .create("notes", note, ["list_id": .string(list)]),
      .create("lines", line, ["note_id": .string(note)]), .create("marks", mark, ["note_id": .string(note)]),
    ])
    func delete(_ path: String, tables: [String]) throws -> ReadAnswer {
      let token = try Administration(server.location, environment: server.world.environment).createToken(
        name: tables.joined(), role: .owner, tables: tables, zones: nil)
      return try server.send("DELETE", "/v1/tables/\(path)", token: token)
    }
    for unnamed in ["notes", "lines", "marks"] {
      let tables = ["lists", "notes", "lines", "marks"].filter { $0 != unnamed }
      #expect(try delete("lists/\(list)", tables: tables).code == "token-limited", "\(unnamed)")
    }
    // Inside their zone they prevent it.
    #expect(try delete("notes/\(note)", tables: ["notes"]).code == "reference-restricted")
    try alice.pull()
    #expect(alice.has("lines", line) && alice.column("marks", mark, "note_id") == .string(note))
    #expect(
      try delete("lists/\(list)", tables: ["lists", "notes", "lines", "marks"]).status == 200)
    try alice.pull()
    #expect(!alice.has("lines", line) && alice.column("marks", mark, "note_id") == .null)
    #expect(try server.findings().isEmpty)
  }

  @Test("a token goes on with a table that was renamed, by both names, and with no other (I10)")
  func renamed() throws {
    func schema(_ name: String, was: [String] = []) throws -> SyncSchema {
      try SyncSchema(
        name: "test",
        tables: [
          TableSchema(name, zone: .root, columns: [ColumnSchema("text", .text)], was: was),
          TableSchema("others", zone: .user, columns: [ColumnSchema("text", .text)]),
        ])
    }
    let server = try TestServer(schema("notes"))
    let alice = try server.signUp("alice")
    let note = alice.newID()
    try alice.sync([.create("notes", note, ["text": "one"])])
    let token = try Administration(server.location, environment: server.world.environment).createToken(
      name: "program", role: .editor, tables: ["notes"], zones: nil)
    for (name, was) in [("memos", ["notes"]), ("papers", ["notes", "memos"])] {
      try server.reopen(schema(name, was: was))
      for called in [name] + was {
        let path = "/v1/tables/\(called)/\(note)"
        #expect(try server.send("GET", path, token: token).status == 200, "\(called)")
        let change: JSONValue = ["columns": ["text": .string(called)]]
        #expect(try server.send("PATCH", path, change, token: token).status == 200, "\(called)")
      }
      #expect(try server.send("GET", "/v1/tables/others", token: token).code == "token-limited")
      let administration = try Administration(server.location, environment: server.world.environment)
      let later = try administration.createToken(
        name: "of-\(name)", role: .editor, tables: ["notes"], zones: nil)
      #expect(try server.send("GET", "/v1/tables/\(name)/\(note)", token: later).status == 200)
      #expect(try administration.tokens().rows.contains { $0[1] == "of-\(name)" && $0[3] == name })
    }
  }

  @Test("a viewer's token writes nothing, and an editor's makes nobody a member (I10)")
  func roles() throws {
    let viewer = try token(.viewer, zones: nil)
    let change: JSONValue = ["columns": ["title": "Changed"]]
    #expect(try server.send("PATCH", "/v1/tables/items/\(item)", change, token: viewer).status == 403)
    #expect(
      try server.send("POST", "/v1/tables/lists", ["columns": ["title": "x"]], token: viewer).status == 403)
    let editor = try token(.editor, zones: nil, name: "editor")
    let member: JSONValue = ["zone": .string(list), "columns": ["name": "editor", "role": "owner"]]
    #expect(try server.send("POST", "/v1/tables/members", member, token: editor).code == "role-insufficient")
    let owner = try token(.owner, zones: nil, name: "owner")
    _ = try server.signUp("bob")
    let bob: JSONValue = ["zone": .string(list), "columns": ["name": "bob", "role": "viewer"]]
    #expect(try server.send("POST", "/v1/tables/members", bob, token: owner).status == 201)
  }

  @Test("to be a member of a zone adds nothing to what a token names (I10)")
  func membership() throws {
    let token = try token(zones: [list])
    _ = try alice.share(otherList, with: "reporter", as: .owner)
    #expect(try get("/v1/tables/items/\(otherItem)", token).status == 404)
    #expect(try get("/v1/tables/items", token).ids == [item])
    #expect(try server.send("DELETE", "/v1/tables/items/\(otherItem)", token: token).status != 200)
  }

  @Test("all zones are those that are made later too, and a zone that the program makes is its own")
  func later() throws {
    let token = try token(zones: nil)
    let newest = try alice.makeList("New")
    #expect(try get("/v1/tables/lists/\(newest)", token).status == 200)
    let made = try server.send("POST", "/v1/tables/lists", ["columns": ["title": "Made"]], token: token)
    #expect(made.status == 201)
    #expect(try get("/v1/tables/lists/\(made.body["id"]?.stringValue ?? "")", token).status == 200)
    #expect(TextSet(try get("/v1/tables/lists?limit=1", token).ids).count == 1)
    #expect(try pages("/v1/tables/lists?limit=1", token).count == 4)
    #expect(try server.findings().isEmpty)
  }

  private func pages(_ target: String, _ token: String) throws -> TextSet {
    var answer = try get(target, token)
    var ids = TextSet(answer.ids)
    while let next = answer.next {
      answer = try get(next, token)
      ids.formUnion(answer.ids)
    }
    return ids
  }

  @Test("deltas tell what changed in the zones of a token alone (I4, I10)")
  func deltas() throws {
    let token = try token(zones: [list])
    let program = TestDevice(server, token: token)
    var follower = DeltaFollower(device: program, target: "/v1/tables/items")
    try follower.follow()
    #expect(TextSet(follower.records.keys) == [item])
    let more = try alice.makeItem(list, "More")
    _ = try alice.makeItem(otherList, "Hidden")
    try follower.follow()
    #expect(TextSet(follower.records.keys) == [item, more])
    #expect(follower.deltas == 1)
  }

  @Test("a stream tells of the zones of its token alone (I10)")
  func events() throws {
    let inline = try #require(server.inline)
    func open(_ token: String, _ number: Int) {
      let request = TestServer.request("GET", "/v1/events", [], token: token)
      if case .failure = inline.open(request, stream: number) { Issue.record("There is no stream.") }
    }
    open(try token(zones: [list]), 1)
    open(try token(zones: nil, name: "all"), 2)
    _ = inline.takeEvents()
    _ = try alice.makeItem(otherList)
    #expect(inline.takeEvents().map(\.stream) == [2])
    _ = try alice.makeItem(list)
    #expect(Set(inline.takeEvents().map(\.stream)) == [1, 2])
    _ = try alice.makeList("New")
    #expect(inline.takeEvents().map(\.stream) == [2])
  }

  @Test("sync, sessions, devices and passwords are not for programs (I10)")
  func sessions() throws {
    let token = try token(.owner, zones: nil)
    for (method, path, body) in [
      ("POST", "/v1/sync", ["protocol": 1]), ("POST", "/v1/devices", ["name": "x"]),
      ("GET", "/v1/devices", [:]), ("DELETE", "/v1/sessions", [:]), ("DELETE", "/v1/sessions/current", [:]),
      ("DELETE", "/v1/devices/\(alice.id)", [:]),
      ("PUT", "/v1/account/password", ["old": "", "new": "battery staple"]),
    ] as [(String, String, JSONValue)] {
      #expect(try get("/v1/zones", token).status == 200)
      #expect(try server.send(method, path, body, token: token).code == "token-limited", "\(method) \(path)")
    }
    #expect(try server.tryPassword("", of: "reporter").status == 401)
    #expect(try alice.get("/v1/zones").status == 200)
  }

  @Test("a revoked token is dead at once, and its name stays taken")
  func revoked() throws {
    let administration = try Administration(server.location, environment: server.world.environment)
    let token = try token(tables: ["items", "lists"], zones: [list])
    let row = try #require(try administration.tokens().rows.first)
    #expect(Array(row[1...4]) == ["reporter", "editor", "items,lists", list])
    #expect(row[6] == "yes")
    #expect(try get("/v1/zones", token).status == 200)
    try administration.revoke(device: row[0])
    #expect(try get("/v1/zones", token).status == 401)
    let change: JSONValue = ["columns": ["title": "Changed"]]
    #expect(try server.send("PATCH", "/v1/tables/items/\(item)", change, token: token).status == 401)
    #expect(try administration.tokens().rows.first?[6] == "no")
    #expect(throws: ServerError.self) { try self.token(zones: nil) }
    #expect(throws: ServerError.self) { try self.token(tables: ["nothing"], zones: nil, name: "x") }
    #expect(throws: ServerError.self) { try self.token(tables: [], zones: nil, name: "x") }
    #expect(throws: ServerError.self) { try self.token(zones: nil, name: "Bad name") }
    let sameName = try server.send(
      "POST", "/v1/accounts", ["name": "reporter", "password": "correct horse", "device": ["name": "x"]])
    #expect(sameName.code == "name-taken")
  }
}
