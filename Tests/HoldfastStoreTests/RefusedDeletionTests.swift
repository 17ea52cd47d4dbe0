import HoldfastCore
import HoldfastHTTP
@testable import HoldfastServer
@testable import HoldfastService
import ServerScenes
import Synchronization
import Testing

/// A set of deletions that is refused deletes nothing, also where it would take several transactions, and one that has begun is not refused:
/// SERVER.md, "How long one request holds the writer". Invariants I6, I10.
@Suite struct RefusedDeletionTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  /// Two lists of 450 items, in which Bob is an editor.
  let lists: [String]

  init() throws {
    server = try TestServer(SyncSchema(json: Array(DeletionPiecesTests.text.utf8)))
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    lists = [try alice.makeList("L"), try alice.makeList("K")]
    for list in lists {
      _ = try alice.share(list, with: "bob")
      try alice.sync((0..<450).map { _ in .create("items", alice.newID(), ["list_id": .string(list)]) })
    }
    // From now on a transaction deletes 200 records.
    server.world.pieceWork.withLock { $0 = 8000 }
    try server.reopen()
    for device in [alice, bob] { try device.pull() }
  }

  /// The number of items, as another device finds them.
  private func items(of list: String) throws -> Int? {
    let answer = try RestClient(alice).get("/v1/tables/items?zone=\(list)&limit=1&count=true")
    return answer.json["count"]?.integerValue.map { Int($0) }
  }

  private func membership(of user: String, in zone: String) throws -> String {
    let members = try RestClient(alice).get("/v1/tables/members?zone=\(zone)").json["records"]?.elements ?? []
    return try #require(members.first { $0["columns"]?["user"] == .string(user) }?["id"]?.stringValue)
  }

  private func nothingIsGone() throws {
    for list in lists { #expect(try items(of: list) == 450) }
    for device in [alice, bob] {
      try device.pull()
      #expect(lists.allSatisfy { device.has("lists", $0) } && device.all("items").count == 900)
    }
    #expect(try server.findings().isEmpty)
  }

  /// Does one piece of a request, then `between`, then the rest.
  private func send(_ request: HTTPRequest, between: () throws -> Void) throws -> HTTPResponse {
    let service = try #require(server.inline).service
    guard case .write(let command, let answer) = try #require(server.inline).api.handle(request),
      case .success(.unfinished(let progress))? = service.apply([command])[0]
    else {
      Issue.record("It is not done in pieces.")
      return .problem(Problem(.internalError))
    }
    try between()
    var rest = command.goingOn(from: progress)
    while true {
      let result = try #require(service.apply([rest])[0])
      guard case .success(.unfinished(let progress)) = result else { return answer(result) }
      rest = rest.goingOn(from: progress)
    }
  }

  @Test("for a record that the author may not delete, after others that go (I6, I10)")
  func role() throws {
    let third = try alice.makeList("M")
    let item = alice.newID()
    try alice.sync([.create("items", item, ["list_id": .string(third)])])
    _ = try alice.share(third, with: "bob", as: .viewer)
    try bob.pull()
    let refused = try bob.refused(
      .delete("lists", lists[0]), .delete("lists", lists[1]), .delete("items", item))
    #expect(refused.code == .roleInsufficient)
    try alice.sync([.delete("lists", third)])
    try nothingIsGone()
  }

  @Test("for the membership of a last owner (I6)")
  func lastOwner() throws {
    let third = try alice.makeList("M")
    let refused = try alice.refused(
      .delete("lists", lists[0]), .delete("members", try membership(of: alice.user, in: third)))
    #expect(refused.code == .lastOwner)
    try alice.sync([.delete("lists", third)])
    try nothingIsGone()
  }

  @Test("with a condition it is one transaction, so nobody writes between the check and the end (I6)")
  func condition() throws {
    let rest = RestClient(bob)
    let path = "/v1/tables/lists/\(lists[0])"
    #expect(try rest.send("DELETE", path, nil, ["If-Match": "\"7\""]).status == 412)
    try nothingIsGone()
    let request = rest.request("DELETE", path, nil, ["If-Match": "\"1\""])
    guard case .write(let command, _) = try #require(server.inline).api.handle(request) else {
      Issue.record("A deletion is a write.")
      return
    }
    guard case .success(.rest(let answer, _))? = try #require(server.inline).service.apply([command])[0]
    else {
      Issue.record("It is not done in one transaction.")
      return
    }
    #expect(answer.status == 200)
    #expect(try items(of: lists[0]) == 0 && items(of: lists[1]) == 450)
  }

  @Test("the named records go together, in the last transaction (I6)")
  func together() throws {
    let answer = try send(alice.request([lists.map { .delete("lists", $0) }])) {
      try bob.pull()
      #expect(lists.allSatisfy { bob.has("lists", $0) } && bob.all("items").count < 900)
      let late = Sent.create("items", bob.newID(), ["list_id": .string(lists[0])])
      #expect(try bob.sync([late]).refused.isEmpty)
    }
    #expect(try alice.apply(answer).refused.isEmpty)
    for device in [alice, bob] {
      try device.pull()
      #expect(device.all("lists").isEmpty && device.all("items").isEmpty)
    }
    #expect(try server.findings().isEmpty)
  }

  @Test("who loses the right between two pieces has decided before (I6)", arguments: ["viewer", nil])
  func demoted(_ role: String?) throws {
    let answer = try send(bob.request([lists.map { .delete("lists", $0) }])) {
      let member = try membership(of: bob.user, in: lists[1])
      try alice.sync([
        role.map { .update("members", member, ["role": .string($0)], rev: 2) } ?? .delete("members", member)
      ])
      #expect(try RestClient(bob).send("DELETE", "/v1/tables/lists/\(lists[1])").status != 200)
    }
    #expect(try bob.apply(answer).refused.isEmpty)
    try alice.pull()
    #expect(alice.all("lists").isEmpty && alice.all("items").isEmpty)
    #expect(try server.findings().isEmpty)
  }

  @Test("a named record that others move between two pieces, to where the author may not delete, stays (I10)")
  func moved() throws {
    let top = alice.newID()
    try alice.sync([.create("items", top, ["list_id": .string(lists[0])])])
    for start in stride(from: 0, to: 400, by: 100) {
      try alice.sync(
        (start..<start + 100).map { _ in
          .create("items", alice.newID(), ["list_id": .string(lists[0]), "above_id": .string(top)])
        })
    }
    let hidden = try alice.makeList("Hidden")
    try bob.pull()
    let answer = try send(bob.request([[.delete("items", top)]])) {
      try alice.pull()
      let below = alice.records.filter { $0.value.columns["above_id"] == .string(top) }.map {
        String($0.key.dropFirst("items ".count))
      }
      #expect(!below.isEmpty)
      let moves = [Sent.update("items", top, ["list_id": .string(hidden)])]
      #expect(
        try alice.sync(moves + below.map { .update("items", $0, ["list_id": .string(hidden)]) }).refused
          .isEmpty)
    }
    #expect(try bob.apply(answer).refused.isEmpty)
    for device in [alice, bob] { try device.pull() }
    #expect(alice.has("items", top) && !bob.has("items", top))
    #expect(try server.findings().isEmpty)
  }

  @Test("records that refer to each other in a circle refuse it at once, or go with the last piece (I6)")
  func circle() throws {
    let text = DeletionPiecesTests.text.replacing(
      "\"items\": {",
      with: """
        "pairs": {"zone": {"parent": "list_id"}, "columns": {
          "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
          "other_id": {"type": "reference", "to": "pairs", "required": true, "on_delete": "cascade"}}},
        "items": {
        """)
    let server = try TestServer(SyncSchema(json: Array(text.utf8)))
    let alice = try server.signUp("alice")
    let (first, second) = (try alice.makeList("A"), try alice.makeList("B"))
    for list in [first, second] {
      try alice.sync((0..<450).map { _ in .create("items", alice.newID(), ["list_id": .string(list)]) })
    }
    let ids = (0..<2).map { _ in alice.newID() }
    try alice.sync(
      ids.indices.map {
        .create("pairs", ids[$0], ["list_id": .string(second), "other_id": .string(ids[1 - $0])])
      })
    server.world.pieceWork.withLock { $0 = 8000 }
    try server.reopen()
    #expect(try alice.refused(.delete("lists", second)).code == .changeSetTooLarge)
    try alice.pull()
    #expect(alice.all("items").count == 900 && alice.all("pairs").count == 2)
    #expect(try alice.sync([.delete("lists", first), .delete("lists", second)]).refused.isEmpty)
    try alice.pull()
    #expect(alice.all("lists").isEmpty && alice.all("items").isEmpty && alice.all("pairs").isEmpty)
    #expect(try server.findings().isEmpty)
  }
}
