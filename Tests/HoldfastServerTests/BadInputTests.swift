import Foundation
import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import ServerScenes
import Testing

/// Every wrong input has its problem, and writes nothing.
@Suite struct BadInputTests {
  let server: TestServer
  let alice: TestDevice
  let list: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    list = try alice.makeList()
    try alice.pull()
  }

  @Test(
    "a body that can't be understood is refused whole",
    arguments: [
      ("{", ProblemCode.malformedJSON), ("", .malformedJSON),
      (#"{"protocol":1,"protocol":1}"#, .malformedJSON),
      (#"{"protocol":1,"last_server_clock":"now"}"#, .invalidRequest),
      (#"{"protocol":1,"last_server_clock":1}"#, .invalidRequest),
      (#"{"protocol":1} x"#, .malformedJSON), (#"{"protocol":1,"digest":"\ud800"}"#, .malformedJSON),
      (#"{"protocol":1.0}"#, .invalidRequest), (#"{"protocol":1e999}"#, .invalidRequest),
      (#"{"protocol":99999999999999999999}"#, .invalidRequest), (#"{"protocol":01}"#, .malformedJSON),
      (#"{"protocol":1.0,}"#, .malformedJSON),
      ("[]", .invalidRequest), (#"{"protocol":"1"}"#, .invalidRequest), (#"{}"#, .invalidRequest),
      (#"{"protocol":1,"first":0}"#, .invalidRequest), (#"{"protocol":1,"chain":"x"}"#, .invalidRequest),
      (#"{"protocol":1,"change_sets":[[]]}"#, .invalidRequest),
      (#"{"protocol":1,"what":1}"#, .invalidRequest),
      (#"{"protocol":2}"#, .protocolUnsupported),
      (#"{"protocol":1,"acks":{"a":"b"}}"#, .invalidRequest),
      (#"{"protocol":1,"acks":{"":""}}"#, .invalidRequest),
    ])
  func bodies(_ body: String, _ code: ProblemCode) throws {
    let answer = try server.post("/v1/sync", bytes: Array(body.utf8), token: alice.token)
    #expect(Problem(document: answer.body)?.code == code)
    #expect(answer.status == 400)
    #expect(answer.headers.contains { $0.name == "Content-Type" && $0.value == "application/problem+json" })
    #expect(try alice.sync().confirmed == 1)
  }

  @Test("a number of another kind than the one asked for is no invalid JSON")
  func numbers() throws {
    let rest = RestClient(alice)
    for (number, code) in [
      ("1.5", "invalid-request"), ("1e999", "invalid-request"), ("1.", "malformed-json"),
    ] {
      let text = #"{"role":"editor","uses":1,"expires_in":\#(number)}"#
      let reply = try rest.send("POST", "/v1/zones/\(list)/invitations", text: text)
      #expect(reply.status == 400 && reply.code == code)
    }
  }

  @Test("an operation that is wrong is refused by what is wrong with it (I12)")
  func operations() throws {
    let item = alice.newID()
    func create(_ table: String, _ id: String, _ columns: JSONValue) throws -> ProblemCode {
      try alice.refused(.create(table, id, columns)).code
    }
    func columns(_ more: JSONValue.Member...) -> JSONValue {
      .object([.init("list_id", .string(list)), .init("title", "x")] + more)
    }
    #expect(try create("nothing", item, [:]) == .unknownTable)
    #expect(try create("conflicts", item, [:]) == .readOnlyTable)
    #expect(try create("items", item, columns(.init("color", "red"))) == .unknownColumn)
    #expect(try create("items", item, columns(.init("done", "yes"))) == .invalidValue)
    #expect(try create("items", item, columns(.init("amount", 11))) == .invalidValue)
    #expect(try create("items", item, ["list_id": .string(list)]) == .valueMissing)
    #expect(try create("items", item, ["list_id": "", "title": "x"]) == .invalidID)
    #expect(try create("items", "1", columns()) == .invalidID)
    #expect(try create("members", item, ["zone": "a\u{0}", "name": "alice", "role": "owner"]) == .invalidID)
    #expect(try create("items", "01939D0C-0000-7000-8000-000000000001", columns()) == .invalidID)
    #expect(
      try create("lists", alice.newID(), ["title": .string(String(repeating: "x", count: 21))])
        == .valueTooLong)
    #expect(try create("lists", alice.newID(), ["title": "a\u{0}b"]) == .invalidValue)
    #expect(try alice.refused(Sent(json: ["op": "replace"])).code == .invalidOperation)
    #expect(try alice.refused(Sent(json: "x")).code == .invalidOperation)
    #expect(try server.findings().isEmpty)
  }

  @Test("the id of a record that somebody else has can't be taken (I10)")
  func foreignID() throws {
    let bob = try server.signUp("bob")
    #expect(try bob.refused(.create("lists", list, ["title": "Mine"])).code == .recordExists)
    #expect(try bob.refused(.create("lists", alice.user, ["title": "Mine"])).code == .recordExists)
    try alice.pull()
    #expect(alice.column("lists", list, "title") == "Groceries")
  }

  @Test("without a token, or with a dead one, nothing is read or written (I10)")
  func tokens() throws {
    let body = Array(#"{"protocol":1}"#.utf8)
    let none = try server.post("/v1/sync", bytes: body)
    #expect(Problem(document: none.body)?.code == .tokenMissing)
    let dead = try server.post("/v1/sync", bytes: body, token: "AAAA")
    #expect(Problem(document: dead.body)?.code == .tokenInvalid)
    #expect(dead.headers.contains { $0.name == "WWW-Authenticate" })
    for path in ["/v1/devices", "/v1/sync"] {
      #expect(try server.post(path, bytes: [], token: "").status == 401)
    }
  }

  @Test("other media types, methods and addresses are answered with their problems")
  func addresses() throws {
    var headers = HTTPHeaders()
    headers.append(name: "Content-Type", value: "text/plain")
    let text = try server.respond(to: HTTPRequest(method: "POST", target: "/v1/sessions", headers: headers))
    #expect(Problem(document: text.body)?.code == .unsupportedMediaType)
    #expect(text.headers.contains { $0.name == "Accept" && $0.value == "application/json" })
    #expect(text.headers.contains { $0.name == "Accept-Patch" })
    let put = try server.respond(to: HTTPRequest(method: "PUT", target: "/v1/accounts"))
    #expect(put.status == 405)
    #expect(put.headers.contains { $0.name == "Allow" && $0.value == "POST, OPTIONS" })
    #expect(try server.respond(to: HTTPRequest(target: "/v1/other")).status == 404)
    #expect(try server.respond(to: HTTPRequest(target: "/v1/schema")).body == TestServer.schema().json.bytes)
  }

  @Test("a zero character, which no database keeps, is refused wherever a text is looked up")
  func zeros() throws {
    let device = try server.signUp("nil")
    let bodies: [(String, String)] = [
      ("/v1/sync", #"{"protocol":1,"acks":{"a\u0000b":""}}"#),
      ("/v1/sessions", #"{"name":"n\u0000","password":"correct horse","device":{"name":"d"}}"#),
      ("/v1/sessions", #"{"name":"nil","password":"correct horse","device":{"name":"d","id":"a\u0000"}}"#),
    ]
    for (path, body) in bodies {
      #expect(try server.post(path, bytes: Array(body.utf8), token: device.token).status == 400, "\(body)")
    }
    #expect(try server.findings() == [])
  }

  @Test("the document's table of problems is the code's")
  func problemTable() throws {
    let document = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "../../docs/PROTOCOL.md")
    let text = try String(contentsOf: document.standardizedFileURL, encoding: .utf8)
    #expect(text.contains(ProblemTable.markdown))
  }
}
