import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

/// What becomes of edits that meet, by the column's policy: PROTOCOL.md, section 5.1. Invariants I3, I7.
@Suite struct PolicyTests {
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
    try alice.sync([
      .create(
        "items", item,
        ["list_id": .string(list), "body": "buy milk", "votes": 5, "labels": ["a", "b"], "asked": "old"])
    ])
    try phone.pull()
    try alice.pull()
  }

  private func edit(
    _ device: TestDevice, _ column: String, _ base: JSONValue?, _ value: JSONValue, at: Int64
  ) throws {
    let answer = try device.sync([
      .update(
        "items", item, .object([.init(column, value)]),
        base: base.map { .object([.init(column, $0)]) } ?? [:], at: Stamp(milliseconds: at))
    ])
    #expect(answer.refused.isEmpty)
  }

  private func settle() throws {
    try alice.pull()
    try phone.pull()
    #expect(alice.records == phone.records)
    #expect(try server.findings().isEmpty)
  }

  private func value(_ column: String) -> JSONValue? { alice.column("items", item, column) }

  @Test("both increments count, in either order, and so does a second one behind somebody else's (I3)")
  func counter() throws {
    try edit(alice, "votes", 5, 6, at: 8000)
    try edit(phone, "votes", 5, 6, at: 7000)
    try edit(alice, "votes", 6, 7, at: 9000)
    try settle()
    #expect(value("votes") == 8)
    #expect(alice.all("conflicts").isEmpty)
  }

  @Test("a sum outside the column's limits is refused, and nothing is done")
  func counterLimit() throws {
    try edit(alice, "votes", 5, 9, at: 8000)
    let over = Sent.update("items", item, ["votes": 8, "title": "x"], base: ["votes": 5])
    #expect(try phone.refused(over).code == .invalidValue)
    try settle()
    #expect(value("votes") == 9)
    #expect(value("title") == .null)
  }

  @Test("what either added is in, what either removed is out; a set is nothing else than texts (I3)")
  func set() throws {
    try edit(alice, "labels", ["a", "b"], ["b", "c"], at: 9000)
    try edit(phone, "labels", ["a", "b"], ["a", "b", "A"], at: 8000)
    try settle()
    #expect(value("labels") == ["A", "b", "c"])
    #expect(alice.all("conflicts").isEmpty)
    #expect(try alice.refused(.update("items", item, ["labels": ["a", "a"]])).code == .invalidValue)
    #expect(try alice.refused(.update("items", item, ["labels": ["a": 1]])).code == .invalidValue)
  }

  @Test("texts are merged by words, and the device whose words were joined by others is sent them (I3, I7)")
  func text() throws {
    try edit(alice, "body", "buy milk", "buy oat milk", at: 9000)
    try edit(phone, "body", "buy milk", "buy milk today", at: 8000)
    try settle()
    #expect(value("body") == "buy oat milk today")
    #expect(alice.all("conflicts").isEmpty)
    // Its own edit was the last, but of another text.
    try edit(phone, "body", "buy milk today", "buy milk tomorrow", at: 9500)
    try settle()
    #expect(value("body") == "buy oat milk tomorrow")
  }

  @Test("where both changed the same words those of the later edit stand, and both texts are logged (I3)")
  func lossyText() throws {
    try edit(alice, "body", "buy milk", "buy oat drink", at: 9000)
    try edit(phone, "body", "buy milk", "sell water today", at: 8000)
    try settle()
    let conflict = try #require(alice.all("conflicts").first)
    #expect(conflict["winner_value"] == "buy oat drink")
    #expect(conflict["loser_value"] == "sell water today")
    #expect(conflict["policy"] == "text")
    #expect(conflict["base"] == "buy milk")
    #expect(value("body") == "sell oat drink")
  }

  @Test("a merged text that is too long for the column is refused")
  func longText() throws {
    let much = String(repeating: "x ", count: 14)
    try edit(alice, "body", "buy milk", .string(much + "buy milk"), at: 9000)
    let set = Sent.update("items", item, ["body": .string("buy milk " + much)], base: ["body": "buy milk"])
    #expect(try phone.refused(set).code == .invalidValue)
    try settle()
  }

  @Test("the value that arrives last stays by client, and the other is logged (I3)")
  func client() throws {
    try edit(alice, "last", .null, "first", at: 9000)
    try edit(phone, "last", .null, "second", at: 8000)
    try settle()
    #expect(value("last") == "second")
    #expect(alice.all("conflicts").first?["loser_value"] == "first")
  }

  @Test("by ask the server's value stays, and the question is open until somebody chooses (I3)")
  func ask() throws {
    try edit(alice, "asked", "old", "mine", at: 8000)
    try edit(phone, "asked", "old", "theirs", at: 9000)
    try settle()
    #expect(value("asked") == "mine")
    let conflict = try #require(alice.all("conflicts").first)
    #expect(conflict["resolution"] == .null)
    #expect(conflict["base"] == "old")
  }

  @Test("without a base the later edit counts, as by latest")
  func withoutBase() throws {
    try edit(alice, "votes", nil, 7, at: 9000)
    try edit(phone, "votes", nil, 6, at: 8000)
    try settle()
    #expect(value("votes") == 7)
    #expect(alice.all("conflicts").count == 1)
  }

  @Test("a replay of an increment adds nothing (I1)")
  func replay() throws {
    let request = phone.request([[.update("items", item, ["votes": 6], base: ["votes": 5])]])
    for _ in 0..<3 { #expect(try server.respond(to: request).status == 200) }
    _ = try phone.apply(try server.respond(to: request))
    try settle()
    #expect(value("votes") == 6)
  }

  @Test("a policy may change over records that are there, whatever their values are")
  func policyChange() throws {
    var tables = try MergeSchema.schema().tables.filter { !$0.isBuiltIn }
    let items = try #require(tables.firstIndex { $0.name == "items" })
    let labels = try #require(tables[items].index(of: "labels"))
    tables[items].columns[labels].policy = .latest
    try server.reopen(try SyncSchema(name: "merge", tables: tables))
    try edit(alice, "labels", ["a", "b"], ["x": 1], at: 8000)
    try server.reopen(try MergeSchema.schema())
    try edit(phone, "labels", ["a", "b"], ["a", "c"], at: 9000)
    try settle()
    #expect(value("labels") == ["a", "c"])
    #expect(alice.all("conflicts").first?["loser_value"] == ["x": 1])
  }
}
