import Foundation
import HoldfastCore
import HoldfastHTTP
import Synchronization
import Testing

@testable import HoldfastServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a team's own program hears of zones that moved.
@Suite struct WebhookTests {
  /// A program that takes calls, and answers as it is told.
  final class Program: Sendable {
    struct Call {
      let zones: TextMap<Int64>
      let users: TextSet
    }

    private let calls = Mutex<[Call]>([])
    private let statuses: Mutex<[Int]>
    private let stream: AsyncStream<Call>
    private let heard: AsyncStream<Call>.Continuation

    init(statuses: [Int] = []) {
      self.statuses = Mutex(statuses)
      (stream, heard) = AsyncStream.makeStream(of: Call.self)
    }

    var configuration: WebhookConfiguration {
      WebhookConfiguration(secret: Array("0123456789abcdef".utf8)) { [self] delivery in
        let status = statuses.withLock { $0.isEmpty ? 200 : $0.removeFirst() }
        guard status == 200, let body = try? JSONValue(parsing: delivery.body) else {
          return WebhookConfiguration.Answer(status: status)
        }
        let zones = body["zones"]?.elements ?? []
        let call = Call(
          zones: TextMap(
            zones.map { ($0["zone"]?.stringValue ?? "", $0["seq"]?.integerValue ?? 0) },
            uniquingKeysWith: max),
          users: TextSet(zones.flatMap { $0["users"]?.elements ?? [] }.compactMap(\.stringValue)))
        calls.withLock { $0.append(call) }
        heard.yield(call)
        return WebhookConfiguration.Answer(status: 200)
      }
    }

    /// Waits until a zone was told up to a seq.
    func receive(_ zone: String, _ seq: Int64) async {
      for await call in stream where call.zones[zone] ?? 0 >= seq { return }
    }

    var all: [Call] { calls.withLock { $0 } }
  }

  let world = TestWorld()
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
    "holdfast-webhook-\(UUID().uuidString)")
  let location: DatabaseLocation

  init() throws { location = try Engine.used.makeLocation(in: folder) }

  private func withServer(_ program: Program, _ body: (Server) async throws -> Void) async throws {
    var configuration = Configuration(
      schema: try TestServer.schema(), database: location, environment: .system, log: { _ in })
    configuration.webhook = program.configuration
    let server = try Server(configuration)
    defer { server.stop() }
    try await body(server)
  }

  /// Signs a user up, which makes a zone with one record.
  private func signUp(_ server: Server, _ name: String) async throws -> String {
    var request = URLRequest(url: try #require(URL(string: server.url + "/v1/accounts")))
    request.httpMethod = "POST"
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    request.httpBody = Data(
      #"{"name":"\#(name)","password":"correct horse","device":{"name":"phone"}}"#.utf8)
    let (data, _) = try await URLSession.shared.data(for: request)
    return try #require(JSONValue(parsing: Array(data))["user"]?["id"]?.stringValue)
  }

  @Test("a program hears which zones moved, how far, and who is in them")
  func tells() async throws {
    let program = Program()
    try await withServer(program) { server in
      let alice = try await signUp(server, "alice")
      await program.receive(alice, 1)
      #expect(program.all.last?.users == [alice])
    }
    try? FileManager.default.removeItem(at: folder)
  }

  @Test("what a program failed to take is told again, and what it took is not, after a restart as well")
  func again() async throws {
    let first = Program(statuses: [500])
    var (alice, bob) = ("", "")
    try await withServer(first) { server in
      alice = try await signUp(server, "alice")
      await first.receive(alice, 1)
    }
    // Without a program nothing is told.
    var configuration = Configuration(database: location, environment: .system, log: { _ in })
    configuration.webhook = nil
    let silent = try Server(configuration)
    bob = try await signUp(silent, "bob")
    silent.stop()
    let second = Program()
    try await withServer(second) { _ in await second.receive(bob, 1) }
    #expect(!second.all.contains { $0.zones[alice] != nil })
    try? FileManager.default.removeItem(at: folder)
  }
}
