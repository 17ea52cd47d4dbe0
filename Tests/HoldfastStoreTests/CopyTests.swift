import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

/// What a copy of a device is told of what the other has brought through. Invariants I1, I3.
@Suite struct CopyTests {
  let server: TestServer
  let alice: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
  }

  private func copy() throws -> (device: TestDevice, applied: AppliedChangeSets) {
    let response = try server.post("/v1/devices", ["name": "copy"], token: alice.token)
    try #require(response.status == 201)
    let session = try JSONValue(parsing: response.body)
    return (try TestDevice(server, session), try #require(session["applied"].flatMap(AppliedChangeSets.init)))
  }

  @Test(
    "change sets that were damaged on their way are not applied, and come through when they are sent again (I1)"
  )
  func damaged() throws {
    let id = alice.newID()
    let sent = alice.request([[.create("lists", id, ["title": "eggs"])]])
    for (letter, other) in [("eggs", "legs"), (id, alice.newID()), ("\"create\"", "\"delete\"")] {
      let body = Array(String(decoding: sent.body, as: UTF8.self).replacing(letter, with: other).utf8)
      let answer = try server.respond(
        to: TestServer.request("POST", "/v1/sync", body, token: alice.token))
      #expect(answer.status == 400)
    }
    let answer = try alice.apply(try server.respond(to: sent))
    #expect(answer.confirmed == 1 && answer.refused.isEmpty)
    try alice.pull()
    #expect(alice.all("lists").count == 1 && alice.column("lists", id, "title") == "eggs")
  }

  @Test("a copy is told which change sets took effect, and which were refused (I1, I8)")
  func applied() throws {
    try alice.sync([.create("lists", alice.newID(), ["title": "One"])])
    let first = alice.chain
    try alice.sync([.update("lists", alice.newID(), ["title": "refused"])])
    let second = alice.chain
    try alice.sync(
      [
        .create("lists", alice.newID(), ["title": "Two"]),
        .create("lists", alice.newID(), ["title": "Three"]),
      ])
    let applied = try copy().applied
    #expect(applied.completeFrom == 0)
    #expect(applied.entries == [.init(last: 1, chain: first), .init(last: 4, chain: alice.chain)])
    #expect(applied.refused == [.init(last: 2, chain: second)])
  }

  @Test("the server remembers the last 64, and says from where on they are all (I11)")
  func bound() throws {
    let list = try alice.makeList()
    let confirmed = alice.confirmed
    for _ in 0..<3 {
      let sets = (0..<30).map { number in
        [Sent.create("items", alice.newID(), ["list_id": .string(list), "title": .string("\(number)")])]
      }
      _ = try alice.apply(try server.respond(to: alice.request(sets)))
    }
    try server.reopen()
    let applied = try copy().applied
    #expect(applied.entries.count == 64)
    #expect(applied.entries.last == .init(last: confirmed + 90, chain: alice.chain))
    #expect(applied.completeFrom == confirmed + 90 - 63)
  }

  @Test("who signs in with an old session is a copy, and is told the same (I1)")
  func oldSession() throws {
    try alice.sync([.create("lists", alice.newID(), ["title": "One"])])
    func signIn(session: Int) throws -> JSONValue {
      let device: JSONValue = ["name": "phone", "id": .string(alice.id), "session": .integer(Int64(session))]
      let body: JSONValue = ["name": "alice", "password": "correct horse", "device": device]
      return try JSONValue(parsing: server.post("/v1/sessions", body).body)
    }
    let next = try signIn(session: 1)
    #expect(next["applied"] == nil)
    let device = try TestDevice(server, next)
    (device.confirmed, device.chain, device.answers) = (alice.confirmed, alice.chain, alice.answers)
    try device.sync([.create("lists", alice.newID(), ["title": "Two"])])
    let stale = try signIn(session: 1)
    #expect(stale["device"]?["id"]?.stringValue != alice.id)
    #expect(stale["applied"]?["sets"]?.elements?.count == 2)
  }
}
