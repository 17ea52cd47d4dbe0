import HoldfastCore
import HoldfastServer
import ServerScenes
import Testing

/// PROTOCOL.md, section 9.3.
@Suite struct PreconditionTests {
  let server: TestServer
  let alice: TestDevice
  let rest: RestClient
  /// The same user on another device.
  let other: RestClient
  let list: String
  let id: String
  let path: String

  init() throws {
    server = try TestServer(RestSchema.make())
    alice = try server.signUp("alice")
    rest = RestClient(alice)
    other = RestClient(try server.signIn("alice"))
    list = try rest.create("lists", ["title": "Groceries"])
    id = try rest.create("items", ["list_id": .string(list), "title": "Milk", "amount": 1])
    path = "/v1/tables/items/\(id)"
  }

  private func state() throws -> [UInt8] { try rest.get(path).body }

  @Test("If-Match with another rev is 412 with the record as it is, and nothing is changed")
  func stale() throws {
    try other.send("PATCH", path, ["columns": ["title": "Oat milk"]])
    let before = try state()
    let whole: JSONValue = ["columns": ["list_id": .string(list), "title": "Tea"]]
    for (method, body) in [("PATCH", ["columns": ["title": "Tea"]]), ("PUT", whole), ("DELETE", nil)] {
      for tag in ["\"1\"", "\"3\"", "W/\"2\"", "\"02\"", "\"x\""] {
        let reply = try rest.send(method, path, body, ["If-Match": tag])
        #expect(reply.status == 412 && reply.code == "precondition-failed", "\(method) \(tag)")
        #expect(reply.json["record"]?["columns"]?["title"] == "Oat milk")
        #expect(reply.json["record"]?["rev"] == 2)
      }
    }
    #expect(try state() == before)
    #expect(try RestClient.conflicts(alice).isEmpty)
  }

  @Test(
    "If-Match with the rev, or *, lets the request through", arguments: ["\"1\"", "*", "\"7\", \"1\""])
  func fresh(_ tag: String) throws {
    let reply = try rest.send("PATCH", path, ["columns": ["title": "Tea"]], ["If-Match": tag])
    #expect(reply.status == 200 && reply.rev == 2)
    #expect(try rest.send("DELETE", path, nil, ["If-Match": "\"2\""]).status == 200)
  }

  @Test("of a record that is gone: DELETE succeeds, PUT and PATCH say so and write nothing")
  func gone() throws {
    try rest.send("DELETE", path)
    let seq = try rest.get(path).json["seq"]
    #expect(try rest.send("DELETE", path, nil, ["If-Match": "\"1\""]).status == 200)
    #expect(try rest.send("PATCH", path, ["columns": ["title": "Tea"]], ["If-Match": "*"]).status == 410)
    #expect(try rest.get(path).json["seq"] == seq)
    #expect(try RestClient.conflicts(alice).isEmpty)
    let unknown = "/v1/tables/items/\(alice.newID())"
    let body: JSONValue = ["columns": ["list_id": .string(list), "title": "Tea"]]
    #expect(try rest.send("PUT", unknown, body, ["If-Match": "*"]).status == 412)
    #expect(try rest.send("PATCH", unknown, ["columns": [:]], ["If-Match": "*"]).status == 404)
    #expect(try rest.send("DELETE", unknown, nil, ["If-Match": "\"1\""]).status == 204)
    #expect(try rest.get(unknown).status == 404)
  }

  @Test("PUT with If-None-Match: * makes a record, and never replaces one")
  func absent() throws {
    let body: JSONValue = ["columns": ["list_id": .string(list), "title": "Tea"]]
    let reply = try rest.send("PUT", path, body, ["If-None-Match": "*"])
    #expect(reply.status == 412 && reply.json["record"]?["columns"]?["title"] == "Milk")
    let new = "/v1/tables/items/\(alice.newID())"
    #expect(try rest.send("PUT", new, body, ["If-None-Match": "*"]).status == 201)
    try rest.send("DELETE", new)
    #expect(try rest.send("PUT", new, body, ["If-None-Match": "*"]).status == 410)
  }

  @Test(
    "a precondition that can't be understood, or says nothing here, is refused and not passed over",
    arguments: [
      ("PATCH", "If-Match", "3"), ("PATCH", "If-Match", "\"3"), ("PATCH", "If-Match", "\"1\" \"2\""),
      ("PATCH", "If-Match", ""), ("PATCH", "If-None-Match", "*"), ("PUT", "If-None-Match", "\"1\""),
      ("POST", "If-Match", "*"),
    ])
  func wrong(_ method: String, _ name: String, _ value: String) throws {
    let body: JSONValue = ["columns": ["list_id": .string(list), "title": "Tea"]]
    let reply = try rest.send(method, method == "POST" ? "/v1/tables/items" : path, body, [name: value])
    #expect(reply.status == 400 && reply.code == "invalid-request")
    #expect(try rest.get(path).rev == 1)
  }

  @Test("an update with a rev is merged with what others wrote after it, and the overlap is logged (I7)")
  func merged() throws {
    try other.send("PATCH", path, ["columns": ["title": "Oat milk", "note": "theirs"]])
    server.world.advance(1000)
    let reply = try rest.send(
      "PATCH", path, ["rev": 1, "columns": ["title": "Soy milk", "note": "mine", "amount": 5]])
    #expect(reply.status == 200 && reply.rev == 3)
    // `latest` takes the later edit, `server` what was there, and nobody else touched the amount.
    #expect(reply.column("title") == "Soy milk" && reply.column("note") == "theirs")
    #expect(reply.column("amount") == 5)
    let logged = try RestClient.conflicts(alice)
    #expect(TextSet(logged.compactMap { $0["loser_value"]?.stringValue }) == ["Oat milk", "mine"])
  }

  @Test(
    "a date as a precondition is 400 at any address that writes, and nothing is changed",
    arguments: ["If-Unmodified-Since", "If-Modified-Since"])
  func dated(_ name: String) throws {
    let before = try state()
    let whole: JSONValue = ["columns": ["list_id": .string(list), "title": "Tea"]]
    let several: JSONValue = ["records": [["id": .string(id), "columns": ["title": "x"]]]]
    for (method, path, body) in [
      ("DELETE", path, nil), ("PATCH", path, ["columns": ["title": "Tea"]]), ("PUT", path, whole),
      ("POST", "/v1/tables/items", whole), ("PATCH", "/v1/tables/items", several),
    ] as [(String, String, JSONValue?)] {
      for value in ["Thu, 01 Jan 1970 00:00:01 GMT", "yesterday"] {
        let reply = try rest.send(method, path, body, [name: value])
        #expect(reply.status == 400 && reply.code == "invalid-request", "\(method) \(path)")
      }
    }
    #expect(try state() == before)
  }

  @Test("an update without a rev is based on the record as it is: nothing is logged")
  func unbased() throws {
    try other.send("PATCH", path, ["columns": ["title": "Oat milk", "note": "theirs"]])
    let reply = try rest.send("PATCH", path, ["columns": ["title": "Soy milk", "note": "mine"]])
    #expect(reply.column("title") == "Soy milk" && reply.column("note") == "mine")
    let put = try other.send("PUT", path, ["columns": ["list_id": .string(list), "title": "Tea"]])
    #expect(put.column("title") == "Tea" && put.column("note") == .null)
    #expect(try other.send("DELETE", path).status == 200)
    #expect(try RestClient.conflicts(alice).isEmpty)
  }

  @Test("a deletion with a rev logs what others wrote after it")
  func deletion() throws {
    try other.send("PATCH", path, ["columns": ["title": "Oat milk"]])
    let reply = try rest.batch([["op": "delete", "table": "items", "id": .string(id), "rev": 1]])
    #expect(reply.statuses == [200])
    #expect(try RestClient.conflicts(alice).map { $0["loser_value"] } == ["Oat milk"])
  }

  @Test("in bulk each item says its rev, and only those that differ fail")
  func bulk() throws {
    let second = try rest.create("items", ["list_id": .string(list), "title": "Tea"])
    try other.send("PATCH", path, ["columns": ["amount": 2]])
    let records: JSONValue = [
      ["id": .string(id), "if_match": 1, "columns": ["title": "x"]],
      ["id": .string(second), "if_match": 1, "columns": ["title": "y"]],
    ]
    let each = try rest.send("PATCH", "/v1/tables/items", ["records": records])
    #expect(each.status == 200 && each.statuses == [412, 200])
    #expect(each.results[0]["problem"]?["record"]?["columns"]?["amount"] == 2)
    let all = try rest.send("PATCH", "/v1/tables/items", ["records": records, "atomic": true])
    #expect(all.status == 412 && all.code == "precondition-failed")
    #expect(all.json["errors"]?.elements?.map { $0["index"] } == [0])
    #expect(try rest.get("/v1/tables/items/\(second)").rev == 2)
  }
}
