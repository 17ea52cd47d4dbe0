import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import ServerScenes
import Testing

/// The rows of PROTOCOL.md, section 9.2, that concern one record.
@Suite struct RecordAddressTests {
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

  @Test("a created record is answered whole, with its place and its tag, and devices get it (I6)")
  func create() throws {
    let reply = try rest.send(
      "POST", "/v1/tables/items", ["columns": ["list_id": .string(list), "title": "Milk"]])
    #expect(reply.status == 201)
    #expect(reply.headers["Location"] == "/v1/tables/items/\(reply.id)")
    #expect(reply.headers["ETag"] == "\"1\"")
    #expect(reply.headers["Content-Type"] == "application/json")
    #expect(Identifier.isValid(reply.id))
    #expect(reply.json["table"] == "items" && reply.json["zone"] == .string(list) && reply.rev == 1)
    #expect(reply.json["created_by_request_id"] == nil)
    #expect(reply.column("done") == false && reply.column("amount") == .null)
    try alice.pull()
    #expect(alice.records["items \(reply.id)"]?.columns == reply.json["columns"])
    #expect(try rest.get("/v1/tables/items/\(reply.id)").body == reply.body)
    #expect(try server.findings().isEmpty)
  }

  @Test("a POST with the id of a live record is 409, of a deleted one 410, and changes neither (I8)")
  func createAgain() throws {
    let id = alice.newID()
    let body: JSONValue = ["id": .string(id), "columns": ["list_id": .string(list), "title": "Milk"]]
    let other: JSONValue = ["id": .string(id), "columns": ["list_id": .string(list), "title": "Tea"]]
    #expect(try rest.send("POST", "/v1/tables/items", body).id == id)
    #expect(try rest.send("POST", "/v1/tables/items", other).code == "record-exists")
    #expect(try rest.get("/v1/tables/items/\(id)").column("title") == "Milk")
    try rest.send("DELETE", "/v1/tables/items/\(id)")
    let gone = try rest.send("POST", "/v1/tables/items", body)
    #expect(gone.status == 410 && gone.code == "record-deleted" && gone.rev == 2)
    #expect(gone.json["deleted"] == true)
    #expect(try RestClient.conflicts(alice).isEmpty)
    #expect(!alice.has("items", id))
  }

  @Test("reading: 200 with a tag, 304 for who has it, 410 with the short form, 404")
  func read() throws {
    let path = "/v1/tables/lists/\(list)"
    let reply = try rest.get(path)
    #expect(reply.status == 200 && reply.headers["ETag"] == "\"1\"")
    #expect(reply.headers["Cache-Control"] == "private, no-cache")
    for tag in ["\"1\"", "W/\"1\"", "\"0\", \"1\"", "*"] {
      let known = try rest.get(path, ["If-None-Match": tag])
      #expect(known.status == 304 && known.body.isEmpty && known.headers["ETag"] == "\"1\"")
    }
    #expect(try rest.get(path, ["If-None-Match": "\"2\""]).status == 200)
    #expect(try rest.get(path, ["If-None-Match": "1"]).status == 200)
    #expect(try rest.send("HEAD", path).status == 200)
    let deleted = try rest.send("DELETE", path)
    #expect(deleted.status == 200 && deleted.rev == 2 && deleted.json["columns"] == nil)
    let gone = try rest.get(path)
    #expect(gone.status == 410 && gone.code == "record-deleted")
    for member in ["table", "id", "zone", "rev", "seq", "deleted", "deleted_at"] {
      #expect(gone.json[member] == deleted.json[member], "\(member)")
    }
    #expect(gone.headers["Content-Type"] == "application/problem+json")
    #expect(try rest.get("/v1/tables/lists/\(alice.newID())").code == "record-unknown")
    #expect(try rest.get("/v1/tables/lists/%00").status == 404)
    #expect(try rest.get("/v1/tables/lists/\(String(repeating: "x", count: 4000))").status == 404)
  }

  @Test("records by their ids come in the order asked, each with its status")
  func readMany() throws {
    let gone = try rest.create("lists", ["title": "Gone"])
    try rest.send("DELETE", "/v1/tables/lists/\(gone)")
    let none = alice.newID()
    let path = "/v1/tables/lists?ids=\(none),\(list),\(gone),\(list),a%2Cb,%00"
    let reply = try rest.get(path)
    #expect(reply.status == 200 && reply.statuses == [404, 200, 410, 200, 404, 404])
    #expect(reply.results[1]["record"]?["columns"]?["title"] == "Groceries")
    #expect(reply.results[2]["problem"]?["rev"] == 2)
    let tag = try #require(reply.headers["ETag"])
    #expect(try rest.get(path, ["If-None-Match": tag]).status == 304)
    try rest.send("PATCH", "/v1/tables/lists/\(list)", ["columns": ["title": "Other"]])
    #expect(try rest.get(path, ["If-None-Match": tag]).status == 200)
    for query in [
      "?ids=", "?ids=%GG", "?ids=" + [String](repeating: "a", count: 201).joined(separator: ","),
    ] {
      #expect(try rest.get("/v1/tables/lists" + query).code == "invalid-request", "\(query)")
    }
  }

  @Test("PATCH is a merge patch: what is missing stays, null empties, JSON is merged by its members")
  func patch() throws {
    let id = try rest.create(
      "items",
      [
        "list_id": .string(list), "title": "Milk", "note": "fresh", "amount": 2,
        "extra": ["a": 1, "b": ["c": 1.50, "d": 2], "e": [1]],
      ])
    let path = "/v1/tables/items/\(id)"
    let reply = try rest.send(
      "PATCH", path,
      [
        "columns": [
          "note": .null, "extra": ["a": .null, "b": ["c": 2, "f": .null], "e": [], "g": ["h": .null]],
        ]
      ],
      ["Content-Type": "application/merge-patch+json"])
    #expect(reply.status == 200 && reply.rev == 2 && reply.headers["ETag"] == "\"2\"")
    #expect(reply.column("note") == .null && reply.column("amount") == 2 && reply.column("title") == "Milk")
    #expect(reply.column("extra") == ["b": ["c": 2, "d": 2], "e": [], "g": [:]])
    // Nothing new: no new rev.
    #expect(try rest.send("PATCH", path, ["columns": ["note": .null]]).rev == 2)
    #expect(try rest.send("PATCH", path, ["columns": ["extra": [1]]]).column("extra") == [1])
    #expect(try rest.send("PATCH", path, ["columns": ["extra": ["x": 1]]]).column("extra") == ["x": 1])
    #expect(try rest.send("PATCH", path, ["columns": ["extra": .null]]).column("extra") == .null)
    let unknown = try rest.send("PATCH", "/v1/tables/items/\(alice.newID())", ["columns": ["title": "x"]])
    #expect(unknown.status == 404 && unknown.code == "record-unknown")
    #expect(try RestClient.conflicts(alice).isEmpty)
  }

  @Test("a merged value is held to the limits of its column, and then nothing is changed")
  func patchedTooLong() throws {
    let half = JSONValue.string(String(repeating: "x", count: 60_000))
    let id = try rest.create("items", ["list_id": .string(list), "title": "Milk", "extra": ["a": half]])
    let reply = try rest.send(
      "PATCH", "/v1/tables/items/\(id)", ["columns": ["title": "Tea", "extra": ["b": half]]])
    #expect(reply.status == 422 && reply.code == "value-too-long")
    #expect(try rest.get("/v1/tables/items/\(id)").column("title") == "Milk")
  }

  @Test("PUT makes a record, or replaces all of one")
  func put() throws {
    let id = alice.newID()
    let path = "/v1/tables/items/\(id)"
    let made = try rest.send(
      "PUT", path, ["columns": ["list_id": .string(list), "title": "Milk", "note": "x", "extra": ["a": 1]]])
    #expect(made.status == 201 && made.rev == 1 && made.headers["Location"] == path)
    let replaced = try rest.send(
      "PUT", path, ["columns": ["list_id": .string(list), "title": "Tea", "extra": ["b": 1]]])
    #expect(replaced.status == 200 && replaced.rev == 2 && replaced.headers["Location"] == nil)
    #expect(replaced.column("note") == .null && replaced.column("extra") == ["b": 1])
    #expect(replaced.column("done") == false)
    #expect(try rest.send("PUT", path, ["columns": ["title": "Tea"]]).code == "value-missing")
    let name = try rest.send(
      "PUT", "/v1/tables/items/one", ["columns": ["list_id": .string(list), "title": "x"]])
    #expect(name.status == 422 && name.code == "invalid-id")
  }

  @Test("what is written to a deleted record is answered 410, and kept in the conflict log (I3, I8)")
  func writeDeleted() throws {
    let id = try rest.create("items", ["list_id": .string(list), "title": "Milk", "note": "n"])
    let path = "/v1/tables/items/\(id)"
    try rest.send("DELETE", path)
    let patched = try rest.send("PATCH", path, ["columns": ["title": "Tea"]])
    #expect(patched.status == 410 && patched.rev == 2 && patched.json["deleted"] == true)
    #expect(patched.json["seq"] == (try rest.get(path)).json["seq"])
    let put = try rest.send("PUT", path, ["columns": ["list_id": .string(list), "title": "Coffee"]])
    #expect(put.status == 410)
    let logged = try RestClient.conflicts(alice)
    let titles = logged.filter { $0["column_name"] == "title" }.compactMap { $0["loser_value"]?.stringValue }
    #expect(titles.sorted() == ["Coffee", "Tea"])
    #expect(logged.allSatisfy { $0["policy"] == "delete" && $0["loser_value"] != .null })
    #expect(!alice.has("items", id))
    #expect(try server.findings().isEmpty)
  }

  @Test("DELETE always succeeds, and takes the children along (I9)")
  func delete() throws {
    let id = try rest.create("items", ["list_id": .string(list), "title": "Milk"])
    let path = "/v1/tables/lists/\(list)"
    #expect(try rest.send("DELETE", path).status == 200)
    #expect(try rest.get("/v1/tables/items/\(id)").status == 410)
    let again = try rest.send("DELETE", path)
    #expect(again.status == 200 && again.rev == 2)
    let none = try rest.send("DELETE", "/v1/tables/lists/\(alice.newID())")
    #expect(none.status == 204 && none.body.isEmpty)
    #expect(try RestClient.conflicts(alice).isEmpty)
  }

  @Test(
    "a restored record lives with the rev of its short form + 1, also when its device never saw the deletion (I8)"
  )
  func restore() throws {
    let other = RestClient(try server.signIn("alice"))
    let id = try rest.create("items", ["list_id": .string(list), "title": "Milk"])
    let path = "/v1/tables/items/\(id)"
    let body: JSONValue = ["columns": ["list_id": .string(list), "title": "Again"]]
    #expect(try other.send("POST", path + "/restore", body).code == "record-exists")
    try rest.send("DELETE", path)
    let restored = try other.send("POST", path + "/restore", body)
    #expect(restored.status == 200 && restored.rev == 3 && restored.headers["ETag"] == "\"3\"")
    #expect(try rest.get(path).column("title") == "Again")
    try alice.pull()
    #expect(alice.column("items", id, "title") == "Again")
    #expect(try other.send("POST", path + "/restore", body).status == 409)
    #expect(try other.send("POST", "/v1/tables/items/\(alice.newID())/restore", body).status == 404)
    // Its parent is gone: it can't come back there.
    try rest.send("DELETE", "/v1/tables/lists/\(list)")
    #expect(try other.send("POST", path + "/restore", body).code == "reference-missing")
    let root = try other.send("POST", "/v1/tables/lists/\(list)/restore", ["columns": ["title": "Back"]])
    #expect(root.status == 200 && root.rev == 3)
    #expect(try other.send("POST", path + "/restore", body).rev == 5)
    #expect(try server.findings().isEmpty)
  }

  @Test("a record that is restored in another zone leaves its old one (I7)")
  func restoreElsewhere() throws {
    let other = try rest.create("lists", ["title": "Other"])
    let id = try rest.create("items", ["list_id": .string(list), "title": "Milk"])
    try rest.send("DELETE", "/v1/tables/items/\(id)")
    let reply = try rest.send(
      "POST", "/v1/tables/items/\(id)/restore", ["columns": ["list_id": .string(other), "title": "Milk"]])
    #expect(reply.status == 200 && reply.json["zone"] == .string(other))
    try alice.pull()
    #expect(alice.records["items \(id)"]?.zone == other)
    #expect(try server.findings().isEmpty)
  }

  @Test("members are records: shared, changed, left and restored over REST (I10)")
  func members() throws {
    let bob = try server.signUp("bob")
    let share = try rest.send(
      "POST", "/v1/tables/members", ["zone": .string(list), "columns": ["name": "bob", "role": "viewer"]])
    #expect(share.status == 201 && share.json["zone"] == .string(list) && share.column("name") == "bob")
    try server.accept(share.id, by: "bob")
    let path = "/v1/tables/members/\(share.id)"
    let seen = RestClient(bob)
    #expect(try seen.get("/v1/tables/lists/\(list)").status == 200)
    #expect(try seen.send("PATCH", "/v1/tables/lists/\(list)", ["columns": ["title": "x"]]).status == 403)
    #expect(try rest.send("PATCH", path, ["columns": ["role": "editor"]]).column("role") == "editor")
    #expect(try seen.send("PATCH", "/v1/tables/lists/\(list)", ["columns": ["title": "x"]]).status == 200)
    #expect(
      try rest.send("PUT", path, ["zone": "elsewhere", "columns": ["role": "viewer"]]).code
        == "invalid-operation")
    let put = try rest.send("PUT", path, ["zone": .string(list), "columns": ["role": "viewer"]])
    #expect(put.status == 200 && put.column("name") == "bob")
    let left = try seen.send("DELETE", path)
    #expect(left.status == 200 && left.json["deleted"] == true)
    #expect(try seen.get(path).status == 404)
    #expect(try seen.get("/v1/tables/lists/\(list)").status == 404)
    let back = try rest.send("POST", path + "/restore", ["columns": ["name": "bob", "role": "owner"]])
    #expect(back.status == 200 && back.rev == 6)
    // They share no zone any more.
    #expect(try seen.get("/v1/tables/lists/\(list)").status == 404)
    try server.accept(share.id, by: "bob")
    #expect(try seen.get("/v1/tables/lists/\(list)").status == 200)
  }

  @Test("a device hears of what REST wrote with its own token, and its sync brings it")
  func told() throws {
    try alice.pull()
    let inline = try #require(server.inline)
    guard
      case .success = inline.open(TestServer.request("GET", "/v1/events", [], token: alice.token), stream: 1)
    else {
      Issue.record("No stream.")
      return
    }
    _ = inline.takeEvents()
    let id = try rest.create("items", ["list_id": .string(list), "title": "Milk"])
    #expect(inline.takeEvents().contains { String(decoding: $0.bytes, as: UTF8.self).contains(list) })
    try alice.pull()
    #expect(alice.has("items", id))
  }
}
