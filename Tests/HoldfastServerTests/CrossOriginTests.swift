import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// Which pages may call from a browser.
@Suite struct CrossOriginTests {
  private let crossOrigin = CrossOrigin(allowed: ["https://app.example.org"])

  private func request(_ fields: [(String, String)], method: String = "OPTIONS") -> HTTPRequest {
    var headers = HTTPHeaders()
    for (name, value) in fields { headers.append(name: name, value: value) }
    return HTTPRequest(method: method, target: "/v1/sync", headers: headers)
  }

  private func value(_ name: String, in headers: [(name: String, value: String)]) -> String? {
    headers.first { $0.name == name }?.value
  }

  @Test("an origin that is named may call, and read what the answers say")
  func allowed() {
    let ask = request([("Origin", "https://app.example.org"), ("Access-Control-Request-Method", "POST")])
    #expect(
      value("Access-Control-Allow-Origin", in: crossOrigin.headers(of: ask.headers))
        == "https://app.example.org")
    #expect(value("Vary", in: crossOrigin.headers(of: ask.headers)) == "Origin")
    let answer = crossOrigin.options(ask, methods: "POST, OPTIONS")
    #expect(answer.status == 204)
    #expect(value("Access-Control-Allow-Methods", in: answer.headers) == "POST, OPTIONS")
  }

  @Test(
    "any other origin, and none, is told nothing (I10)",
    arguments: [
      "https://evil.example.org", "https://app.example.org.evil.org", "http://app.example.org", "null",
    ])
  func strange(origin: String) {
    let ask = request([("Origin", origin), ("Access-Control-Request-Method", "POST")])
    // But that answers differ by origin, so that no cache gives one's to another.
    for fields in [ask.headers, HTTPHeaders()] {
      let headers = crossOrigin.headers(of: fields)
      #expect(headers.count == 1 && value("Vary", in: headers) == "Origin")
    }
    #expect(
      value("Access-Control-Allow-Methods", in: crossOrigin.options(ask, methods: "POST").headers) == nil)
    #expect(CrossOrigin(allowed: []).headers(of: ask.headers).isEmpty)
    #expect(
      value("Access-Control-Allow-Origin", in: CrossOrigin(allowed: ["*"]).headers(of: ask.headers)) == "*")
  }

  @Test("every address says its methods, answers HEAD as GET without its content, and keeps to Accept")
  func head() throws {
    let server = try TestServer()
    for path in ["/v1/schema", "/healthz", "/v1/sync", "/v1/accounts", "/v1/events"] {
      let answer = try server.respond(to: HTTPRequest(method: "OPTIONS", target: path))
      #expect(answer.status == 204)
      let allow = try #require(value("Allow", in: answer.headers))
      let other = try server.respond(to: HTTPRequest(method: "TRACE", target: path))
      #expect(other.status == 405)
      #expect(value("Allow", in: other.headers) == allow)
    }
    #expect(
      try server.respond(to: HTTPRequest(method: "HEAD", target: "/v1/schema")).body
        == server.respond(to: HTTPRequest(target: "/v1/schema")).body)
    for (accept, status) in [
      ("text/html", 406), ("application/json;q=0", 406), ("text/html, */*;q=0.1", 200),
      ("application/*", 200),
      ("application/json", 200), ("text/html, application/json;q=0, */*", 406),
    ] {
      var headers = HTTPHeaders()
      headers.append(name: "Accept", value: accept)
      let answer = try server.respond(to: HTTPRequest(target: "/v1/schema", headers: headers))
      #expect(answer.status == status, "\(accept)")
    }
  }
}
