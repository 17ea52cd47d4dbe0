import HoldfastCore
import HoldfastHTTP
@testable import HoldfastServer
@testable import HoldfastService
import ServerScenes
import Synchronization
import Testing

/// A deletion that takes many records along is done in several transactions, and others have their turns between: SERVER.md, "How
/// long one request holds the writer". Invariants I1, I6, I7, I12.
@Suite struct DeletionPiecesTests {
  static let text = """
    {"holdfast": 1, "name": "outline", "tables": {
      "lists": {"zone": "root", "columns": {"title": {"type": "text"}}},
      "items": {"zone": {"parent": "list_id"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
        "above_id": {"type": "reference", "to": "items", "on_delete": "cascade"}}},
      "tags": {"zone": {"parent": "list_id"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
        "item_id": {"type": "reference", "to": "items", "on_delete": "set_null"}}},
      "stars": {"zone": "user", "columns": {
        "item_id": {"type": "reference", "to": "items", "required": true}}}
    }}
    """

  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  let list: String

  init() throws { try self.init(Self.text) }

  private init(_ text: String) throws {
    server = try TestServer(SyncSchema(json: Array(text.utf8)))
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    list = try alice.makeList()
    _ = try alice.share(list, with: "bob")
    try bob.pull()
  }

  /// A list with items; from now on a transaction deletes 200 records.
  private func fill(_ count: Int, _ above: (Int, [String]) -> String? = { _, _ in nil }) throws -> [String] {
    let ids = (0..<count).map { _ in alice.newID() }
    try alice.sync(
      ids.enumerated().map { index, id in
        .create(
          "items", id,
          ["list_id": .string(list), "above_id": above(index, ids).map { .string($0) } ?? .null])
      })
    try cut()
    return ids
  }

  private func cut() throws {
    server.world.pieceWork.withLock { $0 = 8000 }
    server.world.changeSetWork.withLock { $0 = 4000 }
    try server.reopen()
  }

  private func tombstones(of table: String) throws -> Int64? {
    try server.integer(
      "SELECT count(*) FROM holdfast_tombstones WHERE record_table = '\(table)'",
      "SELECT count(*) FROM holdfast.records WHERE state > 0 AND record_table = '\(table)'")
  }

  /// Does one piece of a request, and the server stops.
  private func begin(_ request: HTTPRequest) throws {
    #expect(try part(of: request))
    try server.reopen()
  }

  private func part(of request: HTTPRequest) throws -> Bool {
    let inline = try #require(server.inline)
    guard case .write(let command, _) = inline.api.handle(request),
      case .success(.unfinished)? = inline.service.apply([command])[0]
    else { return false }
    return true
  }

  @Test("between two pieces others write, and what they add goes as well (I7, I12)")
  func turns() throws {
    _ = try fill(450)
    let late = RestClient(bob).request(
      "POST", "/v1/tables/items", ["columns": ["list_id": .string(list)]])
    let answers = try #require(server.inline).respond(to: [alice.request([[.delete("lists", list)]]), late])
    #expect(answers[1].status == 201)
    _ = try alice.apply(answers[0])
    for device in [alice, bob] {
      try device.pull()
      #expect(device.all("lists").isEmpty && device.all("items").isEmpty)
    }
    #expect(try tombstones(of: "items") == 451)
    #expect(try server.findings().isEmpty)
  }

  @Test("a server that stops between two pieces has confirmed nothing; sent again it is done, once (I1)")
  func crash() throws {
    let ids = try fill(450)
    let request = alice.request([[.delete("lists", list)]])
    try begin(request)
    try bob.pull()
    #expect(bob.has("lists", list) && bob.all("items").count < ids.count)
    _ = try alice.apply(try server.respond(to: request))
    _ = try server.respond(to: request)
    try bob.pull()
    #expect(!bob.has("lists", list) && bob.all("items").isEmpty)
    #expect(try tombstones(of: "items") == 450)
    #expect(try server.findings().isEmpty)
  }

  @Test("its zone leaves for no other database before the last piece, which would get half of it (I6)")
  func stays() throws {
    _ = try fill(450)
    func letGo() throws {
      let operators = try Administration(server.location, environment: server.world.environment)
      try operators.change(.move, Footprint(zones: [list])) { work, _, _ in
        try ZoneMoves(work).letGo(list, to: "b", number: 1)
      }
    }
    let request = alice.request([[.delete("lists", list)]])
    #expect(try part(of: request))
    #expect(throws: ServerError.self) { try letGo() }
    _ = try alice.apply(try server.respond(to: request))
    #expect(throws: ServerError.self) { try letGo() }
    #expect(try tombstones(of: "items") == 450)
    server.world.advance(61_000)
    try letGo()
    #expect(try server.findings().isEmpty)
  }

  @Test("a record that is moved away between two pieces stays (I3)")
  func movedAway() throws {
    let ids = try fill(450)
    let request = alice.request([[.delete("lists", list)]])
    try begin(request)
    try bob.pull()
    let left = try #require(ids.first { bob.has("items", $0) })
    let other = try bob.makeList("Other")
    try bob.sync([.update("items", left, ["list_id": .string(other)])])
    _ = try alice.apply(try server.respond(to: request))
    try bob.pull()
    #expect(bob.has("items", left) && bob.all("items").count == 1)
    #expect(try server.findings().isEmpty)
  }

  @Test("records below records, a circle, and those who refer to them from anywhere (I7, I9)")
  func shapes() throws {
    let ids = try fill(450) { index, ids in index == 0 ? ids[449] : ids[index - 1] }
    let (tags, stars) = ((0..<40).map { _ in alice.newID() }, (0..<40).map { _ in alice.newID() })
    try bob.pull()
    for start in [0, 20] {
      try bob.sync(stars[start..<start + 20].map { .create("stars", $0, ["item_id": .string(ids[7])]) })
      try alice.sync(
        tags[start..<start + 20].map {
          .create("tags", $0, ["list_id": .string(list), "item_id": .string(ids[9])])
        })
    }
    try alice.sync([.delete("items", ids[3])])
    for device in [alice, bob] {
      try device.pull()
      #expect(device.all("items").isEmpty && device.all("stars").isEmpty)
      #expect(device.all("tags").count == 40)
      #expect(tags.allSatisfy { device.column("tags", $0, "item_id") == .null })
    }
    #expect(try tombstones(of: "items") == 450)
    #expect(try server.findings().isEmpty)
  }

  @Test("by REST it is one answer, and each item of a bulk stands alone (I12)")
  func rest() throws {
    _ = try fill(450)
    #expect(try RestClient(alice).send("DELETE", "/v1/tables/lists/\(list)", id: "one").status == 200)
    #expect(try RestClient(alice).send("DELETE", "/v1/tables/lists/\(list)", id: "one").status == 200)
    #expect(try RestClient(bob).get("/v1/tables/lists/\(list)").status == 410)
    #expect(try tombstones(of: "items") == 450)
    #expect(try server.findings().isEmpty)
  }

  @Test("where something below may keep it from being done, it is done whole or not at all (I6)")
  func uncertain() throws {
    let other = try DeletionPiecesTests(Self.text.replacing("set_null", with: "restrict"))
    let (alice, bob, list) = (other.alice, other.bob, other.list)
    let ids = try other.fill(450)
    let (mine, tag) = (try alice.makeList("Mine"), alice.newID())
    try alice.sync([.create("tags", tag, ["list_id": .string(list), "item_id": .string(ids[449])])])
    #expect(try alice.refused(.delete("items", ids[449])).code == .referenceRestricted)
    #expect(try other.part(of: alice.request([[.delete("lists", mine)], [.delete("lists", list)]])) == false)
    try bob.pull()
    #expect(!bob.has("lists", list) && bob.all("items").isEmpty && !bob.has("tags", tag))
    #expect(try other.server.findings().isEmpty)
  }

  @Test(
    "a set that does more than delete is refused whole, and what a record takes along when it moves counts (I6)"
  )
  func mixed() throws {
    let ids = try fill(450)
    let other = try alice.makeList("Other")
    let mixed = try alice.refused(.update("lists", other, ["title": "New"]), .delete("lists", list))
    #expect(mixed.code == .changeSetTooLarge)
    try bob.pull()
    #expect(bob.all("items").count == ids.count)
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "a set may delete more records than it may have operations otherwise, if they go with others (I6, I11, I12)"
  )
  func many() throws {
    var ids: [String] = []
    for _ in 0..<3 {
      let some = (0..<3500).map { _ in alice.newID() }
      try alice.sync(some.map { .create("items", $0, ["list_id": .string(list)]) })
      ids += some
    }
    // The person has seen the second of these edits.
    try bob.pull()
    for id in ids[0..<2] { try bob.sync([.update("items", id, ["above_id": .string(ids[2])])]) }
    let others = (0..<3).map { _ in
      RestClient(bob).request("POST", "/v1/tables/items", ["columns": ["list_id": .string(list)]])
    }
    let set: [Sent] =
      [.delete("lists", list)] + ids.map { .delete("items", $0, rev: $0 == ids[1] ? 2 : 1) }
    let answers = try #require(server.inline).respond(to: [alice.request([set])] + others)
    #expect(answers.dropFirst().allSatisfy { $0.status == 201 })
    #expect(try alice.apply(answers[0]).refused.isEmpty)
    for device in [alice, bob] {
      try device.pull()
      #expect(device.all("lists").isEmpty && device.all("items").isEmpty)
    }
    // What was not seen of a record that is named, and the three that nobody named.
    #expect(
      try server.integer("SELECT count(*) FROM conflicts", "SELECT count(*) FROM holdfast.conflicts") == 4)
    #expect(try tombstones(of: "items") == 10_503)
    #expect(try server.findings().isEmpty)
  }
}
