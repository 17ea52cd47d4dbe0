import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import ServerScenes
import Testing

/// Every wrong request of REST has its problem, and writes nothing.
@Suite struct RestBadInputTests {
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

  private func expectUntouched() throws {
    try alice.pull()
    #expect(alice.all("lists") == [["title": "Groceries", "note": .null]])
    #expect(alice.all("items").isEmpty)
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "bodies of a wrong form are refused whole",
    arguments: [
      ("POST", "items", "", "malformed-json"), ("POST", "items", "{", "malformed-json"),
      ("POST", "items", #"{"columns":{},"columns":{}}"#, "malformed-json"),
      ("POST", "items", #"{"columns":{"title":"a","title":"b"}}"#, "malformed-json"),
      ("POST", "items", #"{"columns":{"title":"\ud800"}}"#, "malformed-json"),
      ("POST", "items", #"{"columns":{}} x"#, "malformed-json"), ("POST", "items", "[]", "invalid-request"),
      ("POST", "items", "5", "invalid-request"), ("POST", "items", #"{"records":5}"#, "invalid-request"),
      ("POST", "items", #"{"records":{}}"#, "invalid-request"),
      ("POST", "items", #"{"records":[],"atomic":1}"#, "invalid-request"),
      ("POST", "items", #"{"records":[],"columns":{}}"#, "invalid-request"),
      ("POST", "items", #"{"records":[],"operations":[]}"#, "invalid-request"),
      ("PATCH", "items", "{}", "invalid-request"),
      ("PATCH", "items", #"{"operations":[]}"#, "invalid-request"),
      ("PATCH", "items", #"{"columns":{}}"#, "invalid-request"),
      ("DELETE", "items", "", "invalid-request"), ("BATCH", "", "{}", "invalid-request"),
      ("BATCH", "", #"{"records":[]}"#, "invalid-request"),
      ("BATCH", "", #"{"operations":[],"what":1}"#, "invalid-request"),
    ])
  func bodies(_ method: String, _ table: String, _ body: String, _ code: String) throws {
    let reply =
      method == "BATCH"
      ? try rest.send("POST", "/v1/batch", text: body)
      : try rest.send(method, "/v1/tables/\(table)", text: body)
    #expect(reply.status == 400 && reply.code == code)
    #expect(reply.headers["Content-Type"] == "application/problem+json")
    try expectUntouched()
  }

  @Test(
    "items that are wrong are refused by what is wrong with them",
    arguments: [
      (#"{}"#, "invalid-operation"), (#"{"columns":5}"#, "invalid-operation"),
      (#"{"columns":{"title":"x"}}"#, "value-missing"),
      (#"{"columns":{"list_id":"LIST","title":5}}"#, "invalid-value"),
      (#"{"columns":{"list_id":"LIST","title":null}}"#, "value-missing"),
      (#"{"columns":{"list_id":"LIST","title":"\u0000"}}"#, "invalid-value"),
      (#"{"columns":{"list_id":"LIST","title":"x","done":1}}"#, "invalid-value"),
      (#"{"columns":{"list_id":"LIST","title":"x","done":null}}"#, "value-missing"),
      (#"{"columns":{"list_id":"LIST","title":"x","amount":11}}"#, "invalid-value"),
      (#"{"columns":{"list_id":"LIST","title":"x","amount":1.5}}"#, "invalid-value"),
      (#"{"columns":{"list_id":"LIST","title":"x","amount":1e999}}"#, "invalid-value"),
      (#"{"columns":{"list_id":"LIST","title":"x","color":"red"}}"#, "unknown-column"),
      (#"{"columns":{"list_id":"LIST","title":"x","zone":"LIST"}}"#, "unknown-column"),
      (#"{"columns":{"list_id":"","title":"x"}}"#, "invalid-id"),
      (#"{"columns":{"list_id":"a\u0000b","title":"x"}}"#, "invalid-id"),
      (#"{"columns":{"list_id":"elsewhere","title":"x"}}"#, "reference-missing"),
      (#"{"id":"1","columns":{"list_id":"LIST","title":"x"}}"#, "invalid-id"),
      (#"{"id":5,"columns":{"list_id":"LIST","title":"x"}}"#, "invalid-operation"),
      (#"{"id":null,"columns":{"list_id":"LIST","title":"x"}}"#, "invalid-operation"),
      (#"{"rev":1,"columns":{"list_id":"LIST","title":"x"}}"#, "invalid-operation"),
      (#"{"zone":"LIST","columns":{"list_id":"LIST","title":"x"}}"#, "invalid-operation"),
      (#"{"what":1,"columns":{"list_id":"LIST","title":"x"}}"#, "invalid-operation"),
    ])
  func items(_ text: String, _ code: String) throws {
    let body = text.replacing("LIST", with: list)
    let reply = try rest.send("POST", "/v1/tables/items", text: body)
    #expect(reply.status == 422 && reply.code == code)
    let bulk = try rest.send("POST", "/v1/tables/items", text: #"{"records":[\#(body)]}"#)
    #expect(bulk.status == 200 && bulk.results.first?["problem"]?["code"]?.stringValue == code)
    try expectUntouched()
  }

  @Test(
    "operations of a batch that are wrong are named",
    arguments: [
      (#"{"op":"merge","table":"lists"}"#, "invalid-operation"), (#"{"table":"lists"}"#, "invalid-operation"),
      (#"{"op":"delete","table":"lists"}"#, "invalid-operation"),
      (#"{"op":"delete","id":"x"}"#, "invalid-operation"),
      (#"{"op":"delete","table":"what","id":"x"}"#, "unknown-table"),
      (#"{"op":"delete","table":"conflicts","id":"x"}"#, "read-only-table"),
      (#"{"op":"delete","table":"lists","id":""}"#, "invalid-id"),
      (#"{"op":"delete","table":"lists","id":"a\u0000"}"#, "invalid-id"),
      (#"{"op":"delete","table":"lists","id":"x","columns":{}}"#, "invalid-operation"),
      (#"{"op":"delete","table":"lists","id":"x","rev":-1}"#, "invalid-operation"),
      (#"{"op":"delete","table":"lists","id":"x","rev":1.5}"#, "invalid-operation"),
      (#"{"op":"delete","table":"lists","id":"x","rev":99999999999999999999}"#, "invalid-operation"),
      (#"{"op":"delete","table":"lists","id":"x","if_match":true}"#, "invalid-operation"),
      (#"{"op":"create","table":"lists","if_match":1,"columns":{"title":"x"}}"#, "invalid-operation"),
      (#"{"op":"update","table":"lists","id":"x"}"#, "invalid-operation"),
      (#"{"op":"update","table":"members","id":"x","zone":"y","columns":{}}"#, "invalid-operation"),
      (#"{"op":"create","table":"members","columns":{"name":"alice","role":"owner"}}"#, "value-missing"),
      (
        #"{"op":"create","table":"members","zone":"\u0000","columns":{"name":"alice","role":"owner"}}"#,
        "invalid-id"
      ),
      (
        #"{"op":"create","table":"members","zone":"x","columns":{"name":"alice","role":"king"}}"#,
        "invalid-value"
      ),
      (#"{"op":"restore","table":"lists","id":"x","rev":1,"columns":{"title":"x"}}"#, "invalid-operation"),
      ("5", "invalid-operation"),
    ])
  func operations(_ text: String, _ code: String) throws {
    let reply = try rest.send("POST", "/v1/batch", text: #"{"operations":[\#(text)]}"#)
    #expect(reply.status == 422 && reply.code == "batch-refused")
    #expect(reply.json["errors"]?.elements?.first?["problem"]?["code"]?.stringValue == code)
    try expectUntouched()
  }

  @Test(
    "addresses that are none, and methods that they have not",
    arguments: [
      ("GET", "/v1/tables", 404), ("GET", "/v1/tables/", 404), ("POST", "/v1/tables/nothing", 404),
      ("GET", "/v1/tables/lists/", 404), ("GET", "/v1/tables/lists/x/y", 404),
      ("POST", "/v1/tables/lists/x/restore/y", 404), ("POST", "/v1/tables/lists/x", 405),
      ("PUT", "/v1/tables/lists", 405), ("GET", "/v1/tables/lists/x/restore", 405), ("GET", "/v1/batch", 405),
      ("PATCH", "/v1/tables/lists/%ZZ", 404),
    ])
  func addresses(_ method: String, _ path: String, _ status: Int) throws {
    let reply = try rest.send(method, path, ["columns": [:]])
    #expect(reply.status == status)
    if status == 405 { #expect(reply.headers["Allow"] != nil) }
    if path.contains("nothing") { #expect(reply.json["detail"]?.stringValue?.contains("nothing") == true) }
  }

  @Test("a write takes no parameters but a deletion of many: one elsewhere would be missed")
  func parameters() throws {
    let path = "/v1/tables/lists/\(list)"
    let title: JSONValue = ["columns": ["title": "Tools"]]
    for (method, target, body) in [
      ("DELETE", path + "?rev=1", nil), ("PATCH", path + "?rev=1", title), ("PUT", path + "?x=1", title),
      ("POST", "/v1/tables/lists?atomic=true", title), ("POST", "/v1/batch?atomic=false", ["operations": []]),
    ] {
      #expect(try rest.send(method, target, body).code == "invalid-request", "\(method) \(target)")
    }
    try expectUntouched()
  }

  @Test("a body that is no JSON by its type is refused; a merge patch is one, of PATCH alone")
  func types() throws {
    let path = "/v1/tables/lists/\(list)"
    let body: JSONValue = ["columns": ["title": "Groceries"]]
    func status(_ method: String, _ type: String) throws -> Int {
      try rest.send(method, path, body, ["Content-Type": type]).status
    }
    #expect(try status("PATCH", "application/merge-patch+json; charset=utf-8") == 200)
    #expect(try status("PATCH", "Application/JSON") == 200)
    #expect(try status("PUT", "application/merge-patch+json") == 415)
    #expect(try status("PATCH", "text/plain") == 415)
    #expect(try status("PATCH", "") == 415)
    try expectUntouched()
  }

  @Test("ids of any size and bytes are answered, and harm nothing")
  func ids() throws {
    for id in ["%00", "a%00b", String(repeating: "%C3%A4", count: 33), "..", "%2F", "%27%3B--"] {
      let path = "/v1/tables/lists/\(id)"
      #expect(try rest.get(path).status == 404, "\(id)")
      let patched = try rest.send("PATCH", path, ["columns": ["title": "x"]])
      let isPossible = ["..", "%2F", "%27%3B--"].contains(id)
      #expect(patched.status == (isPossible ? 404 : 422), "\(id)")
      #expect(try rest.send("DELETE", path).status == (isPossible ? 204 : 422), "\(id)")
      #expect(try rest.send("DELETE", "/v1/tables/lists?ids=\(id)").statuses == [isPossible ? 204 : 422])
    }
    try expectUntouched()
  }
}
