import Foundation
import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// A console over a test server, and an operator's page.
struct ConsoleScene {
  static let token = String(repeating: "k", count: 32)
  /// A token of an operator who may act.
  static let actor = String(repeating: "a", count: 32)
  static let mark = [("Holdfast-Session", "console")]

  let server: TestServer
  let console: Console
  let log = LogRing()

  /// - Parameters:
  ///   - operators: the file of those who may act.
  ///   - server: whose database it shows; a new one's unless given.
  init(
    token: String = Self.token, operators: String = "ada \(Self.actor)\n", on server: TestServer? = nil,
    node: String = "node"
  ) throws {
    self.server = try server ?? TestServer()
    let api = try #require(self.server.inline).api
    console = Console(
      try ConsoleConfiguration(token: Array(token.utf8), actions: Array(operators.utf8)), api, log,
      retention: Retention(), location: self.server.location, node: node, note: { _ in })
  }

  static func request(
    _ method: String, _ path: String, _ fields: [(String, String)], body: String = ""
  ) -> HTTPRequest {
    var headers = HTTPHeaders()
    for (name, value) in fields { headers.append(name: name, value: value) }
    if !body.isEmpty { headers.append(name: "Content-Type", value: "application/json") }
    return HTTPRequest(method: method, target: "/console/\(path)", headers: headers, body: Array(body.utf8))
  }

  func respond(_ request: HTTPRequest) throws -> HTTPResponse {
    let step = console.handle(request) {
      ConsoleServer(metrics: Metrics().summary, queues: [], streams: 0, snapshotBytes: 0, droppedLogLines: 0)
    }
    switch step {
    case .answer(let response): return response
    case .read(let work):
      guard case .answer(let response) = work() else { break }
      return response
    default: break
    }
    Issue.record("The console answers, now or on another thread.")
    return .empty(status: 500)
  }

  /// Signs in.
  ///
  /// - Returns: the cookie as the browser sends it back.
  func signIn(_ token: String = Self.token) throws -> String {
    let answer = try respond(
      Self.request("POST", "api/session", Self.mark, body: "{\"token\": \"\(token)\"}"))
    try #require(answer.status == 204)
    let field = try #require(answer.headers.first { $0.name == "Set-Cookie" }).value
    return String(field.prefix { $0 != ";" })
  }

  /// Reads an address as an operator who has signed in.
  func get(_ path: String) throws -> JSONValue {
    let answer = try respond(
      Self.request("GET", "api/\(path)", try Self.mark + [("Cookie", signIn())]))
    try #require(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
    return try JSONValue(parsing: answer.body)
  }

  /// Sends a body as one who has signed in with a token.
  func post(_ path: String, _ body: String, as token: String = Self.actor) throws -> HTTPResponse {
    try respond(
      Self.request("POST", "api/\(path)", Self.mark + [("Cookie", signIn(token))], body: body))
  }

  func status(_ path: String) throws -> Int {
    try respond(Self.request("GET", "api/\(path)", try Self.mark + [("Cookie", signIn())])).status
  }
}
