import Foundation
import HoldfastCore
import Synchronization
import Testing

@testable import Holdfast

@Suite("The push token of a device")
struct PushTokenTests {
  /// A server that keeps what it is told of push tokens; its statuses are those of such requests.
  private final class PushServer: Transport {
    let told = Mutex<[String]>([])
    let statuses = Mutex<[Int]>([])

    func send(_ request: TransportRequest) async throws -> TransportAnswer {
      if request.path == "v1/sync" {
        return TransportAnswer(
          status: 200,
          body: Fixture.whole(#"{"clock":"0193aaaa00000000","confirmed":0,"chain":"0000000000000000"}"#))
      }
      #expect(request.path == "v1/push-token")
      let status = statuses.withLock { $0.isEmpty ? 204 : $0.removeFirst() }
      if status == 0 { throw URLError(.notConnectedToInternet) }
      let body = String(decoding: request.body ?? [], as: UTF8.self)
      told.withLock { $0.append("\(request.method) \(body)") }
      let problem: ProblemCode? =
        switch status {
        case 401: .tokenInvalid
        case 404: .notFound
        case 503: .busy
        default: nil
        }
      return TransportAnswer(status: status, body: problem.map { Problem($0).document } ?? [])
    }

    func take() -> [String] {
      told.withLock { told in
        defer { told = [] }
        return told
      }
    }
  }

  private let server = PushServer()
  private let fixture: Fixture
  private static let first = #"PUT {"kind":"apns","token":"one"}"#

  init() async throws { fixture = try Fixture() }

  private func engine() -> SyncEngine { SyncEngine(store: fixture.store, transport: server) }

  @Test("it is sent once after a launch, a change and a sign-in")
  func sends() async throws {
    let engine = engine()
    try await engine.setPushToken(PushToken(kind: "apns", token: "one"))
    try await fixture.signIn()
    try await engine.sync()
    #expect(server.take() == [Self.first])
    try await engine.setPushToken(PushToken(kind: "apns", token: "one"))
    try await engine.sync()
    #expect(server.take().isEmpty)
    try await fixture.signIn(token: "new")
    try await engine.sync()
    #expect(server.take() == [Self.first])
    try await engine.setPushToken(PushToken(kind: "fcm", token: "two"))
    try await engine.sync()
    #expect(server.take() == [#"PUT {"kind":"fcm","token":"two"}"#])
    try await self.engine().sync()
    #expect(server.take() == [#"PUT {"kind":"fcm","token":"two"}"#])
  }

  @Test("a removal is kept until the server knows of it, and is then done")
  func removal() async throws {
    try await fixture.signIn()
    let engine = engine()
    try await engine.setPushToken(nil)
    try await engine.sync()
    #expect(server.take().isEmpty)
    try await engine.setPushToken(PushToken(kind: "apns", token: "one"))
    try await engine.setPushToken(nil)
    server.statuses.withLock { $0 = [0] }
    await #expect(throws: StoreError.self) { try await engine.sync() }
    try await self.engine().sync()
    #expect(server.take() == ["DELETE "])
    try await self.engine().sync()
    #expect(server.take().isEmpty)
  }

  @Test(
    "a server that is busy or away gets it with the next sync, and one that refuses it stops no sync (I12)")
  func failures() async throws {
    try await fixture.signIn()
    let engine = engine()
    try await engine.setPushToken(PushToken(kind: "apns", token: "one"))
    server.statuses.withLock { $0 = [0, 503, 404] }
    let error = await #expect(throws: StoreError.self) { try await engine.sync() }
    #expect(error?.code == .offline)
    try await engine.sync()
    try await engine.sync()
    #expect(server.take() == [Self.first, Self.first])
    try await engine.sync()
    #expect(server.take().isEmpty)
  }

  @Test("a session that the server has ended is over, as with any request (I3)")
  func expired() async throws {
    try await fixture.signIn()
    let engine = engine()
    try await engine.setPushToken(PushToken(kind: "apns", token: "one"))
    server.statuses.withLock { $0 = [401] }
    let error = await #expect(throws: StoreError.self) { try await engine.sync() }
    #expect(error?.code == .signedOut)
    try await fixture.signIn(token: "new")
    try await engine.sync()
    #expect(server.take() == [Self.first, Self.first])
  }

  @Test("what no server takes is refused at once")
  func limits() async throws {
    let long = String(repeating: "x", count: 4097)
    for (kind, token) in [("", "x"), ("A", "x"), ("apns", ""), ("apns", "a\u{0}"), ("apns", long)] {
      let error = await #expect(throws: StoreError.self) {
        try await engine().setPushToken(PushToken(kind: kind, token: token))
      }
      #expect(error?.code == .valueUnfit)
    }
  }
}
