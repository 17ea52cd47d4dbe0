import HoldfastCore
import HoldfastServer
import ServerScenes
import Synchronization
import Testing

/// A team's own resolvers and validators: PROTOCOL.md, section 5.1. Invariants I6, I12.
@Suite struct RulesTests {
  private struct Unexpected: Error {}

  private static let text = """
    {"holdfast": 1, "name": "rules", "tables": {
      "lists": {"zone": "root", "columns": {"title": {"type": "text"}}},
      "items": {"zone": {"parent": "list_id"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
        "title": {"type": "text"}, "price": {"type": "integer", "max": 100, "merge": "resolver"},
        "next_id": {"type": "reference", "to": "items", "on_delete": "set_null"}}}
    }}
    """

  private static func rules() -> Rules {
    var rules = Rules()
    rules.resolve("items", "price") { base, mine, theirs, record in
      if record["title"] == "broken" { throw Unexpected() }
      if record["title"] == "wrong" { return "no number" }
      if record["title"] == "refused" { throw ValidationError("not now") }
      guard let one = mine.integerValue, let other = theirs.integerValue else { return theirs }
      return .integer(one + other - (base?.integerValue ?? 0))
    }
    rules.validate("items") { record in
      if record["title"] == "bad" { throw ValidationError("bad is no title") }
      if record["title"] == "alone", record["next_id"] == .null { throw ValidationError("alone has no next") }
    }
    return rules
  }

  private struct Scene {
    let server: TestServer
    let alice: TestDevice
    let phone: TestDevice
    let list: String
    let item: String

    init() throws {
      server = try TestServer(SyncSchema(json: Array(RulesTests.text.utf8)), rules: RulesTests.rules())
      alice = try server.signUp("alice")
      phone = try server.signIn("alice")
      list = try alice.makeList()
      item = try alice.makeItem(list)
      try alice.sync([.update("items", item, ["price": 10], base: ["price": .null])])
      try phone.pull()
      try alice.pull()
    }

    func edit(_ device: TestDevice, _ value: JSONValue) -> Sent {
      .update("items", item, ["price": value], base: ["price": 10])
    }
  }

  @Test("a resolver makes one value of two edits, and both are logged (I3)")
  func resolver() throws {
    let scene = try Scene()
    try scene.alice.sync([scene.edit(scene.alice, 12)])
    #expect(try scene.phone.sync([scene.edit(scene.phone, 15)]).refused.isEmpty)
    try scene.alice.pull()
    try scene.phone.pull()
    #expect(scene.alice.records == scene.phone.records)
    #expect(scene.alice.column("items", scene.item, "price") == 17)
    let conflict = try #require(scene.alice.all("conflicts").first)
    #expect(conflict["policy"] == "resolver")
    #expect(try scene.server.findings().isEmpty)
  }

  @Test(
    "what a resolver says is checked like every value, and whatever it throws refuses the set alone (I12)",
    arguments: [
      ("wrong", ProblemCode.invalidValue), ("refused", .validationFailed), ("broken", .validationFailed),
    ])
  func resolverFails(_ title: String, _ code: ProblemCode) throws {
    let scene = try Scene()
    try scene.alice.sync([
      .update("items", scene.item, ["price": 12, "title": .string(title)], base: ["price": 10])
    ])
    #expect(try scene.phone.refused(scene.edit(scene.phone, 15)).code == code)
    #expect(try scene.phone.refused(scene.edit(scene.phone, 99)).code == code)
    #expect(try scene.phone.sync([.update("lists", scene.list, ["title": "x"])]).refused.isEmpty)
    // Only what nobody expected is the operator's business.
    #expect(scene.server.failures.lines.withLock { $0.isEmpty } == (title != "broken"))
  }

  @Test("a value beyond the column's limits is refused, also from a resolver")
  func resolverLimit() throws {
    let scene = try Scene()
    try scene.alice.sync([scene.edit(scene.alice, 90)])
    #expect(try scene.phone.refused(scene.edit(scene.phone, 80)).code == .invalidValue)
  }

  @Test(
    "a validator sees each record as it is to be, over sync and REST, also what a deletion makes of it (I6)")
  func validator() throws {
    let scene = try Scene()
    let (alice, list, item) = (scene.alice, scene.list, scene.item)
    let problem = try alice.refused(
      .create("items", alice.newID(), ["list_id": .string(list), "title": "bad"]))
    #expect(problem.code == .validationFailed)
    #expect(problem.detail == "bad is no title")
    let rest = RestClient(alice)
    let patch = try rest.send("PATCH", "/v1/tables/items/\(item)", ["columns": ["title": "bad"]])
    #expect(patch.code == "validation-failed")
    // In one set only what it comes to counts.
    let both = try alice.sync([
      .update("items", item, ["title": "bad"]), .update("items", item, ["title": "good"]),
    ])
    #expect(both.refused.isEmpty)
    let alone = alice.newID()
    try alice.sync([
      .create("items", alone, ["list_id": .string(list), "title": "alone", "next_id": .string(item)])
    ])
    #expect(try alice.refused(.delete("items", item, rev: 9)).code == .validationFailed)
    let other = try alice.makeList("Other")
    let moved = Sent.update("items", alone, ["list_id": .string(other), "next_id": .null])
    #expect(try alice.refused(moved).code == .validationFailed)
    try alice.sync([.delete("items", alone, rev: 9)])
    let restore = try rest.send(
      "POST", "/v1/tables/items/\(alone)/restore", ["columns": ["list_id": .string(list), "title": "bad"]])
    #expect(restore.code == "validation-failed")
    #expect(try scene.server.findings().isEmpty)
  }

  @Test(
    "a server does not start without the resolver that its schema names, nor with rules for what is not there"
  )
  func start() throws {
    let schema = try SyncSchema(json: Array(Self.text.utf8))
    #expect(throws: ServerError.self) { try TestServer(schema, rules: Rules()) }
    for (table, column) in [("items", "title"), ("items", "none"), ("none", "price")] {
      var rules = Self.rules()
      rules.resolve(table, column) { _, mine, _, _ in mine }
      #expect(throws: ServerError.self) { try TestServer(schema, rules: rules) }
    }
    for table in ["none", "members"] {
      var rules = Self.rules()
      rules.validate(table) { _ in }
      #expect(throws: ServerError.self) { try TestServer(schema, rules: rules) }
    }
  }
}
