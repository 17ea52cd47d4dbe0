import Foundation
import FoundationNetworking
import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import ServerScenes
import Synchronization
import Testing

/// The server behind real sockets, with its threads.
@Suite struct WireTests {
  let world = TestWorld()
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
    "holdfast-wire-\(UUID().uuidString)")
  let lines = Lines()
  let location: DatabaseLocation

  init() throws { location = try Engine.used.makeLocation(in: folder) }

  final class Lines: Sendable {
    let all = Mutex<[String]>([])
  }

  private func withServer(
    _ change: (inout Configuration) -> Void = { _ in }, _ body: (Server) async throws -> Void
  ) async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let lines = lines
    var configuration = Configuration(
      schema: try TestServer.schema(), database: location, environment: world.environment,
      log: { line in lines.all.withLock { $0.append(line) } })
    change(&configuration)
    let server = try Server(configuration)
    defer { server.stop() }
    try await body(server)
  }

  private func send(
    _ server: Server, _ method: String, _ path: String, _ body: [UInt8]? = nil, token: String? = nil
  ) async throws -> (status: Int, body: [UInt8], headers: [AnyHashable: Any]) {
    var request = URLRequest(url: try #require(URL(string: server.url + path)))
    request.httpMethod = method
    request.httpBody = body.map { Data($0) }
    if body != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
    if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    let (data, response) = try await URLSession.shared.data(for: request)
    let http = try #require(response as? HTTPURLResponse)
    return (http.statusCode, Array(data), http.allHeaderFields)
  }

  private func signUp(_ server: Server, _ name: String) async throws -> String {
    let body = #"{"name":"\#(name)","password":"correct horse","device":{"name":"phone"}}"#
    let answer = try await send(server, "POST", "/v1/accounts", Array(body.utf8))
    try #require(answer.status == 201)
    return try #require(JSONValue(parsing: answer.body)["token"]?.stringValue)
  }

  @Test("a user signs up, writes and reads over HTTP; the log has no secret")
  func endToEnd() async throws {
    try await withServer { server in
      let token = try await signUp(server, "alice")
      var request = SyncRequest()
      request.first = 1
      let id = world.id()
      let set = JSONValue.array([Sent.create("lists", id, ["title": "Secret plan"]).json]).bytes
      let answer = try await send(server, "POST", "/v1/sync", request.body(sealed: [set]), token: token)
      #expect(answer.status == 200)
      #expect(try SyncAnswer(body: answer.body).confirmed == 1)
      #expect(answer.headers["Cache-Control"] as? String == "no-store")
      #expect(answer.headers["X-Request-ID"] != nil)
      server.stop()
      let log = lines.all.withLock { $0 }
      #expect(log.contains { $0.contains(#""path":"/v1/sync","status":200"#) })
      for line in log {
        #expect(!line.contains(token) && !line.contains("Secret") && !line.contains("alice"))
        #expect(throws: Never.self) { try JSONValue(parsing: line) }
      }
    }
  }

  @Test("many devices at once each have their creates exactly once (I1)")
  func concurrent() async throws {
    try await withServer { server in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<16 {
          group.addTask {
            let token = try await signUp(server, "user\(number)")
            var chain = Fingerprint.beginning
            for index in 0..<10 {
              var request = SyncRequest()
              request.first = Int64(index + 1)
              request.chain = chain
              let set = JSONValue.array([Sent.create("notes", world.id(), ["text": "x"]).json]).bytes
              let answer = try await send(
                server, "POST", "/v1/sync", request.body(sealed: [set]), token: token)
              let read = try SyncAnswer(body: answer.body)
              #expect(read.confirmed == Int64(index + 1))
              chain = read.chain
            }
          }
        }
        try await group.waitForAll()
      }
      server.stop()
      let administration = try Administration(location)
      #expect(try administration.doctor().isEmpty)
      #expect(try administration.zones().rows.filter { $0[5] == "10" }.count == 16)
    }
  }

  @Test("bodies and heads that are too large are answered with their problems, and nothing is written")
  func tooLarge() async throws {
    try await withServer {
      $0.limits.maximumBodyBytes = 1 << 16
    } _: { server in
      let token = try await signUp(server, "alice")
      let large = try await send(
        server, "POST", "/v1/sync", [UInt8](repeating: 0x20, count: 1 << 17), token: token)
      #expect(large.status == 413)
      #expect(Problem(document: large.body)?.code == .bodyTooLarge)
      let head = try await send(server, "GET", "/healthz", token: String(repeating: "x", count: 20000))
      #expect(head.status == 431)
      #expect(Problem(document: head.body)?.code == .headersTooLarge)
    }
  }

  @Test("a full queue answers busy with Retry-After")
  func busy() async throws {
    try await withServer {
      $0.passwordQueueLimit = 0
    } _: { server in
      let body = #"{"name":"alice","password":"correct horse","device":{"name":"phone"}}"#
      let answer = try await send(server, "POST", "/v1/accounts", Array(body.utf8))
      #expect(answer.status == 503)
      #expect(Problem(document: answer.body)?.code == .busy)
      #expect(answer.headers["Retry-After"] as? String == "1")
    }
  }

  @Test("the server says that it lives and that it can write")
  func health() async throws {
    try await withServer { server in
      for path in ["/healthz", "/readyz"] {
        let answer = try await send(server, "GET", path)
        #expect(answer.status == 200)
      }
    }
  }

  @Test("after a stop the directory can be served again, with all that was confirmed (I2)")
  func restart() async throws {
    try await withServer { server in
      let token = try await signUp(server, "alice")
      server.stop()
      let again = try Server(
        Configuration(database: location, environment: world.environment, log: { _ in }))
      defer { again.stop() }
      let answer = try await send(again, "POST", "/v1/sync", Array(#"{"protocol":1}"#.utf8), token: token)
      #expect(answer.status == 200)
    }
  }
}
