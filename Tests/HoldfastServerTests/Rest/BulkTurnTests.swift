import HoldfastCore
import HoldfastHTTP
@testable import HoldfastServer
import ServerScenes
import Synchronization
import Testing

/// A request with many items is done in several transactions, and others have their turns between: PROTOCOL.md, section 9.2.
/// Invariants I1, I6, I10, I12.
@Suite struct BulkTurnTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  let rest: RestClient
  let list: String

  init() throws {
    server = try TestServer(RestSchema.make())
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    rest = RestClient(alice)
    list = try rest.create("lists", ["title": "Groceries"])
    server.world.changeSetBudget.withLock { $0 = 2 }
    try server.reopen()
  }

  private func items(_ titles: [String]) -> JSONValue {
    ["records": .array(titles.map { ["columns": ["list_id": .string(list), "title": .string($0)]] })]
  }

  private func bulk(id: String? = nil, of client: RestClient? = nil) -> HTTPRequest {
    (client ?? rest).request("POST", "/v1/tables/items", items(["A", "B", "C", "D", "E"]), id: id)
  }

  private func seqs(_ reply: RestClient.Reply) -> [Int64?] {
    reply.results.map { $0["record"]?["seq"]?.integerValue }
  }

  /// Bob becomes an editor of the list; gives the id of the membership.
  private func share() throws -> String {
    let reply = try rest.send(
      "POST", "/v1/tables/members",
      ["zone": .string(list), "columns": ["name": "bob", "role": "editor"]])
    try server.accept(reply.id, by: "bob")
    return reply.id
  }

  /// Does one part of a request, and the server stops.
  private func begin(_ request: HTTPRequest) throws -> RestProgress {
    let progress = try part(of: request)
    try server.reopen()
    return try #require(progress)
  }

  private func part(of request: HTTPRequest) throws -> RestProgress? {
    let inline = try #require(server.inline)
    guard case .write(let command, _) = inline.api.handle(request),
      case .success(.unfinished(let progress))? = inline.service.apply([command])[0]
    else { return nil }
    return progress
  }

  @Test("between two parts of a bulk another user's write commits, and the bulk gets one answer (I12)")
  func turns() throws {
    _ = try share()
    let other = RestClient(bob).request(
      "POST", "/v1/tables/items", ["columns": ["list_id": .string(list), "title": "Bob's"]])
    let answers = try #require(server.inline).respond(to: [bulk(), other]).map { RestClient.Reply($0) }
    #expect(answers.map(\.status) == [200, 201])
    #expect(answers[0].statuses == [201, 201, 201, 201, 201])
    let first = try #require(answers[1].json["seq"]?.integerValue) - 2
    #expect(seqs(answers[0]) == [first, first + 1, first + 3, first + 4, first + 5])
    #expect(try server.findings().isEmpty)
  }

  @Test("a repeat after a crash in the middle does what is left, once, and answers for all (I1)")
  func crash() throws {
    let progress = try begin(bulk(id: "a1"))
    #expect(progress.done == 2)
    try alice.pull()
    #expect(alice.all("items").count == 2)
    let reply = RestClient.Reply(try server.respond(to: bulk(id: "a1")))
    #expect(reply.status == 200 && !reply.isReplay && reply.statuses == [201, 201, 201, 201, 201])
    try alice.pull()
    let shown = reply.results.compactMap { $0["record"]?["id"]?.stringValue }
    #expect(TextSet(shown).count == 5 && alice.all("items").count == 5)
    #expect(shown.allSatisfy { alice.records["items \($0)"]?.rev == 1 })
    #expect(reply.results.allSatisfy { $0["record"]?["created_by_request_id"] == "a1" })
    let again = RestClient.Reply(try server.respond(to: bulk(id: "a1")))
    #expect(again.isReplay && again.body == reply.body)
    let other = rest.request("POST", "/v1/tables/items", items(["X"]), id: "a1")
    #expect(RestClient.Reply(try server.respond(to: other)).code == "request-id-reused")
    #expect(try server.findings().isEmpty)
  }

  @Test("another request of the same id is refused while the first is half done (I1)")
  func reused() throws {
    _ = try begin(bulk(id: "a1"))
    let other = rest.request("POST", "/v1/tables/items", items(["X"]), id: "a1")
    #expect(RestClient.Reply(try server.respond(to: other)).code == "request-id-reused")
  }

  @Test("a bulk that comes twice at once is done once, and both get the same answer (I1)")
  func twice() throws {
    let answers = try #require(server.inline).respond(to: [bulk(id: "a1"), bulk(id: "a1")])
    #expect(answers[0].body == answers[1].body)
    #expect(RestClient.Reply(answers[0]).statuses == [201, 201, 201, 201, 201])
    try alice.pull()
    #expect(alice.all("items").count == 5)
    #expect(try server.findings().isEmpty)
  }

  @Test("what was seen before access was lost is not shown by the rest of the request (I10)")
  func revoked() throws {
    let membership = try share()
    let request = bulk(id: "b1", of: RestClient(bob))
    #expect(try begin(request).done == 2)
    try rest.send("DELETE", "/v1/tables/members/\(membership)")
    let reply = RestClient.Reply(try server.respond(to: request))
    #expect(reply.status == 200 && reply.statuses.allSatisfy { $0 >= 400 })
    #expect(reply.results.allSatisfy { $0["record"] == nil })
    try alice.pull()
    #expect(alice.all("items").count == 2)
  }

  @Test("answers that were kept before stay, however many parts a bulk has (I1)")
  func places() throws {
    let first = try rest.send("POST", "/v1/tables/items", items(["X"]), id: "first")
    server.world.changeSetBudget.withLock { $0 = 1 }
    try server.reopen()
    let before = try numbers()
    #expect(RestClient.Reply(try server.respond(to: bulk(id: "a1"))).statuses.count == 5)
    #expect(try numbers() == before + 2)
    let again = try rest.send("POST", "/v1/tables/items", items(["X"]), id: "first")
    #expect(again.isReplay && again.body == first.body)
  }

  /// The number of the last answer that is kept.
  private func numbers() throws -> Int64 {
    try #require(
      try server.integer(
        "SELECT max(number) FROM holdfast_requests", "SELECT max(number) FROM holdfast.requests"))
  }

  @Test(
    "an atomic bulk that is too much work is refused whole, and says what to do; in parts it is done (I6)")
  func atomic() throws {
    server.world.changeSetWork.withLock { $0 = 150 }
    try server.reopen()
    let body: JSONValue = [
      "atomic": true, "records": items(["A", "B", "C"])["records"] ?? .null,
    ]
    let refused = try rest.send("POST", "/v1/tables/items", body)
    #expect(refused.status == 422 && refused.code == "batch-refused")
    let error = refused.json["errors"]?.elements?.first
    #expect(error?["index"] == 2 && error?["problem"]?["code"] == "change-set-too-large")
    try alice.pull()
    #expect(alice.all("items").isEmpty)
    #expect(try rest.send("POST", "/v1/tables/items", items(["A", "B", "C"])).statuses == [201, 201, 201])
    try alice.pull()
    #expect(alice.all("items").count == 3)
  }

  @Test("records that go along count as work; a deletion alone is never refused for it (I6)")
  func cascade() throws {
    _ = try rest.send("POST", "/v1/tables/items", items(["A", "B", "C"]))
    let other = try rest.create("lists", ["title": "Other"])
    server.world.changeSetWork.withLock { $0 = 150 }
    try server.reopen()
    try alice.pull()
    #expect(try alice.refused(.delete("lists", list), .delete("lists", other)).code == .changeSetTooLarge)
    #expect(try rest.get("/v1/tables/lists/\(list)").status == 200)
    try alice.sync([.delete("lists", list)])
    #expect(try rest.get("/v1/tables/lists/\(list)").status == 410)
    try alice.pull()
    #expect(alice.all("items").isEmpty)
    #expect(try server.findings().isEmpty)
  }
}
