import Foundation
import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import Synchronization
import Testing

@testable import HoldfastTesting

/// The same devices do the same with the server of a test and with the real one, and get the same answers.
@Suite("The server of a test answers as the real one does")
struct ContractTests {
  @Test("each answer has the same status and content (I1, I10)")
  func sameAnswers() async throws {
    let schema = try Shopping.schema()
    let clock = TestClock(start: 1_767_225_600_000)
    let test = try TestServer(
      schema: schema, rules: Rules(), clock: clock, random: SeededRandom(seed: 1), name: UUID().uuidString)
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let random = SeededRandom(seed: 1)
    let real = try InlineServer(
      .directory(folder.path), schema: schema,
      environment: ServerEnvironment(
        now: { clock.look() }, random: { random.bytes($0) },
        passwords: PasswordHashing(hash: { "hashed " + $0 }, verify: { "hashed " + $0 == $1 }, decoy: "none"))
    )
    let network = TestNetwork()
    let ours = try await Self.scenario(RecordingTransport(TestTransport(network, test)), schema, clock)
    let theirs = try await Self.scenario(RecordingTransport(InlineTransport(real)), schema, clock)
    #expect(ours.count > 40)
    #expect(ours.count == theirs.count)
    for (one, other) in zip(ours, theirs) { #expect(one == other) }
  }

  /// Two people do all that the client can ask for, right and wrong.
  private static func scenario(
    _ way: RecordingTransport, _ schema: SyncSchema, _ clock: TestClock
  ) async throws -> [String] {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func device(_ name: String, _ seed: UInt64) throws -> (store: Store, engine: SyncEngine) {
      let random = SeededRandom(seed: seed)
      let store = try Store(
        path: folder.appending(path: name).path, schema: schema,
        environment: StoreEnvironment(
          now: { clock.look() }, random: { random.next() }, sleep: { try await clock.sleep(for: $0) }))
      return (store, SyncEngine(store: store, transport: way, snapshotsFrom: nil))
    }
    let (ann, bob) = (try device("ann", 2), try device("bob", 3))
    for body in ["{}", "{", #"{"name": "Ann", "password": "correct horse", "device": {"name": "phone"}}"#] {
      try await way.ask("POST", "v1/accounts", body)
      try await way.ask("POST", "v1/sessions", body)
    }
    try await way.ask("POST", "v1/sync", "{}")
    try await way.ask("GET", "v1/memberships", token: "unknown")
    try await ann.engine.signUp(name: "ann", password: "correct horse", device: "phone")
    try? await bob.engine.signUp(name: "ann", password: "correct horse", device: "phone")
    try? await bob.engine.signIn(name: "bob", password: "correct horse", device: "phone")
    try await bob.engine.signUp(name: "bob", password: "correct horse", device: "phone")
    let list = try await ann.store.write { db in
      let list = List(id: db.newID(), title: "Party")
      try db.insert(list)
      try db.insert([Item(id: db.newID(), list_id: list.id, title: "Milk")], at: .last)
      return list.id
    }
    try await ann.engine.sync()
    try await ann.engine.sync()
    try await bob.engine.sync()
    let other = try await bob.engine.user(named: "ann")
    _ = try await bob.engine.user(named: "no&body=1 é")
    _ = try? await bob.engine.invite(to: list, role: .viewer)
    let invitation = try await ann.engine.invite(to: list, role: .editor)
    _ = try? await ann.engine.invite(to: list, role: .editor, uses: 2000)
    try await way.ask("POST", "v1/invitations/look", #"{"token": "\#(invitation.token)"}"#)
    try await way.ask("POST", "v1/invitations/look", #"{"token": "none"}"#)
    try await bob.engine.sync()
    let bobsToken = way.lastToken
    // What the engine does by itself afterwards would come in between.
    for _ in 0..<2 {
      try await way.ask(
        "POST", "v1/invitations/accept", #"{"token": "\#(invitation.token)"}"#, token: bobsToken)
    }
    try await bob.engine.sync()
    for (device, title) in [(ann, "Ann's"), (bob, "Bob's")] {
      try await device.store.write { try $0.execute("UPDATE items SET title = ?, note = ?1", [.text(title)]) }
    }
    try await ann.engine.sync()
    try await bob.engine.sync()
    try await ann.engine.sync()
    try await ann.store.write { try $0.execute("DELETE FROM lists") }
    try await bob.store.write { db in
      try db.insert([Item(id: db.newID(), list_id: list, title: "Wine")], at: .last)
    }
    try await ann.engine.sync()
    try await bob.engine.sync()
    _ = try await bob.engine.pendingMemberships()
    for (method, path) in [
      ("POST", "v1/memberships/\(list)/accept"), ("DELETE", "v1/memberships/\(list)"),
      ("GET", "v1/zones/\(list)/grants"), ("DELETE", "v1/zones/\(list)/grants/\(list)"),
      ("GET", "v1/zones/\(list)/invitations"), ("DELETE", "v1/zones/\(list)/invitations/\(list)"),
      ("DELETE", "v1/zones/\(list)/membership"), ("DELETE", "v1/zones/\(list)/membership"),
      ("GET", "v1/nothing"),
    ] { try await way.ask(method, path, method == "POST" ? "{}" : nil, token: bobsToken) }
    _ = try await ann.engine.grants(ofGroup: list)
    try await way.ask("GET", "v1/zones/\(list)/invitations", token: way.lastToken)
    if let id = other?.user.id { try await bob.engine.block(user: id) }
    try? await bob.engine.block(user: list)
    _ = try await bob.engine.blockedUsers()
    if let id = other?.user.id { try await bob.engine.unblock(user: id) }
    for password in ["wrong", "correct horse", "correct horse"] {
      try await way.ask("DELETE", "v1/account", #"{"password": "\#(password)"}"#, token: bobsToken)
    }
    try await ann.engine.signOut()
    try await ann.engine.signIn(name: "ann", password: "correct horse", device: "phone")
    try await ann.engine.sync()
    await ann.store.close()
    await bob.store.close()
    return way.answers
  }
}

/// Sends requests on, and keeps what was answered with each made-up value replaced by a number.
private final class RecordingTransport: Transport {
  private struct State {
    var answers: [String] = []
    var values: TextMap<Int> = [:]
    var token: String?
  }

  private let way: any Transport
  private let state = Mutex(State())

  init(_ way: any Transport) { self.way = way }

  var answers: [String] { state.withLock { $0.answers } }
  /// The token of the last request that had one.
  var lastToken: String? { state.withLock { $0.token } }

  func ask(_ method: String, _ path: String, _ body: String? = nil, token: String? = nil) async throws {
    _ = try await send(
      TransportRequest(method: method, path: path, token: token, body: body.map { Array($0.utf8) }))
  }

  func send(_ request: TransportRequest) async throws -> TransportAnswer {
    let answer = try await way.send(request)
    state.withLock { state in
      state.token = request.token ?? state.token
      let content = (try? JSONValue(parsing: answer.body)).map { Self.masked($0, &state.values) }
      let path = request.path.split(separator: "/").map { $0.utf8.count > 30 ? "*" : String($0) }
      state.answers.append(
        "\(request.method) \(path.joined(separator: "/")): \(answer.status) \(answer.retryAfter ?? 0) \(String(decoding: content?.bytes ?? [], as: UTF8.self))"
      )
    }
    return answer
  }

  /// The content with ids, times, tokens and proofs, which differ, as numbers in the order in which they first occur.
  private static func masked(_ value: JSONValue, _ values: inout TextMap<Int>) -> JSONValue {
    switch value {
    case .object(let members):
      return .object(
        members.map { member in
          .init(number(of: member.name, &values) ?? member.name, masked(member.value, &values))
        })
    case .array(let elements): return .array(elements.map { masked($0, &values) })
    case .string(let text): return .string(number(of: text, &values) ?? text)
    default: return value
    }
  }

  /// What stands in place of a text that was made up; nil for another.
  private static func number(of text: String, _ values: inout TextMap<Int>) -> String? {
    guard text.utf8.count > 7, text.utf8.contains(where: { (0x30...0x39).contains($0) }) else { return nil }
    let number = values[text] ?? values.count
    values[text] = number
    return "value \(number)"
  }
}

/// The real server, without threads and sockets.
///
/// @unchecked Sendable: one request at a time, under the lock.
private final class InlineTransport: Transport, @unchecked Sendable {
  private let server: InlineServer
  private let lock = NSLock()

  init(_ server: InlineServer) { self.server = server }

  func send(_ request: TransportRequest) async throws -> TransportAnswer {
    var headers = HTTPHeaders()
    headers.append(name: "Content-Type", value: "application/json")
    if let token = request.token { headers.append(name: "Authorization", value: "Bearer \(token)") }
    let answer = lock.withLock {
      server.respond(
        to: HTTPRequest(
          method: request.method, target: "/" + request.path, headers: headers, body: request.body ?? []))
    }
    let retryAfter = answer.headers.first { $0.name == "Retry-After" }.flatMap { Int($0.value) }
    return TransportAnswer(status: answer.status, retryAfter: retryAfter, body: answer.body)
  }
}
