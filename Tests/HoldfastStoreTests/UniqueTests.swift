import HoldfastCore
import HoldfastServer
import ServerScenes
import Testing

/// Unique values are looked at when a change set is whole: order decides nothing. Invariant I12.
@Suite struct UniqueTests {
  let server: TestServer
  let alice: TestDevice
  let phone: TestDevice
  let list: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    phone = try server.signIn("alice")
    list = try alice.makeList()
  }

  private func makeTag(_ name: String, in list: String? = nil) throws -> String {
    let id = alice.newID()
    let answer = try alice.sync([.create("tags", id, columns(name, list))])
    #expect(answer.refused.isEmpty)
    return id
  }

  private func columns(_ name: String, _ list: String? = nil) -> JSONValue {
    ["list_id": .string(list ?? self.list), "name": .string(name)]
  }

  private func rename(_ id: String, _ name: String, rev: Int64 = 1) -> Sent {
    .update("tags", id, ["name": .string(name)], rev: rev)
  }

  private func settle() throws {
    try alice.pull()
    try phone.pull()
    #expect(alice.records == phone.records)
    #expect(try server.findings().isEmpty)
  }

  private func name(_ id: String) -> String? { phone.column("tags", id, "name")?.stringValue }

  @Test("two records swap a unique value in one set (I12)")
  func swap() throws {
    let (a, b) = (try makeTag("a"), try makeTag("b"))
    #expect(try alice.sync([rename(a, "b"), rename(b, "a")]).refused.isEmpty)
    try settle()
    #expect(name(a) == "b" && name(b) == "a")
  }

  @Test("three records rotate a unique value, and back (I12)")
  func rotation() throws {
    let ids = [try makeTag("a"), try makeTag("b"), try makeTag("c")]
    #expect(
      try alice.sync([rename(ids[0], "b"), rename(ids[1], "c"), rename(ids[2], "a")]).refused.isEmpty)
    #expect(
      try alice.sync([
        rename(ids[2], "c", rev: 2), rename(ids[0], "a", rev: 2), rename(ids[1], "b", rev: 2),
      ]).refused.isEmpty)
    try settle()
    #expect(ids.map(name) == ["a", "b", "c"])
  }

  @Test("a value is freed and taken in one set, in either order (I12)", arguments: [false, true])
  func freed(_ isTakenFirst: Bool) throws {
    let a = try makeTag("a")
    let new = alice.newID()
    var set = [rename(a, "z"), Sent.create("tags", new, columns("a"))]
    if isTakenFirst { set.reverse() }
    #expect(try alice.sync(set).refused.isEmpty)
    try settle()
    #expect(name(a) == "z" && name(new) == "a")
  }

  @Test(
    "a record is deleted and its value taken in one set, in either order (I12)", arguments: [false, true])
  func deleted(_ isTakenFirst: Bool) throws {
    let (a, b) = (try makeTag("a"), try makeTag("b"))
    let new = alice.newID()
    var set = [
      Sent.delete("tags", a), Sent.create("tags", new, columns("b")), rename(b, "a"),
    ]
    if isTakenFirst { set.reverse() }
    #expect(try alice.sync(set).refused.isEmpty)
    try settle()
    #expect(!phone.has("tags", a))
    #expect(name(b) == "a" && name(new) == "b")
  }

  @Test("two records change places between zones with one name (I12)")
  func zones() throws {
    let other = try alice.makeList("Other")
    let (a, b) = (try makeTag("a"), try makeTag("a", in: other))
    #expect(
      try alice.sync([
        .update("tags", a, ["list_id": .string(other)]), .update("tags", b, ["list_id": .string(list)]),
      ]).refused.isEmpty)
    try settle()
    #expect(phone.records["tags \(a)"]?.zone == other && phone.records["tags \(b)"]?.zone == list)
    // A third leaves while a new one comes.
    let new = alice.newID()
    #expect(
      try alice.sync([
        .create("tags", new, columns("a", other)), .update("tags", a, ["list_id": .string(list)], rev: 2),
        rename(b, "b", rev: 2),
      ]).refused.isEmpty)
    try settle()
  }

  @Test("a move into a zone where the value is taken is refused whole (I6, I12)")
  func movedIntoTaken() throws {
    let other = try alice.makeList("Other")
    let (a, b) = (try makeTag("a"), try makeTag("a", in: other))
    let problem = try alice.refused(.update("tags", a, ["list_id": .string(other)]))
    #expect(problem.code == .uniqueTaken)
    #expect(problem.taken?.record == b)
    try settle()
    #expect(phone.records["tags \(a)"]?.zone == list)
  }

  @Test("a set that leaves two records with one value is refused at the later one (I12)")
  func taken() throws {
    let (a, b) = (try makeTag("a"), try makeTag("b"))
    let answer = try alice.sync([rename(a, "c"), rename(b, "x"), rename(a, "x", rev: 2), rename(b, "a")])
    #expect(answer.refused.isEmpty)
    let new = alice.newID()
    let refused = try alice.sync([
      .create("tags", alice.newID(), columns("n")), .create("tags", new, columns("x")),
      .create("tags", alice.newID(), columns("x")),
    ])
    let problem = try #require(refused.refused.last.flatMap { Problem(document: $0.problem) })
    #expect(problem.code == .uniqueTaken)
    #expect(problem.taken?.record == a || problem.taken?.record == new)
    try settle()
    #expect(!phone.has("tags", new))
    #expect(name(a) == "x")
  }

  @Test("a deleted record comes back with a value that another gives up in the same set (I8, I12)")
  func restored() throws {
    let a = try makeTag("a")
    try alice.sync([.delete("tags", a)])
    let b = try makeTag("a")
    let back = Sent.create("tags", a, columns("a"), at: Stamp(milliseconds: server.world.now))
    #expect(try alice.refused(back).code == .uniqueTaken)
    #expect(try alice.sync([back, rename(b, "b")]).refused.isEmpty)
    try settle()
    #expect(name(a) == "a" && name(b) == "b")
  }

  @Test("sets of one request each hold by themselves, whatever those beside them do (I6, I12)")
  func beside() throws {
    let (a, b) = (try makeTag("a"), try makeTag("b"))
    let answer = try alice.sync(
      [rename(a, "b"), rename(b, "a")], [rename(a, "a", rev: 2)],
      [rename(a, "c", rev: 2), .create("tags", alice.newID(), columns("b"))])
    #expect(answer.refused.map(\.first) == [answer.confirmed - 2])
    try settle()
    #expect(name(a) == "c" && name(b) == "a")
  }

  @Test("a batch of REST swaps, in any order; alone each is refused (I12)")
  func rest() throws {
    let (a, b) = (try makeTag("a"), try makeTag("b"))
    let rest = RestClient(alice)
    func update(_ id: String, _ name: String) -> JSONValue {
      ["op": "update", "table": "tags", "id": .string(id), "columns": ["name": .string(name)]]
    }
    #expect(try rest.batch([update(a, "b"), update(b, "a")], atomic: false).statuses == [409, 409])
    #expect(try rest.batch([update(a, "b"), update(b, "a")]).statuses == [200, 200])
    let replaced: JSONValue = ["id": .string(a), "columns": ["name": "a"]]
    let other: JSONValue = ["id": .string(b), "columns": ["name": "b"]]
    let reply = try rest.send(
      "PATCH", "/v1/tables/tags", ["records": [replaced, other], "atomic": true])
    #expect(reply.statuses == [200, 200])
    try settle()
  }

  @Test("members change places in one set: one leaves, another row names the same person (I12)")
  func members() throws {
    _ = try server.signUp("bob")
    let member = try alice.share(list, with: "bob")
    let again = Sent.create(
      "members", alice.newID(), ["zone": .string(list), "name": "bob", "role": "viewer"])
    #expect(try alice.refused(again).code == .uniqueTaken)
    #expect(try alice.sync([again, .delete("members", member)]).refused.isEmpty)
    try settle()
    #expect(alice.all("members").filter { $0["name"] == "bob" }.map { $0["role"] } == ["viewer"])
  }

  @Test("a swap holds beside a set that breaks a rule of the database (I12)")
  func besideRule() throws {
    let (a, b) = (try makeTag("a"), try makeTag("b"))
    try server.change(
      sqlite: "CREATE TRIGGER team BEFORE INSERT ON seals BEGIN SELECT RAISE(ABORT, 'no'); END",
      postgres: "ALTER TABLE seals ADD CHECK (id <> item_id AND length(item_id) < 0)")
    let item = try alice.makeItem(list)
    let answer = try alice.sync(
      [rename(a, "b"), rename(b, "a")],
      [.create("seals", alice.newID(), ["item_id": .string(item)])],
      [rename(b, "c", rev: 2), rename(a, "a", rev: 2)])
    #expect(answer.refused.count == 1)
    try alice.pull()
    try phone.pull()
    #expect(name(a) == "a" && name(b) == "c")
  }

  @Test(
    "many records with one value are refused at the second, whatever their ids; with a stored one, at the first (I11, I12)"
  )
  func many() throws {
    // The least id comes last, so each of the others finds one that is written later.
    let ids = (0..<3000).map { _ in alice.newID() }.sorted().reversed().map { $0 }
    let set = ids.map { Sent.create("tags", $0, columns("same")) }
    func refusal() throws -> (operation: Int64, problem: Problem?)? {
      let first = alice.confirmed
      let answer = try alice.apply(try server.respond(to: alice.request([set])))
      return answer.refused.last.map { ($0.operation - first, Problem(document: $0.problem)) }
    }
    let fresh = try #require(try refusal())
    #expect(fresh.operation == 2 && fresh.problem?.taken?.record == ids[0])
    let stored = try makeTag("same")
    let beside = try #require(try refusal())
    #expect(beside.operation == 1 && beside.problem?.taken?.record == stored)
    try settle()
  }
}
