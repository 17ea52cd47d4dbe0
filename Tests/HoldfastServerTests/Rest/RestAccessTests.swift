import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import ServerScenes
import Testing

/// REST shows and changes nothing that its user may not (I10).
@Suite struct RestAccessTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  let rest: RestClient
  let stranger: RestClient
  let list: String
  let item: String

  init() throws {
    server = try TestServer(RestSchema.make())
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    rest = RestClient(alice)
    stranger = RestClient(bob)
    list = try rest.create("lists", ["title": "Groceries"])
    item = try rest.create("items", ["list_id": .string(list), "title": "Milk"])
  }

  /// The answer, without what it says of the id itself.
  private func shape(_ reply: RestClient.Reply, _ id: String) -> String {
    "\(reply.status) " + String(decoding: reply.body, as: UTF8.self).replacing(id, with: "ID")
  }

  @Test("a record of a stranger is answered as one that is not there: live, deleted, in bulk (I10)")
  func strangers() throws {
    let gone = try rest.create("items", ["list_id": .string(list), "title": "Gone"])
    try rest.send("DELETE", "/v1/tables/items/\(gone)")
    let before = try rest.get("/v1/tables/items?ids=\(item),\(gone)").body
    let none = bob.newID()
    let own = try stranger.create("lists", ["title": "Own"])
    func ask(_ id: String) throws -> [String] {
      let path = "/v1/tables/items/\(id)"
      let whole: JSONValue = ["columns": ["list_id": .string(own), "title": "x"]]
      let one = JSONValue.string(id)
      return [
        shape(try stranger.get(path), id), shape(try stranger.get("/v1/tables/items?ids=\(id)"), id),
        shape(try stranger.send("PATCH", path, ["columns": ["title": "x"]]), id),
        shape(try stranger.send("PATCH", path, ["columns": ["title": "x"]], ["If-Match": "\"9\""]), id),
        shape(try stranger.send("PUT", path, whole, ["If-Match": "*"]), id),
        shape(try stranger.send("DELETE", path), id),
        shape(try stranger.send("DELETE", path, nil, ["If-Match": "\"1\""]), id),
        shape(try stranger.send("POST", path + "/restore", whole), id),
        shape(try stranger.send("DELETE", "/v1/tables/items?ids=\(id)"), id),
        shape(
          try stranger.batch([["op": "update", "table": "items", "id": one, "columns": ["title": "x"]]]), id),
      ]
    }
    let expected = try ask(none)
    #expect(expected[0].hasPrefix("404") && expected[5].hasPrefix("204"))
    #expect(try ask(item) == expected)
    #expect(try ask(gone) == expected)
    // An id that is taken can't be taken again, which says that it is; who knows an id has seen it.
    let taken = try stranger.send(
      "PUT", "/v1/tables/items/\(item)", ["columns": ["list_id": .string(own), "title": "x"]])
    #expect(taken.status == 409 && taken.json["record"] == nil)
    #expect(try rest.get("/v1/tables/items?ids=\(item),\(gone)").body == before)
  }

  @Test("roles: a viewer reads, an editor writes, an owner shares; who lost the zone is a stranger (I10)")
  func roles() throws {
    func share(_ role: String) throws -> RestClient.Reply {
      try rest.send(
        "POST", "/v1/tables/members",
        ["zone": .string(list), "columns": ["name": "bob", "role": .string(role)]])
    }
    let path = "/v1/tables/items/\(item)"
    let member = try share("viewer").id
    try server.accept(member, by: "bob")
    let membership = "/v1/tables/members/\(member)"
    let add: JSONValue = ["columns": ["list_id": .string(list), "title": "Tea"]]
    #expect(try stranger.get(path).status == 200)
    for reply in [
      try stranger.send("PATCH", path, ["columns": ["title": "x"]]), try stranger.send("DELETE", path),
      try stranger.send("PUT", path, add), try stranger.send("POST", "/v1/tables/items", add),
      try stranger.send("PATCH", membership, ["columns": ["role": "owner"]]),
    ] {
      #expect(reply.status == 403 && reply.code == "role-insufficient")
    }
    let mixed = try stranger.batch([["op": "delete", "table": "items", "id": .string(item)]])
    #expect(mixed.json["errors"]?.elements?.first?["problem"]?["code"] == "role-insufficient")
    try rest.send("PATCH", membership, ["columns": ["role": "editor"]])
    #expect(try stranger.send("PATCH", path, ["columns": ["title": "x"]]).status == 200)
    #expect(try stranger.send("PATCH", membership, ["columns": ["role": "owner"]]).status == 403)
    try rest.send("DELETE", membership)
    #expect(try stranger.get(path).status == 404)
    #expect(try stranger.send("DELETE", path).status == 204)
    #expect(try rest.get(path).status == 200)
    let own = try rest.get("/v1/tables/members/\(membership.split(separator: "/").last ?? "")")
    #expect(own.status == 410)
  }

  @Test("a repeated request shows nothing of a zone that was lost, and no record that has a value (I10)")
  func replays() throws {
    let member = try rest.send(
      "POST", "/v1/tables/members", ["zone": .string(list), "columns": ["name": "bob", "role": "owner"]]
    ).id
    try server.accept(member, by: "bob")
    let path = "/v1/tables/items/\(item)"
    let again: JSONValue = ["zone": .string(list), "columns": ["name": "alice", "role": "viewer"]]
    let requests: [(String, String, JSONValue?, Int)] = [
      ("PATCH", path, ["columns": ["title": "x"]], 200), ("POST", "/v1/tables/members", again, 409),
      ("DELETE", path, nil, 200), ("PATCH", path, ["columns": ["title": "y"]], 410),
    ]
    for (index, (method, target, body, status)) in requests.enumerated() {
      #expect(try stranger.send(method, target, body, id: "r\(index)").status == status)
    }
    try rest.send("DELETE", "/v1/tables/members/\(member)")
    for (index, (method, target, body, _)) in requests.enumerated() {
      let reply = try stranger.send(method, target, body, id: "r\(index)")
      let text = String(decoding: reply.body, as: UTF8.self)
      #expect(reply.isReplay && !text.contains("\"zone\"") && reply.json["record"] == nil, "\(text)")
    }
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "of a repeated request only the items of a lost zone are answered otherwise: a refusal stays one (I1, I10)"
  )
  func mixedReplay() throws {
    let member = try rest.send(
      "POST", "/v1/tables/members", ["zone": .string(list), "columns": ["name": "bob", "role": "editor"]]
    ).id
    try server.accept(member, by: "bob")
    let own = try stranger.create("lists", ["title": "Own"])
    let mine = try stranger.create("items", ["list_id": .string(own), "title": "Tea"])
    let patches: JSONValue = [
      "records": [
        ["id": .string(mine), "if_match": 9, "columns": ["title": "never"]],
        ["id": .string(mine), "columns": ["title": "Coffee"]],
        ["id": .string(item), "columns": ["title": "Oat milk"]],
      ]
    ]
    let batch: JSONValue = [
      "atomic": true,
      "operations": [
        ["op": "update", "table": "items", "id": .string(item), "if_match": 9, "columns": ["title": "never"]]
      ],
    ]
    #expect(try stranger.send("PATCH", "/v1/tables/items", patches, id: "each").statuses == [412, 200, 200])
    #expect(try stranger.send("POST", "/v1/batch", batch, id: "all").status == 412)
    let one = ("PATCH", "/v1/tables/items/\(item)", ["columns": ["title": "never"]] as JSONValue)
    #expect(
      try stranger.send(one.0, one.1, one.2, ["If-Match": "\"9\"", "X-Client-Request-ID": "one"]).status
        == 412)
    try rest.send("DELETE", "/v1/tables/members/\(member)")

    let each = try stranger.send("PATCH", "/v1/tables/items", patches, id: "each")
    #expect(each.isReplay && each.statuses == [412, 200, 404])
    #expect(each.results[1]["record"] != nil && each.results[2]["record"] == nil)
    for reply in [
      try stranger.send("POST", "/v1/batch", batch, id: "all"),
      try stranger.send(one.0, one.1, one.2, ["If-Match": "\"9\"", "X-Client-Request-ID": "one"]),
    ] {
      let text = String(decoding: reply.body, as: UTF8.self)
      #expect(reply.isReplay && reply.status == 412 && !text.contains("\"zone\""), "\(text)")
    }
    #expect(try rest.get("/v1/tables/items/\(item)").column("title") == "Oat milk")
  }

  @Test("everybody reads a public zone, and nobody without a role writes it (I10)")
  func publicZone() throws {
    try server.change(
      sqlite: "UPDATE holdfast_zones SET public = 1 WHERE zone = '\(list)'",
      postgres: "UPDATE holdfast.zones SET public = true WHERE zone = '\(list)'")
    let path = "/v1/tables/items/\(item)"
    #expect(try stranger.get(path).status == 200)
    #expect(try stranger.send("PATCH", path, ["columns": ["title": "x"]]).status == 403)
    #expect(try stranger.send("POST", "/v1/tables/products", ["columns": ["name": "x"]]).status == 403)
  }

  @Test("a token that is missing, wrong or dead gets 401, before anything else is said")
  func tokens() throws {
    let path = "/v1/tables/items/\(item)"
    for method in ["GET", "PATCH", "PUT", "DELETE"] {
      var request = rest.request(method, path, method == "GET" ? nil : ["columns": [:]])
      request.headers = HTTPHeaders()
      request.headers.append(name: "Content-Type", value: "application/json")
      #expect(RestClient.Reply(try server.respond(to: request)).code == "token-missing")
      request.headers.append(name: "Authorization", value: "Bearer nothing")
      request.body = Array("{".utf8)
      let reply = RestClient.Reply(try server.respond(to: request))
      #expect(reply.code == "token-invalid" && reply.headers["WWW-Authenticate"] == "Bearer")
    }
    try rest.send("DELETE", "/v1/sessions/current")
    #expect(try rest.send("DELETE", path, nil, id: "x").code == "token-invalid")
    #expect(try rest.get(path).code == "token-invalid")
  }
}
