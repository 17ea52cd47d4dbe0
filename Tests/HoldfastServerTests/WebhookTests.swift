import Foundation
import HoldfastCore
import HoldfastHTTP
import ServerScenes
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
      /// The ids of the devices.
      let devices: [String]
      /// Its `traceparent`.
      let trace: String?
    }

    private let calls = Mutex<[Call]>([])
    private let statuses: Mutex<[Int]>
    private let retryAfter: Int?
    /// The push tokens that it calls dead.
    let gone = Mutex<[String]>([])
    private let stream: AsyncStream<Call>
    private let heard: AsyncStream<Call>.Continuation

    init(statuses: [Int] = [], retryAfter: Int? = nil) {
      self.retryAfter = retryAfter
      self.statuses = Mutex(statuses)
      (stream, heard) = AsyncStream.makeStream(of: Call.self)
    }

    var configuration: WebhookConfiguration {
      WebhookConfiguration(secret: Array("0123456789abcdef".utf8)) { [self] delivery in
        let status = statuses.withLock { $0.isEmpty ? 200 : $0.removeFirst() }
        guard status == 200, let body = try? JSONValue(parsing: delivery.body) else {
          return WebhookConfiguration.Answer(status: status, retryAfter: retryAfter)
        }
        let zones = body["zones"]?.elements ?? []
        let call = Call(
          zones: TextMap(
            zones.map { ($0["zone"]?.stringValue ?? "", $0["seq"]?.integerValue ?? 0) },
            uniquingKeysWith: max),
          users: TextSet(zones.flatMap { $0["users"]?.elements ?? [] }.compactMap(\.stringValue)),
          devices: (body["devices"]?.elements ?? []).compactMap { $0["id"]?.stringValue },
          trace: delivery.headers.first { $0.name == "traceparent" }?.value)
        let gone = gone.withLock { $0.map { JSONValue.string($0) } }
        calls.withLock { $0.append(call) }
        heard.yield(call)
        return WebhookConfiguration.Answer(
          status: 200, body: JSONValue.object([.init("gone", .array(gone))]).bytes)
      }
    }

    /// Waits until a zone was told up to a seq.
    func receive(_ zone: String, _ seq: Int64) async {
      for await call in stream where call.zones[zone] ?? 0 >= seq { return }
    }

    /// The devices of the next call with a zone up to a seq.
    func devices(_ zone: String, _ seq: Int64 = 0) async -> [String] {
      for await call in stream where call.zones[zone] ?? -1 >= seq { return call.devices }
      return []
    }

    /// The trace of the next call with a zone up to a seq.
    func trace(_ zone: String, _ seq: Int64) async -> String? {
      for await call in stream where call.zones[zone] ?? 0 >= seq { return call.trace }
      return nil
    }

    var all: [Call] { calls.withLock { $0 } }
  }

  let world = TestWorld()
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
    "holdfast-webhook-\(UUID().uuidString)")
  let location: DatabaseLocation

  init() throws { location = try Engine.used.makeLocation(in: folder) }

  private func withServer(
    _ program: Program, deviceBatch: Int? = nil, _ body: (Server) async throws -> Void
  ) async throws {
    var configuration = Configuration(
      schema: try TestServer.schema(), database: location, environment: .system, log: { _ in })
    configuration.webhook = program.configuration
    if let deviceBatch { configuration.webhook?.deviceBatch = deviceBatch }
    let server = try Server(configuration)
    defer { server.stop() }
    try await body(server)
  }

  /// Signs a user up, which makes a zone with one record.
  private func signUp(_ server: Server, _ name: String) async throws -> String {
    try #require(await session(server, "accounts", name)["user"]?["id"]?.stringValue)
  }

  private func session(_ server: Server, _ path: String, _ name: String) async throws -> JSONValue {
    let body = #"{"name":"\#(name)","password":"correct horse","device":{"name":"phone"}}"#
    return try await send(server, "POST", path, body)
  }

  private func send(
    _ server: Server, _ method: String, _ path: String, _ body: String, as session: JSONValue? = nil,
    in trace: String? = nil
  ) async throws -> JSONValue {
    var request = URLRequest(url: try #require(URL(string: server.url + "/v1/" + path)))
    request.httpMethod = method
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    if let token = session?["token"]?.stringValue {
      request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
    }
    if let trace { request.setValue(trace, forHTTPHeaderField: "traceparent") }
    request.httpBody = Data(body.utf8)
    let (data, _) = try await URLSession.shared.data(for: request)
    return data.isEmpty ? .null : try JSONValue(parsing: Array(data))
  }

  /// A session with a push token.
  private func device(_ server: Server, _ path: String, _ name: String, token: String) async throws
    -> (session: JSONValue, id: String)
  {
    let session = try await session(server, path, name)
    _ = try await send(
      server, "PUT", "push-token", #"{"kind":"apns","token":"\#(token)"}"#, as: session)
    return (session, try #require(session["device"]?["id"]?.stringValue))
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

  @Test("a call about one traced write continues its trace, and one about an untraced write has none")
  func traced() async throws {
    let program = Program()
    try await withServer(program) { server in
      let session = try await session(server, "accounts", "alice")
      let user = try #require(session["user"]?["id"]?.stringValue)
      await program.receive(user, 1)
      func create(in trace: String?) async throws -> (zone: String, seq: Int64) {
        let list = try await send(
          server, "POST", "tables/lists", #"{"columns":{"title":"Groceries"}}"#, as: session, in: trace)
        return (try #require(list["id"]?.stringValue), list["seq"]?.integerValue ?? 0)
      }
      let id = "0af7651916cd43dd8448eb211c80319c"
      let traced = try await create(in: "00-\(id)-b7ad6b7169203331-01")
      let trace = try #require(await program.trace(traced.zone, traced.seq))
      #expect(trace.hasPrefix("00-\(id)-") && trace.hasSuffix("-01") && !trace.contains("b7ad6b7169203331"))
      let untraced = try await create(in: nil)
      #expect(await program.trace(untraced.zone, untraced.seq) == nil)
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

  @Test("a program that asks for a wait of a negative time without end is called again (I12)")
  func negativeWait() async throws {
    let program = Program(statuses: [503], retryAfter: .min)
    try await withServer(program) { server in
      await program.receive(try await signUp(server, "alice"), 1)
    }
    #expect(WebhookConfiguration.Answer(status: 503, retryAfter: .max).retryAfter == 3600)
    try? FileManager.default.removeItem(at: folder)
  }

  /// Gives a list another title; returns the seq of the change.
  private func rename(_ server: Server, _ list: String, _ title: String, as session: JSONValue) async throws
    -> Int64
  {
    let record = try await send(
      server, "PATCH", "tables/lists/\(list)", #"{"columns":{"title":"\#(title)"}}"#, as: session)
    return try #require(record["seq"]?.integerValue)
  }

  @Test(
    "a call names the members' devices until they are dead; one that wrote over REST lacks the change, too (I10)"
  )
  func devices() async throws {
    let program = Program()
    try await withServer(program) { server in
      let phone = try await device(server, "accounts", "alice", token: "phone")
      let tablet = try await device(server, "sessions", "alice", token: "tablet")
      _ = try await device(server, "accounts", "bob", token: "bob")
      let list = try await send(
        server, "POST", "tables/lists", #"{"columns":{"title":"Groceries"}}"#, as: phone.session)
      let zone = try #require(list["id"]?.stringValue)
      #expect(await program.devices(zone, list["seq"]?.integerValue ?? 0) == [phone.id, tablet.id])
      program.gone.withLock { $0 = ["phone"] }
      let first = try await rename(server, zone, "Wine", as: phone.session)
      #expect(await program.devices(zone, first).contains(tablet.id))
      let second = try await rename(server, zone, "Tea", as: phone.session)
      #expect(await program.devices(zone, second) == [tablet.id])
    }
    try? FileManager.default.removeItem(at: folder)
  }

  @Test("more devices than a call takes are named by calls that follow (I11)")
  func manyDevices() async throws {
    let program = Program()
    try await withServer(program, deviceBatch: 2) { server in
      let first = try await device(server, "accounts", "alice", token: "0")
      var ids: TextSet = []
      for number in 1...5 {
        ids.insert(try await device(server, "sessions", "alice", token: "\(number)").id)
      }
      let list = try await send(
        server, "POST", "tables/lists", #"{"columns":{"title":"Groceries"}}"#, as: first.session)
      let zone = try #require(list["id"]?.stringValue)
      var named: TextSet = []
      while !ids.isSubset(of: named) {
        let batch = await program.devices(zone)
        #expect((1...2).contains(batch.count))
        named.formUnion(batch)
      }
    }
    try? FileManager.default.removeItem(at: folder)
  }
}
