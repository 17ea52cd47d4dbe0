import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// Which stream is told what: PROTOCOL.md, section 3.1.
@Suite("Events")
struct EventTests {
  /// What a device makes of its stream.
  private struct Received: Equatable {
    var events: [ServerSentEvent]
    var id: String

    var zones: [[String]] {
      events.filter { $0.type == "zones" }.map { event in
        let data = try? JSONValue(parsing: Array(event.data.utf8))
        return data?["zones"]?.elements?.compactMap(\.stringValue) ?? []
      }
    }

    var missed: Bool? {
      guard let hello = events.first, hello.type == "hello" else { return nil }
      return (try? JSONValue(parsing: Array(hello.data.utf8)))?["missed"]?.boolValue
    }
  }

  private let server: TestServer
  private let alice: TestDevice
  private let tablet: TestDevice
  private let bob: TestDevice
  private let list: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    tablet = try server.signIn("alice")
    bob = try server.signUp("bob")
    list = try alice.makeList()
    for device in [alice, tablet, bob] { try device.pull() }
  }

  private func inline() throws -> InlineServer { try #require(server.inline) }

  private func parse(_ bytes: [UInt8]) throws -> Received {
    var parser = EventStreamParser()
    return Received(events: try parser.receive(bytes), id: parser.lastEventID)
  }

  private func request(_ device: TestDevice, after id: String? = nil, token: String? = nil) -> HTTPRequest {
    var request = TestServer.request("GET", "/v1/events", [], token: token ?? device.token)
    if let id { request.headers.append(name: "Last-Event-ID", value: id) }
    return request
  }

  /// Opens a stream; what it hears first.
  @discardableResult
  private func open(_ device: TestDevice, _ stream: Int, after id: String? = nil) throws -> Received {
    try parse(try inline().open(request(device, after: id), stream: stream).get())
  }

  /// What is sent now, by stream.
  private func events() throws -> [Int: Received] {
    var received: [Int: Received] = [:]
    for (stream, bytes) in try inline().takeEvents() {
      let news = try parse(bytes)
      received[stream] = Received(events: (received[stream]?.events ?? []) + news.events, id: news.id)
    }
    return received
  }

  @Test("a change is told to the other devices that may read its zone, and to nobody else (I10)")
  func told() throws {
    _ = try alice.share(list, with: "bob")
    for (stream, device) in [alice, tablet, bob].enumerated() { try open(device, stream) }
    let carol = try server.signUp("carol")
    try open(carol, 3)
    #expect(try events().isEmpty)
    _ = try alice.makeItem(list)
    let received = try events()
    #expect(received.keys.sorted() == [1, 2])
    #expect(received[1]?.zones == [[list]])
    #expect(received[2]?.zones == [[list]])
    #expect(try events().isEmpty)
  }

  @Test("changes until the event leaves are one event, also of several writers, who are both told")
  func coalesced() throws {
    for (stream, device) in [alice, tablet].enumerated() { try open(device, stream) }
    for _ in 0..<5 { _ = try alice.makeItem(list) }
    try tablet.pull()
    _ = try tablet.makeItem(list)
    let received = try events()
    #expect(received[0]?.zones == [[list]])
    #expect(received[1]?.zones == [[list]])
  }

  @Test("two devices that write a zone in one commit are both told")
  func oneCommit() throws {
    for (stream, device) in [alice, tablet].enumerated() { try open(device, stream) }
    let requests = [alice, tablet].map { device in
      device.request([
        [.create("items", device.newID(), ["list_id": .string(list), "title": "together"])]
      ])
    }
    for (device, answer) in zip([alice, tablet], try inline().respond(to: requests)) {
      _ = try device.apply(answer)
    }
    #expect(try events().mapValues(\.zones) == [0: [[list]], 1: [[list]]])
  }

  @Test("a change set that is refused is told to nobody")
  func refused() throws {
    for (stream, device) in [alice, tablet].enumerated() { try open(device, stream) }
    _ = try alice.refused(
      .create("items", alice.newID(), ["list_id": .string(list), "title": "x"]),
      .create("items", alice.newID(), ["list_id": .string(alice.newID()), "title": "y"]))
    #expect(try events().isEmpty)
  }

  @Test(
    "who gains a zone is told to pull, and from then on of the zone; who loses it, to pull, and then no more (I4, I10)"
  )
  func members() throws {
    try open(bob, 0)
    let member = try alice.share(list, with: "bob")
    #expect(try events()[0]?.zones == [[]])
    _ = try alice.makeItem(list)
    #expect(try events()[0]?.zones == [[list]])
    try alice.sync([.delete("members", member)])
    #expect(try events()[0]?.zones == [[]])
    _ = try alice.makeItem(list)
    #expect(try events().isEmpty)
  }

  @Test("a device that makes a list hears of what others do in it")
  func ownList() throws {
    try open(alice, 0)
    let other = try alice.makeList("Other")
    _ = try events()
    try tablet.pull()
    _ = try tablet.makeItem(other)
    #expect(try events()[0]?.zones == [[other]])
  }

  @Test("a device that begins to follow a public zone hears of it, and no more when it ends")
  func followed() throws {
    try open(bob, 0)
    try Administration(server.location).grant(zone: "catalogue", name: "alice", role: .editor)
    func edit() throws {
      try alice.sync([.create("products", alice.newID(), ["name": "Tea"])])
    }
    try edit()
    #expect(try events().isEmpty)
    bob.acks["catalogue"] = ""
    bob.unsentAcks = [.init(zone: "catalogue", token: "")]
    try bob.pull()
    _ = try events()
    try edit()
    #expect(try events()[0]?.zones == [["catalogue"]])
    bob.acks["catalogue"] = nil
    bob.unsentAcks = [.init(zone: "catalogue", token: nil)]
    try bob.sync()
    _ = try events()
    try edit()
    #expect(try events().isEmpty)
  }

  @Test("who comes back is told what moved since its last event, once, or that nothing did")
  func resumed() throws {
    let first = try open(tablet, 0)
    #expect(first.missed == true)
    try inline().close(stream: 0)
    let again = try open(tablet, 1, after: first.id)
    #expect(again.missed == false)
    #expect(try events().isEmpty)
    try inline().close(stream: 1)
    _ = try alice.makeItem(list)
    try alice.sync([.create("notes", alice.newID(), ["text": "x"])])
    let back = try open(tablet, 2, after: again.id)
    #expect(back.missed == false)
    #expect(try events()[2]?.zones == [[alice.user, list].sorted()])
  }

  @Test(
    "who comes back after it gained a zone, with the id of another run, or with none of ours is told to pull (I4)"
  )
  func missed() throws {
    let before = try open(bob, 0).id
    try inline().close(stream: 0)
    _ = try alice.share(list, with: "bob")
    #expect(try open(bob, 1, after: before).missed == true)
    for id in ["", "0", "-1", "\(before)0000", "x\(before)", String(repeating: "9", count: 100)] {
      #expect(try open(tablet, id.count + 10, after: id).missed == true, "\(id)")
    }
    let last = try open(tablet, 500).id
    try server.reopen()
    #expect(try open(tablet, 1, after: last).missed == true)
  }

  @Test("a heartbeat has an id that counts, and takes along what waits")
  func heartbeats() throws {
    try open(tablet, 0)
    _ = try alice.makeItem(list)
    let beat = try #require(try inline().heartbeats().first)
    #expect(try parse(beat.bytes).zones == [[list]])
    #expect(try events().isEmpty)
    try alice.sync([.create("notes", alice.newID(), ["text": "x"])])
    _ = try events()
    let second = try parse(try #require(try inline().heartbeats().first).bytes)
    #expect(second.events.isEmpty)
    try inline().close(stream: 0)
    #expect(try open(tablet, 1, after: second.id).missed == false)
    #expect(try events().isEmpty)
  }

  @Test("a device has one stream: an older one is told so, and ends")
  func replaced() throws {
    try open(tablet, 0)
    try open(tablet, 1)
    #expect(try events()[0]?.events == [ServerSentEvent(type: "replaced", data: "{}")])
    #expect(try inline().takeEnded() == [0])
    _ = try alice.makeItem(list)
    #expect(try events().keys.sorted() == [1])
  }

  @Test("signing out, and signing in resynced as the same device, end the stream of the old token")
  func signedOut() throws {
    try open(tablet, 0)
    try open(alice, 1)
    _ = try server.respond(to: TestServer.request("DELETE", "/v1/sessions/current", [], token: tablet.token))
    #expect(try inline().takeEnded() == [0])
    let again = try server.signIn("alice", device: alice.id)
    #expect(again.id == alice.id)
    #expect(try inline().takeEnded() == [1])
  }

  @Test("a session that an operator ends, or that ends by time, ends its stream with the next heartbeat")
  func endedOtherwise() throws {
    try open(tablet, 0)
    try open(bob, 1)
    try Administration(server.location).revoke(device: tablet.id)
    #expect(try inline().heartbeats().map(\.stream) == [1])
    #expect(try inline().takeEnded() == [0])
    server.world.advance(401 * 86_400_000)
    #expect(try inline().heartbeats().isEmpty)
    #expect(try inline().takeEnded() == [1])
  }

  @Test("without a good token there is no stream")
  func unknown() throws {
    for token in ["", "wrong"] {
      guard case .failure(let refusal) = try inline().open(request(alice, token: token), stream: 0) else {
        Issue.record("a stream for a token that is none")
        continue
      }
      #expect(refusal.answer.status == 401)
      #expect(Problem(document: refusal.answer.body)?.code == (token.isEmpty ? .tokenMissing : .tokenInvalid))
    }
    let post = try server.post("/v1/events", [:], token: alice.token)
    #expect(post.status == 405)
    #expect(post.headers.contains { $0.name == "Allow" && $0.value == "GET, OPTIONS" })
  }
}
