import HoldfastCore
import ServerScenes
import Synchronization
import Testing

/// Counters and sets that REST changes by what is there: PROTOCOL.md, section 9.2. Invariants I1, I3.
@Suite struct IncrementTests {
  let alice: TestDevice
  let rest: RestClient
  let path: String
  let item: String

  init() throws {
    alice = try TestServer(MergeSchema.schema()).signUp("alice")
    rest = RestClient(alice)
    let list = try rest.create("lists", ["title": "Groceries"])
    item = try rest.create("items", ["list_id": .string(list), "votes": 1, "labels": ["a"]])
    path = "/v1/tables/items/\(item)"
  }

  @Test(
    "an increment counts on the server's value, also with a rev that is old, and once by its request id (I1)")
  func counter() throws {
    let body: JSONValue = ["columns": ["votes": ["add": 2]], "rev": 1]
    #expect(try rest.send("PATCH", path, body, id: "a").column("votes") == 3)
    #expect(try rest.send("PATCH", path, body, id: "a").column("votes") == 3)
    #expect(try rest.send("PATCH", path, body).column("votes") == 5)
    let twice: JSONValue = [
      "op": "update", "table": "items", "id": .string(item), "columns": ["votes": ["add": -1]],
    ]
    let batch = try rest.batch([twice, twice])
    #expect(batch.results.last?["record"]?["columns"]?["votes"] == 3)
    #expect(try rest.send("PATCH", path, ["columns": ["votes": ["add": 90]]]).code == "invalid-value")
    #expect(
      try rest.send("PATCH", path, ["columns": ["votes": ["add": .integer(.max)]]]).code == "invalid-value")
    #expect(try RestClient.conflicts(alice).isEmpty)
  }

  @Test("a set gains and loses elements")
  func set() throws {
    let body: JSONValue = ["columns": ["labels": ["add": ["c", "b"], "remove": ["a", "x"]]]]
    #expect(try rest.send("PATCH", path, body).column("labels") == ["b", "c"])
    #expect(
      try rest.send("PATCH", path, ["columns": ["labels": ["add": ["c"]]]]).column("labels") == ["b", "c"])
  }

  @Test(
    "what is no increment is refused, and nothing is done",
    arguments: [
      ["votes": [:]], ["votes": ["add": 1.5]], ["votes": ["add": 1, "remove": 1]], ["votes": ["add": "1"]],
      ["labels": ["add": "a"]], ["labels": ["add": ["a"], "remove": ["a"]]], ["labels": ["set": ["a"]]],
      ["title": ["add": 1]],
    ] as [JSONValue])
  func wrong(_ columns: JSONValue) throws {
    #expect(try rest.send("PATCH", path, ["columns": columns]).code == "invalid-value")
    #expect(try rest.get(path).rev == 1)
  }

  @Test("a create takes no increment: there is nothing to add to")
  func create() throws {
    let columns: JSONValue = ["columns": ["list_id": "x", "votes": ["add": 1]]]
    #expect(try rest.send("POST", "/v1/tables/items", columns).code == "invalid-value")
  }

  @Test("merges count as work by the size of what is merged, also of a set and of JSON (I12)")
  func merges() throws {
    let labels = JSONValue.array((0..<500).map { .string("label \($0)") })
    #expect(try rest.send("PATCH", "/v1/tables/items/\(item)", ["columns": ["labels": labels]]).status == 200)
    alice.server.world.changeSetWork.withLock { $0 = 3000 }
    try alice.server.reopen()
    let add: JSONValue = [
      "op": "update", "table": "items", "id": .string(item), "columns": ["labels": ["add": ["new"]]],
    ]
    #expect(try rest.batch([add]).status == 200)
    let refused = try rest.batch([add, add, add])
    #expect(refused.status == 422)
    let error = refused.json["errors"]?.elements?.first
    #expect(error?["index"] == 1 && error?["problem"]?["code"] == "change-set-too-large")
  }
}
