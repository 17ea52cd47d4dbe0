import HoldfastCore
import HoldfastHTTP
@testable import HoldfastServer
import ServerScenes
import Synchronization
import Testing

/// Change sets that several copies of a device carry from another database: docs/MOVING.md, section 4. Invariants I1, I3, I6, I11.
@Suite struct CarriedChangeSetTests {
  let server: TestServer
  let alice: TestDevice
  let phone: TestDevice
  let list: String
  let item: String

  init() throws {
    server = try TestServer(MergeSchema.schema())
    alice = try server.signUp("alice")
    phone = try server.signIn("alice")
    list = try alice.makeList()
    item = alice.newID()
    try alice.sync([.create("items", item, ["list_id": .string(list), "votes": 1])])
    for device in [alice, phone] { try device.pull() }
  }

  /// One vote more. The body differs from device to device, as the clocks do.
  private func vote(at milliseconds: Int64) -> Sent {
    .update("items", item, ["votes": 2], base: ["votes": 1], at: Stamp(milliseconds: milliseconds))
  }

  private func origins() throws -> Int64? {
    try server.integer("SELECT count(*) FROM holdfast_carried", "SELECT count(*) FROM holdfast.carried")
  }

  private func expectVotes(_ votes: Int64, origins count: Int64) throws {
    for device in [alice, phone] {
      try device.pull()
      #expect(device.column("items", item, "votes") == .integer(votes))
    }
    #expect(try origins() == count)
    #expect(try server.findings().isEmpty)
  }

  @Test("one origin of a user takes effect once, whatever device sends it, also after a restart (I1)")
  func once() throws {
    #expect(try alice.carry("a1", vote(at: 8000)) == nil)
    #expect(try phone.carry("a1", vote(at: 7000)) == .alreadyApplied)
    try server.reopen()
    #expect(try alice.carry("a1", vote(at: 9000)) == .alreadyApplied)
    try expectVotes(2, origins: 1)
    #expect(try phone.carry("a2", vote(at: 7000)) == nil)
    try expectVotes(3, origins: 2)
  }

  @Test("a replay of a carried set is answered as the first time (I1)") func replay() throws {
    let request = alice.request([[vote(at: 8000)]], origin: "a1")
    for _ in 0..<2 { #expect(try SyncAnswer(body: server.respond(to: request).body).refused.isEmpty) }
    _ = try alice.apply(try server.respond(to: request))
    try expectVotes(2, origins: 1)
  }

  @Test("the origins of one request count for each other (I1)") func together() throws {
    let request = alice.request([[vote(at: 8000)], [vote(at: 8001)]])
    let text = String(decoding: request.body, as: UTF8.self)
    let (first, second) = (alice.confirmed + 1, alice.confirmed + 2)
    let body = text.replacing(
      "\"change_sets\"", with: "\"carried\":[[\(first),\"a1\"],[\(second),\"a1\"]],\"change_sets\"")
    let answer = try alice.apply(
      try server.post("/v1/sync", bytes: Array(body.utf8), token: alice.token))
    #expect(answer.refused.map(\.first) == [second])
    try expectVotes(2, origins: 1)
  }

  @Test("the same origin of another user is another one: nobody can claim what is somebody else's (I1, I3)")
  func users() throws {
    let bob = try server.signUp("bob")
    _ = try alice.share(list, with: "bob")
    try bob.pull()
    #expect(try bob.carry("a1", vote(at: 8000)) == nil)
    #expect(try alice.carry("a1", vote(at: 8000)) == nil)
    try expectVotes(3, origins: 2)
  }

  @Test("a set that is refused leaves no origin, and the same takes effect once it may (I1, I6)")
  func refused() throws {
    let tag = alice.newID()
    let set: [Sent] = [
      vote(at: 8000), .create("tags", tag, ["list_id": .string(list), "name": "much too long"]),
    ]
    let answer = try alice.apply(try server.respond(to: alice.request([set], origin: "a1")))
    #expect(answer.refused.count == 1)
    try expectVotes(1, origins: 0)
    #expect(try phone.carry("a1", vote(at: 8000)) == nil)
    try expectVotes(2, origins: 1)
  }

  @Test("a deletion in pieces has its origin from the last piece on (I1, I6)") func pieces() throws {
    let server = try TestServer(SyncSchema(json: Array(DeletionPiecesTests.text.utf8)))
    let devices = [try server.signUp("alice"), try server.signIn("alice")]
    let list = try devices[0].makeList()
    try devices[0].sync(
      (0..<500).map { _ in .create("items", devices[0].newID(), ["list_id": .string(list)]) })
    for device in devices { try device.pull() }
    server.world.pieceWork.withLock { $0 = 8000 }
    server.world.changeSetWork.withLock { $0 = 4000 }
    try server.reopen()
    func origins() throws -> Int64? {
      try server.integer("SELECT count(*) FROM holdfast_carried", "SELECT count(*) FROM holdfast.carried")
    }
    let request = devices[0].request([[.delete("lists", list)]], origin: "a1")
    let inline = try #require(server.inline)
    guard case .write(let command, _) = inline.api.handle(request),
      case .success(.unfinished)? = inline.service.apply([command])[0]
    else {
      Issue.record("It is done in one piece.")
      return
    }
    #expect(try origins() == 0)
    _ = try devices[0].apply(try server.respond(to: request))
    #expect(try origins() == 1)
    #expect(try devices[1].carry("a1", .delete("lists", list)) == .alreadyApplied)
    for device in devices {
      try device.pull()
      #expect(device.all("items").isEmpty && device.all("lists").isEmpty)
    }
    #expect(try server.findings().isEmpty)
  }

  @Test("origins go when they are as old as a device that has expired, and not before (I11)")
  func swept() throws {
    let inline = try #require(server.inline)
    #expect(try alice.carry("a1", vote(at: 8000)) == nil)
    server.world.advance(89 * RetentionTests.day)
    #expect(try inline.purge().carried == 0)
    #expect(try phone.carry("a1", vote(at: 9000)) == .alreadyApplied)
    server.world.advance(2 * RetentionTests.day)
    #expect(try inline.purge().carried == 1)
    #expect(try origins() == 0)
  }

  @Test("origins go with their user (I9)") func erased() throws {
    #expect(try alice.carry("a1", vote(at: 8000)) == nil)
    #expect(try origins() == 1)
    let erasure: JSONValue = ["password": "correct horse"]
    #expect(try RestClient(alice).send("DELETE", "/v1/account", erasure).status == 204)
    _ = try #require(server.inline).purge()
    #expect(try origins() == 0)
  }

  @Test(
    "what is said of carried sets must be of the request's sets, in their order, with origins of letters and digits",
    arguments: [
      #"[[9,"a1"]]"#, #"[[N,""]]"#, #"[[N,"a b"]]"#, #"[[N,"é"]]"#, #"[[N]]"#, #"[["N","a1"]]"#,
      #"[[N,"a1",1]]"#,
      #"[[N,"a1"],[N,"a1"]]"#, #"{"N":"a1"}"#, #"[[N,"LONG"]]"#,
    ])
  func malformed(_ carried: String) throws {
    let body = String(decoding: alice.request([[vote(at: 8000)]]).body, as: UTF8.self)
    let number = String(alice.confirmed + 1)
    let words = carried.replacing("LONG", with: String(repeating: "a", count: 65)).replacing(
      "N", with: number)
    let reply = try server.post(
      "/v1/sync",
      bytes: Array(body.replacing("\"change_sets\"", with: "\"carried\":\(words),\"change_sets\"").utf8),
      token: alice.token)
    #expect(reply.status == 400)
    #expect(try JSONValue(parsing: reply.body)["code"] == "invalid-request")
    try expectVotes(1, origins: 0)
  }
}
