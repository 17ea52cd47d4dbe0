import Foundation
import HoldfastCore
import Synchronization
import Testing

@testable import Holdfast

/// What answers in the server's place: a proxy, or a network that wants a person to sign in to it.
@Suite("Answers that are not the server's")
struct ForeignAnswerTests {
  /// A server of one function.
  private final class Answering: Transport {
    private let paths = Mutex<[String]>([])
    private let answer: @Sendable (Int, TransportRequest) throws -> TransportAnswer

    init(_ answer: @escaping @Sendable (Int, TransportRequest) throws -> TransportAnswer) {
      self.answer = answer
    }
    var asked: [String] { paths.withLock { $0 } }
    func send(_ request: TransportRequest) async throws -> TransportAnswer {
      let number = paths.withLock { paths in
        paths.append(request.path)
        return paths.count
      }
      return try answer(number, request)
    }
  }

  private static func page(_ status: Int) -> TransportAnswer {
    TransportAnswer(status: status, body: Array("<html>sign in to the hotel's network</html>".utf8))
  }
  private static let nothing = TransportAnswer(
    status: 200,
    body: Fixture.whole(#"{"clock":"0193aaaa00000000","confirmed":0,"chain":"0000000000000000"}"#))

  @Test("a 401 that does not say that the token is invalid ends no session (I3)")
  func unauthorized() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let wrong = TransportAnswer(status: 401, body: Problem(.credentialsWrong).document)
    let answers = [Self.page(401), TransportAnswer(status: 401, body: []), wrong]
    let transport = Answering { number, _ in number <= 3 ? answers[number - 1] : Self.nothing }
    let engine = SyncEngine(store: fixture.store, transport: transport, network: nil)
    for number in answers.indices {
      let error = await #expect(throws: StoreError.self) { try await engine.sync() }
      #expect(error?.code == .offline)
      if number == 0 { #expect(error?.description.contains("network wants you to sign in") == true) }
      #expect(try await fixture.store.account()?.isSignedIn == true)
    }
    try await engine.sync()
  }

  @Test("a copy that asks for a new identity asks again after a foreign 401 (I1, I3)")
  func identity() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let transport = Answering { number, _ in
      switch number {
      case 1: TransportAnswer(status: 409, body: Problem(.deviceDiverged).document)
      case 2: Self.page(401)
      default: Self.nothing
      }
    }
    let engine = SyncEngine(store: fixture.store, transport: transport, network: nil)
    let error = await #expect(throws: StoreError.self) { try await engine.sync() }
    #expect(error?.code == .offline)
    try await engine.sync()
    #expect(transport.asked == ["v1/sync", "v1/devices", "v1/sync"])
  }

  @Test("a push token that the server has not heard of is sent with the next sync")
  func pushToken() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let transport = Answering { number, request in
      if request.path == "v1/sync" { return Self.nothing }
      return number == 1
        ? Self.page(200) : number == 3 ? Self.page(302) : TransportAnswer(status: 204, body: [])
    }
    let engine = SyncEngine(store: fixture.store, transport: transport, network: nil)
    try await engine.setPushToken(PushToken(kind: "apns", token: "one"))
    for _ in 0..<4 { try await engine.sync() }
    #expect(transport.asked.count { $0 == "v1/push-token" } == 3)
  }

  @Test(
    "a sign-in that something else answers says so, and leaves nothing behind (I3)",
    arguments: [200, 302, 404, 511])
  func signIn(status: Int) async throws {
    let fixture = try Fixture()
    let engine = SyncEngine(
      store: fixture.store, transport: Answering { _, _ in Self.page(status) }, network: nil)
    let error = await #expect(throws: StoreError.self) {
      try await engine.signIn(name: "ann", password: "correct-horse", device: "phone")
    }
    #expect(error?.code == .offline)
    #expect(error?.description.contains("status \(status) is no Holdfast server") == true)
    #expect(try await fixture.store.account() == nil)
  }

  private static let longToken = String(repeating: "t", count: 4097)

  @Test(
    "a session of another form than the protocol's is none (I3)",
    arguments: [
      ("", "ann", "d", "phone", "t"), ("u", "", "d", "phone", "t"), ("u", "ann", "", "phone", "t"),
      ("u", "ann", "d", "", "t"), ("u", "ann", "d", "phone", ""),
      ("u", "ann", "d", "phone", #"t\r\nX: y"#), ("u", "ann", "d", "phone", #"t\u0000"#),
      ("u", "ann", "d", "phone", "t t"), ("u", "ann", "d", "phone", "é"),
      ("u", "ann", "d", "phone", longToken),
      (String(repeating: "u", count: 65), "ann", "d", "phone", "t"),
      ("u", String(repeating: "n", count: 65), "d", "phone", "t"), ("u", #"ann\u0000"#, "d", "phone", "t"),
    ])
  func session(user: String, name: String, device: String, deviceName: String, token: String) async throws {
    let body =
      #"{"user":{"id":"\#(user)","name":"\#(name)"},"device":{"id":"\#(device)","name":"\#(deviceName)"},"token":"\#(token)"}"#
    #expect(Session(body: Array(body.utf8)) == nil)
    let fixture = try Fixture()
    let engine = SyncEngine(
      store: fixture.store,
      transport: Answering { _, _ in TransportAnswer(status: 200, body: Array(body.utf8)) }, network: nil)
    await #expect(throws: StoreError.self) {
      try await engine.signIn(name: "ann", password: "correct-horse", device: "phone")
    }
    #expect(try await fixture.store.account() == nil)
  }

  @Test("an account is erased when the server says so, and not when something else answers (I3)")
  func erasure() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    for status in [200, 302, 401] {
      let engine = SyncEngine(
        store: fixture.store, transport: Answering { _, _ in Self.page(status) }, network: nil)
      let error = await #expect(throws: StoreError.self) { try await engine.eraseAccount(password: "x") }
      #expect(error?.code == .offline)
    }
    #expect(try await fixture.value("SELECT title FROM lists")?.text == "Home")
    #expect(try await fixture.store.account()?.isSignedIn == true)
  }
}
