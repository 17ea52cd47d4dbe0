import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// What is told first of a request that has several faults, and what a read may insist on, at every address alike.
@Suite("The order in which a request is looked at") struct OrderOfChecksTests {
  private let server: TestServer
  private let alice: TestDevice
  private let list: String
  private let item: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    list = try alice.makeList()
    item = try alice.makeItem(list)
  }

  /// Every address that takes a token, with its methods that have a content or may have one.
  private var addresses: [(method: String, target: String)] {
    [
      ("POST", "/v1/sync"), ("GET", "/v1/devices"), ("POST", "/v1/devices"), ("DELETE", "/v1/devices/x"),
      ("PUT", "/v1/push-token"), ("DELETE", "/v1/push-token"),
      ("DELETE", "/v1/sessions"), ("DELETE", "/v1/sessions/current"), ("DELETE", "/v1/account"),
      ("PUT", "/v1/account/password"), ("GET", "/v1/account/export"), ("GET", "/v1/account/export/items"),
      ("GET", "/v1/events"), ("POST", "/v1/batch"), ("GET", "/v1/zones"), ("GET", "/v1/tables/items"),
      ("POST", "/v1/tables/items"), ("PATCH", "/v1/tables/items"), ("DELETE", "/v1/tables/items"),
      ("GET", "/v1/tables/items/\(item)"), ("PATCH", "/v1/tables/items/\(item)"),
      ("PUT", "/v1/tables/items/\(item)"), ("DELETE", "/v1/tables/items/\(item)"),
      ("POST", "/v1/tables/items/\(item)/restore"), ("GET", "/v1/zones/\(list)/changes"),
      ("GET", "/v1/zones/\(list)/invitations"), ("POST", "/v1/zones/\(list)/invitations"),
      ("DELETE", "/v1/zones/\(list)/invitations/x"), ("GET", "/v1/zones/\(list)/snapshot"),
      ("POST", "/v1/invitations/accept"),
    ]
  }

  private func send(
    _ method: String, _ target: String, _ body: String, _ headers: [(String, String)], token: String
  ) throws -> HTTPResponse {
    var request = TestServer.request(method, target, Array(body.utf8), token: token)
    for (name, value) in headers { request.headers.append(name: name, value: value) }
    return try server.respond(to: request)
  }

  @Test(
    "who sends it comes before whatever is wrong with it, at every address, also with a token of a while ago (I10)"
  )
  func unauthorized() throws {
    let gone = try server.signUp("gone")
    #expect(try send("GET", "/v1/zones", "", [], token: gone.token).status == 200)
    #expect(try send("DELETE", "/v1/sessions/current", "", [], token: gone.token).status == 204)
    for (method, target) in addresses {
      for token in ["", "AAAA", gone.token] {
        for (body, query, headers) in [
          ("", "", []), ("{", "", []), ("[]", "", []), ("{}", "?limit=x&limit=x", []), ("{}", "?x=%zz", []),
          ("{}", "", [("Accept", "text/nothing")]), ("{}", "", [("If-Match", "x")]),
          ("{}", "", [("X-Client-Request-ID", "")]),
        ] as [(String, String, [(String, String)])] {
          let answer = try send(method, target + query, body, headers, token: token)
          #expect(answer.status == 401, "\(method) \(target)\(query) \(body) \(headers)")
        }
      }
    }
  }

  @Test("that a body is no JSON comes before what it lacks, at every address that reads one")
  func malformed() throws {
    let bodies = [
      #"{"protocol":"x","name":5,"columns":5,"records":5,"role":5,"token":5,"#, #"[5,"#, #"5 5"#,
      #"{"a":1,"a":2}"#,
    ]
    let open = [("POST", "/v1/accounts"), ("POST", "/v1/sessions"), ("POST", "/v1/invitations/look")]
    for (method, target) in addresses + open where ["POST", "PATCH", "PUT"].contains(method) {
      for body in bodies {
        let answer = try send(method, target, body, [], token: alice.token)
        #expect(Problem(document: answer.body)?.code == .malformedJSON, "\(method) \(target) \(body)")
      }
      let shape = try send(method, target, "5", [], token: alice.token)
      #expect(Problem(document: shape.body)?.code != .malformedJSON, "\(method) \(target)")
    }
  }

  /// Every address that can be read.
  private var readable: [String] {
    addresses.filter { $0.method == "GET" && $0.target != "/v1/events" }.map(\.target) + [
      "/v1/tables/items?ids=\(item)", "/v1/tables/items?order=-id&limit=1", "/v1/schema", "/openapi.json",
      "/healthz",
    ]
  }

  @Test("a read that insists on another state is 412, and If-None-Match: * is 304, at every address")
  func preconditions() throws {
    for target in readable {
      for method in ["GET", "HEAD"] {
        let plain = try send(method, target, "", [], token: alice.token)
        #expect(plain.status == 200, "\(target)")
        let tag = plain.headers.first { $0.name == "ETag" }?.value
        for (match, status) in [
          ("\"other\"", 412), ("*", 200), (tag ?? "\"x\"", tag == nil ? 412 : 200), ("x", 412),
        ] {
          let answer = try send(method, target, "", [("If-Match", match)], token: alice.token)
          #expect(answer.status == status, "\(method) \(target) If-Match: \(match)")
        }
        // A weak tag is never the same: RFC 9110, section 13.1.1.
        if let tag {
          #expect(try send(method, target, "", [("If-Match", "W/" + tag)], token: alice.token).status == 412)
          #expect(
            try send(method, target, "", [("If-None-Match", "W/" + tag)], token: alice.token).status == 304)
        }
        #expect(
          try send(method, target, "", [("If-None-Match", "*")], token: alice.token).status == 304,
          "\(target)")
        // The first of the two decides.
        let both = [("If-Match", "\"other\""), ("If-None-Match", "*")]
        #expect(try send(method, target, "", both, token: alice.token).status == 412, "\(target)")
      }
    }
  }

  @Test("HEAD keeps no pages: those of reads are still there after many")
  func head() throws {
    for _ in 0..<3 { _ = try alice.makeItem(list) }
    let first = try alice.get("/v1/tables/items?limit=2")
    let next = try #require(first.next)
    for _ in 0..<12 {
      let answer = try send("HEAD", "/v1/tables/items?limit=2", "", [], token: alice.token)
      #expect(answer.status == 200)
      #expect(!answer.headers.contains { $0.name == "Link" })
    }
    #expect(try alice.get(next).ids.count == 2)
  }

  @Test("OPTIONS says the methods, of the server too, and what may be sent as a PATCH")
  func options() throws {
    let all = try send("OPTIONS", "*", "", [], token: "")
    #expect(all.status == 204)
    #expect(all.headers.contains { $0.name == "Allow" && $0.value.contains("PATCH") })
    let record = try send("OPTIONS", "/v1/tables/items/\(item)", "", [], token: "")
    #expect(record.headers.contains { $0.name == "Accept-Patch" && $0.value.contains("merge-patch") })
    let patch = try send(
      "PATCH", "/v1/tables/items/\(item)", "{}", [], token: alice.token)
    #expect(patch.status != 415)
    var request = TestServer.request("PATCH", "/v1/tables/items/\(item)", [], token: alice.token)
    request.body = Array("<x/>".utf8)
    request.headers = HTTPHeaders()
    request.headers.append(name: "Authorization", value: "Bearer \(alice.token)")
    request.headers.append(name: "Content-Type", value: "text/xml")
    let refused = try server.respond(to: request)
    #expect(refused.status == 415)
    #expect(refused.headers.contains { $0.name == "Accept-Patch" })
  }

  @Test(
    "a stranger's head decides: an unknown token's content is not admitted, a sign-in's only while it is small (I10)"
  )
  func admission() throws {
    let api = try #require(server.inline?.api)
    func admission(_ method: String, _ target: String, token: String) -> Admission {
      Authentication(api: api).admission(of: TestServer.request(method, target, [], token: token))
    }
    for (method, target) in addresses {
      for token in ["", "AAAA"] {
        guard case .refused(let answer) = admission(method, target, token: token) else {
          Issue.record("\(method) \(target) is admitted")
          continue
        }
        #expect(answer.status == 401)
      }
      guard case .admitted(.max) = admission(method, target, token: alice.token) else {
        Issue.record("\(method) \(target) is not admitted")
        continue
      }
    }
    for target in ["/v1/accounts", "/v1/sessions", "/v1/invitations/look"] {
      guard case .admitted(Authentication.strangerBodyLimit) = admission("POST", target, token: "") else {
        Issue.record("\(target) is not admitted as a stranger's")
        continue
      }
    }
    for (target, status) in [("/v1/nothing", 404), ("/v1/schema", 405)] {
      guard case .refused(let answer) = admission("POST", target, token: alice.token) else {
        Issue.record("\(target) is admitted")
        continue
      }
      #expect(answer.status == status)
    }
  }
}
