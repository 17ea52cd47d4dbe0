import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import ServerScenes
import Testing

/// Numbers, chains, replays and lost answers. Invariants I1, I2, I6, I12.
@Suite struct ExactlyOnceTests {
  let server: TestServer
  let alice: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
  }

  @Test("a replay is answered as the first time and has no second effect (I1)")
  func replay() throws {
    let list = alice.newID()
    let request = alice.request([[.create("lists", list, ["title": "One"])]])
    let first = try alice.apply(try server.respond(to: request))
    alice.acks = [:]
    let second = try alice.apply(try server.respond(to: request))
    #expect(second.confirmed == first.confirmed)
    #expect(second.chain == first.chain)
    #expect(alice.records["lists \(list)"]?.rev == 1)
  }

  @Test("a replay after a lost answer and a restart of the server has no second effect (I1, I2)")
  func replayAfterRestart() throws {
    let list = alice.newID()
    let request = alice.request([
      [.create("lists", list, ["title": "One"])], [.update("lists", alice.newID(), ["title": "x"])],
    ])
    _ = try server.respond(to: request)
    try server.reopen()
    let answer = try alice.apply(try server.respond(to: request))
    #expect(answer.confirmed == 2)
    #expect(answer.refused.map(\.first) == [2])
    #expect(alice.records["lists \(list)"]?.rev == 1)
    #expect(try server.findings().isEmpty)
  }

  @Test("a refusal is said until the device has dealt with it, and no longer (I11)")
  func refusalUntilAcked() throws {
    let request = alice.request([[.update("lists", alice.newID(), ["title": "x"])]])
    #expect(try SyncAnswer(body: server.respond(to: request).body).refused.count == 1)
    let again = try SyncAnswer(body: server.respond(to: request).body)
    #expect(again.refused.count == 1)
    alice.confirmed = again.confirmed
    alice.chain = again.chain
    alice.answers = 1
    #expect(try alice.sync().refused.isEmpty)
  }

  @Test("a poison set between good ones is refused alone (I12)")
  func poison() throws {
    let (one, two) = (alice.newID(), alice.newID())
    let answer = try alice.sync(
      [.create("lists", one, ["title": "One"])],
      [.create("lists", alice.newID(), ["title": "Good"]), .create("lists", alice.newID(), ["title": 1])],
      [.create("items", alice.newID(), ["list_id": .string(alice.newID()), "title": "Orphan"])],
      [.create("lists", two, ["title": "Two"])])
    #expect(answer.confirmed == 5)
    #expect(answer.refused.map(\.first) == [2, 4])
    #expect(answer.refused.map(\.last) == [3, 4])
    #expect(answer.refused.map(\.operation) == [3, 4])
    #expect(alice.all("lists").compactMap { $0["title"]?.stringValue }.sorted() == ["One", "Two"])
    #expect(try server.findings().isEmpty)
  }

  @Test("a set whose last operation is refused leaves nothing of itself, nor a gap in seq (I6, I4)")
  func atomic() throws {
    let list = try alice.makeList()
    try alice.pull()
    let problem = try alice.refused(
      .create("items", alice.newID(), ["list_id": .string(list), "title": "A"]),
      .create("lists", alice.newID(), ["title": "B"]), .update("lists", alice.newID(), ["title": "C"]))
    #expect(problem.code == .recordUnknown)
    try alice.pull()
    #expect(alice.all("items").isEmpty)
    #expect(alice.all("lists").count == 1)
    let item = try alice.makeItem(list)
    #expect(alice.has("items", item))
    #expect(try server.findings().isEmpty)
  }

  @Test("the same numbers with other content are a diverged device: 409, nothing written (I1, I3)")
  func diverged() throws {
    let copy = alice.request([[.create("lists", alice.newID(), ["title": "Copy"])]])
    _ = try alice.makeList("Original")
    let answer = try server.respond(to: copy)
    #expect(answer.status == 409)
    #expect(Problem(document: answer.body)?.code == .deviceDiverged)
    try alice.pull()
    #expect(alice.all("lists").compactMap { $0["title"]?.stringValue } == ["Original"])
  }

  @Test("a wrong chain before new operations is a diverged device")
  func divergedBefore() throws {
    _ = try alice.makeList()
    alice.chain = Fingerprint(of: "other")
    let answer = try server.respond(to: alice.request([[.create("lists", alice.newID(), ["title": "x"])]]))
    #expect(Problem(document: answer.body)?.code == .deviceDiverged)
  }

  @Test("a gap in the numbers is a diverged device, and writes neither acks nor answers")
  func gap() throws {
    alice.confirmed = 5
    alice.unsentAcks = [.init(zone: alice.user, token: "")]
    let answer = try server.respond(to: alice.request([[.create("lists", alice.newID(), ["title": "x"])]]))
    #expect(answer.status == 409)
    alice.confirmed = 0
    alice.unsentAcks = []
    try alice.pull()
    #expect(alice.all("lists").isEmpty)
  }

  @Test("of two requests with the same numbers at once one takes effect, and both are confirmed (I1)")
  func simultaneous() throws {
    let list = alice.newID()
    let request = alice.request([[.create("lists", list, ["title": "One"])]])
    let inline = try #require(server.inline)
    let answers = inline.respond(to: [request, request])
    #expect(answers.map(\.status) == [200, 200])
    #expect(try answers.map { try SyncAnswer(body: $0.body).confirmed } == [1, 1])
    _ = try alice.apply(answers[1])
    #expect(alice.records["lists \(list)"]?.rev == 1)
  }

  @Test("in a shared transaction a diverged device harms no other")
  func batch() throws {
    let bob = try server.signUp("bob")
    alice.confirmed = 9
    let list = bob.newID()
    let inline = try #require(server.inline)
    let answers = inline.respond(to: [
      alice.request([[.create("lists", alice.newID(), ["title": "x"])]]),
      bob.request([[.create("lists", list, ["title": "Bob's"])]]),
    ])
    #expect(answers.map(\.status) == [409, 200])
    _ = try bob.apply(answers[1])
    #expect(bob.has("lists", list))
  }

  @Test("a copy of a device asks for a new identity and sends again, without doubles (I1)")
  func copy() throws {
    let list = try alice.makeList("One")
    let answer = try server.post("/v1/devices", ["name": "copy"], token: alice.token)
    #expect(answer.status == 201)
    let copy = try TestDevice(server, try JSONValue(parsing: answer.body))
    #expect(copy.user == alice.user)
    #expect(copy.id != alice.id)
    #expect(try copy.sync([.create("lists", list, ["title": "One"])]).refused.isEmpty)
    #expect(copy.records["lists \(list)"]?.rev == 1)
    #expect(copy.all("conflicts").isEmpty)
  }

  @Test("a device that never deals with its refusals may not gather them without end (I11)")
  func refusalsBounded() throws {
    let wrong = (0..<1000).map { _ in [Sent.update("lists", alice.newID(), ["title": "x"])] }
    var statuses: [Int] = []
    for _ in 0..<4 {
      alice.answers = 0
      let response = try server.respond(to: alice.request(wrong))
      statuses.append(response.status)
      if response.status == 200 { _ = try alice.apply(response) }
    }
    #expect(statuses == [200, 200, 400, 400])
    // The answer before said all of them: once that is acked, the device goes on.
    alice.answers = alice.confirmed
    #expect(try alice.sync([.create("lists", alice.newID(), ["title": "x"])]).refused.isEmpty)
  }
}
