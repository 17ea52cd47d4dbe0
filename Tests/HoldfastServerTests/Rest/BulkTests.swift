import HoldfastCore
import HoldfastServer
import ServerScenes
import Testing

/// Many records in one request: PROTOCOL.md, section 9.2.
@Suite struct BulkTests {
  let server: TestServer
  let alice: TestDevice
  let rest: RestClient
  let list: String

  init() throws {
    server = try TestServer(RestSchema.make())
    alice = try server.signUp("alice")
    rest = RestClient(alice)
    list = try rest.create("lists", ["title": "Groceries"])
  }

  private func item(_ title: JSONValue, id: String? = nil) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init("columns", ["list_id": .string(list), "title": title])
    ]
    if let id { members.append(.init("id", .string(id))) }
    return .object(members)
  }

  @Test("each record of a request stands alone, and its result is where it was sent (I12)")
  func each() throws {
    let taken = try rest.create("items", ["list_id": .string(list), "title": "Milk"])
    let reply = try rest.send(
      "POST", "/v1/tables/items",
      [
        "records": [
          item("One"), item(5), item("Taken", id: taken), [], ["columns": [:]], item("Two"),
          item("x", id: "1"),
        ]
      ])
    #expect(reply.status == 200 && reply.statuses == [201, 422, 409, 422, 422, 201, 422])
    let codes = reply.results.map { $0["problem"]?["code"]?.stringValue }
    #expect(
      codes == [
        nil, "invalid-value", "record-exists", "invalid-operation", "value-missing", nil, "invalid-id",
      ])
    #expect(reply.results[5]["record"]?["columns"]?["title"] == "Two")
    try alice.pull()
    #expect(alice.all("items").count == 3)
    #expect(try rest.send("POST", "/v1/tables/items", ["records": []]).results.isEmpty)
  }

  @Test("updates and deletions by the dozen, each alone")
  func updates() throws {
    let ids = try ["A", "B", "C"].map {
      try rest.create("items", ["list_id": .string(list), "title": .string($0)])
    }
    let patched = try rest.send(
      "PATCH", "/v1/tables/items",
      [
        "records": [
          ["id": .string(ids[2]), "columns": ["title": "c"]],
          ["id": .string(alice.newID()), "columns": ["title": "x"]],
          ["id": .string(ids[0]), "rev": 1, "columns": ["amount": 1]], ["columns": ["title": "x"]],
        ]
      ])
    #expect(patched.statuses == [200, 404, 200, 422])
    let none = alice.newID()
    let deleted = try rest.send("DELETE", "/v1/tables/items?ids=\(ids[0]),\(none),\(ids[1]),\(ids[0])")
    #expect(deleted.statuses == [200, 204, 200, 200])
    #expect(deleted.results[1] == ["status": 204])
    #expect(deleted.results[0]["record"]?["deleted"] == true && deleted.results[0]["record"]?["rev"] == 3)
    try alice.pull()
    #expect(alice.all("items").map { $0["title"] } == ["c"])
  }

  @Test("a deletion of many is all or none when it says so")
  func atomicDeletion() throws {
    let item = try rest.create("items", ["list_id": .string(list), "title": "Milk"])
    let seal = try rest.create("seals", ["item_id": .string(item)])
    let other = try rest.create("items", ["list_id": .string(list), "title": "Tea"])
    let path = "/v1/tables/items?ids=\(other),\(item)"
    let refused = try rest.send("DELETE", path + "&atomic=true")
    #expect(refused.status == 422 && refused.code == "batch-refused")
    #expect(refused.json["errors"]?.elements?.first?["problem"]?["code"] == "reference-restricted")
    #expect(try rest.get("/v1/tables/items/\(other)").status == 200)
    #expect(try rest.send("DELETE", path).statuses == [200, 409])
    #expect(try rest.send("DELETE", "/v1/tables/seals/\(seal)").status == 200)
    #expect(try rest.send("DELETE", path + "&atomic=true").statuses == [200, 200])
    #expect(try rest.send("DELETE", path + "&atomic=1").status == 400)
  }

  @Test(
    "a batch is all or none across tables and zones, and later operations see what earlier ones did (I6, I9)")
  func atomic() throws {
    let (new, item, tag) = (alice.newID(), alice.newID(), alice.newID())
    let old = try rest.create("items", ["list_id": .string(list), "title": "Milk"])
    let operations: [JSONValue] = [
      ["op": "create", "table": "lists", "id": .string(new), "columns": ["title": "New"]],
      [
        "op": "create", "table": "items", "id": .string(item),
        "columns": ["list_id": .string(new), "title": "Tea"],
      ],
      [
        "op": "create", "table": "tags", "id": .string(tag),
        "columns": ["list_id": .string(new), "name": "red"],
      ],
      [
        "op": "update", "table": "items", "id": .string(item), "if_match": 1,
        "columns": ["tag_id": .string(tag)],
      ],
      ["op": "update", "table": "items", "id": .string(old), "columns": ["list_id": .string(new)]],
      [
        "op": "create", "table": "members", "zone": .string(new),
        "columns": ["name": "alice", "role": "owner"],
      ],
    ]
    let refused = try rest.batch(operations)
    #expect(refused.status == 422 && refused.code == "batch-refused")
    let error = refused.json["errors"]?.elements
    #expect(error?.count == 1 && error?.first?["index"] == 5)
    #expect(error?.first?["problem"]?["code"] == "unique-taken")
    #expect(try rest.get("/v1/tables/lists/\(new)").status == 404)
    #expect(try rest.get("/v1/tables/items/\(old)").rev == 1)
    let done = try rest.batch(Array(operations.dropLast()))
    #expect(done.status == 200 && done.statuses == [201, 201, 201, 200, 200])
    #expect(done.results[1]["record"]?["rev"] == 2)
    #expect(done.results[4]["record"]?["zone"] == .string(new))
    try alice.pull()
    #expect(
      alice.records["items \(old)"]?.zone == new && alice.column("items", item, "tag_id") == .string(tag))
    #expect(try server.findings().isEmpty)
  }

  @Test("a batch names every operation whose form or values are wrong, and none of it is done")
  func wrong() throws {
    let refused = try rest.batch([
      ["op": "create", "table": "lists", "columns": ["title": "New"]],
      ["op": "create", "table": "lists", "columns": ["title": 5]],
      ["op": "update", "table": "lists", "id": .string(alice.newID()), "columns": ["title": "x"]],
      ["op": "grow", "table": "lists"], ["op": "delete", "table": "nothing", "id": "x"],
    ])
    #expect(refused.status == 422 && refused.code == "batch-refused")
    let errors = refused.json["errors"]?.elements ?? []
    #expect(errors.map { $0["index"] } == [1, 3, 4])
    #expect(
      errors.map { $0["problem"]?["code"] } == ["invalid-value", "invalid-operation", "unknown-table"])
    try alice.pull()
    #expect(alice.all("lists").count == 1)
  }

  @Test("a batch that is not atomic does what can be done")
  func notAtomic() throws {
    let new = alice.newID()
    let reply = try rest.batch(
      [
        ["op": "create", "table": "lists", "id": .string(new), "columns": ["title": "New"]],
        ["op": "create", "table": "items", "columns": ["list_id": .string(alice.newID()), "title": "x"]],
        [
          "op": "replace", "table": "items", "id": .string(alice.newID()),
          "columns": ["list_id": .string(new), "title": "y"],
        ],
        ["op": "delete", "table": "lists", "id": .string(list)],
        ["op": "update", "table": "lists", "id": .string(list), "columns": ["title": "z"]],
        ["op": "restore", "table": "lists", "id": .string(list), "columns": ["title": "Back"]],
      ], atomic: false)
    #expect(reply.status == 200 && reply.statuses == [201, 422, 201, 200, 410, 200])
    #expect(reply.results[4]["problem"]?["rev"] == 2)
    #expect(try rest.get("/v1/tables/lists/\(list)").column("title") == "Back")
    #expect(try RestClient.conflicts(alice).map { $0["loser_value"] } == ["z"])
  }

  @Test(
    "in a batch a record that is deleted refuses all, and nothing is logged; a create may come behind what needs it"
  )
  func order() throws {
    let gone = try rest.create("items", ["list_id": .string(list), "title": "Milk"])
    try rest.send("DELETE", "/v1/tables/items/\(gone)")
    let refused = try rest.batch([
      ["op": "update", "table": "lists", "id": .string(list), "columns": ["title": "x"]],
      ["op": "update", "table": "items", "id": .string(gone), "columns": ["title": "x"]],
    ])
    #expect(refused.status == 422)
    #expect(refused.json["errors"]?.elements?.first?["problem"]?["code"] == "record-deleted")
    #expect(refused.json["errors"]?.elements?.first?["problem"]?["deleted"] == true)
    #expect(try RestClient.conflicts(alice).isEmpty)
    #expect(alice.column("lists", list, "title") == "Groceries")
    let new = alice.newID()
    let done = try rest.batch([
      ["op": "create", "table": "items", "columns": ["list_id": .string(new), "title": "Tea"]],
      ["op": "replace", "table": "lists", "id": .string(new), "columns": ["title": "Later"]],
      [
        "op": "restore", "table": "items", "id": .string(gone),
        "columns": ["list_id": .string(new), "title": "Back"],
      ],
    ])
    #expect(done.statuses == [201, 201, 200])
    #expect(try server.findings().isEmpty)
  }

  @Test("what is created and deleted in one batch is gone, and the results say so")
  func cancelled() throws {
    let id = alice.newID()
    let reply = try rest.batch([
      [
        "op": "create", "table": "items", "id": .string(id),
        "columns": ["list_id": .string(list), "title": "Tea"],
      ],
      ["op": "delete", "table": "items", "id": .string(id)],
    ])
    #expect(reply.statuses == [200, 200] && reply.results[0]["record"]?["deleted"] == true)
    #expect(try rest.get("/v1/tables/items/\(id)").status == 410)
    try alice.pull()
    #expect(!alice.has("items", id))
    #expect(try server.findings().isEmpty)
  }

  @Test("an answer has a bound: behind it records come without their columns, or are to be asked for again")
  func bounded() throws {
    let large = JSONValue.string(String(repeating: "x", count: 10_000))
    let ids = (0..<450).map { _ in alice.newID() }
    let records = ids.map { id -> JSONValue in
      ["id": .string(id), "columns": ["list_id": .string(list), "title": "x", "note": large]]
    }
    let made = try rest.send("POST", "/v1/tables/items", ["records": .array(records)], id: "many")
    #expect(made.statuses == [Int64](repeating: 201, count: 450))
    #expect((4 << 20..<5 << 20).contains(made.body.count))
    #expect(made.results[0]["record"]?["columns"]?["note"] == large)
    #expect(made.results[449]["record"]?["columns"] == nil)
    #expect(made.results.map { $0["record"]?["id"] } == ids.map { .string($0) })
    #expect(made.results[449]["record"]?["created_by_request_id"] == "many")
    #expect(
      try rest.send("POST", "/v1/tables/items", ["records": .array(records)], id: "many").body == made.body)
    let huge = JSONValue.object((0..<9).map { .init("k\($0)", large) })
    let patches = ids.prefix(100).map { id -> JSONValue in ["id": .string(id), "columns": ["extra": huge]] }
    let patched = try rest.send("PATCH", "/v1/tables/items", ["records": .array(patches)])
    #expect(patched.statuses == [Int64](repeating: 200, count: 100))
    let read = try rest.get("/v1/tables/items?ids=" + ids.prefix(100).joined(separator: ","))
    #expect(read.body.count < 5 << 20)
    #expect(read.statuses.first == 200 && read.statuses.last == 422)
    #expect(read.results.last?["problem"]?["code"] == "result-too-large")
  }

  @Test("a thousand operations are one request, one more is none")
  func limit() throws {
    let records = (0..<1000).map { item(.string("Item \($0)")) }
    let reply = try rest.send("POST", "/v1/tables/items", ["records": .array(records), "atomic": true])
    #expect(reply.status == 200 && reply.statuses == [Int64](repeating: 201, count: 1000))
    let titles = reply.results.compactMap { $0["record"]?["columns"]?["title"]?.stringValue }
    #expect(titles == (0..<1000).map { "Item \($0)" })
    let more = try rest.send("POST", "/v1/tables/items", ["records": .array(records + [item("x")])])
    #expect(more.status == 400 && more.code == "invalid-request")
    try alice.pull()
    #expect(alice.all("items").count == 1000)
  }

  @Test("with Prefer: return=minimal the results of many have no columns, also when the request is repeated")
  func minimal() throws {
    let body: JSONValue = ["records": [item("One"), item("Two")]]
    for isReplay in [false, true] {
      let reply = try rest.send(
        "POST", "/v1/tables/items", body, id: "1", ["Prefer": "wait=5, Return=minimal"])
      #expect(reply.status == 200 && reply.statuses == [201, 201] && reply.isReplay == isReplay)
      #expect(reply.headers["Preference-Applied"] == "return=minimal")
      for result in reply.results {
        #expect(result["record"]?["rev"] == 1 && result["record"]?["columns"] == nil)
      }
    }
    let shown: JSONValue = ["records": [item("Four")]]
    try rest.send("POST", "/v1/tables/items", shown, id: "2")
    let again = try rest.send("POST", "/v1/tables/items", shown, id: "2", ["Prefer": "return=minimal"])
    #expect(again.isReplay && again.results.first?["record"]?["columns"] != nil)
    #expect(again.headers["Preference-Applied"] == nil)
    let whole = try rest.send("POST", "/v1/tables/items", ["records": [item("Three")]], ["Prefer": "minimal"])
    #expect(whole.results.first?["record"]?["columns"]?["title"] == "Three")
    #expect(whole.headers["Preference-Applied"] == nil)
  }
}
