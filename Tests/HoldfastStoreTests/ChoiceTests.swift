import HoldfastCore
import HoldfastServer
import ServerScenes
import Testing

/// Choosing from the conflict log, over sync and REST: PROTOCOL.md, sections 5.1 and 9.2. Invariants I3, I10.
@Suite struct ChoiceTests {
  let server: TestServer
  let alice: TestDevice
  let phone: TestDevice
  let list: String
  let item: String
  let conflict: String

  init() throws {
    server = try TestServer(MergeSchema.schema())
    alice = try server.signUp("alice")
    phone = try server.signIn("alice")
    list = try alice.makeList()
    item = try alice.makeItem(list)
    try phone.pull()
    for (device, value, at) in [(alice, "first", 8000), (phone, "second", 9000)]
      as [(TestDevice, JSONValue, Int64)]
    {
      try device.sync([
        .update("items", item, ["asked": value], base: ["asked": .null], at: Stamp(milliseconds: at))
      ])
    }
    try alice.pull()
    try phone.pull()
    conflict = try #require(
      alice.records.keys.first { $0.hasPrefix("conflicts ") }?.split(separator: " ").last.map(String.init))
  }

  private func settle() throws {
    try alice.pull()
    try phone.pull()
    #expect(alice.records == phone.records)
    #expect(try server.findings().isEmpty)
  }

  private func rest(_ device: TestDevice) -> RestClient { RestClient(device) }

  private func choose(_ resolution: JSONValue) -> Sent {
    .update("conflicts", conflict, ["resolution": resolution])
  }

  private func fact(_ column: String) -> JSONValue? { alice.column("conflicts", conflict, column) }

  @Test("a choice and the edit that goes with it are one change set; who chose and when is filled in (I6)")
  func choice() throws {
    let answer = try phone.sync([
      .update("items", item, ["asked": "second"], base: ["asked": "first"]), choose("loser"),
    ])
    #expect(answer.refused.isEmpty)
    try settle()
    #expect(fact("resolution") == "loser")
    #expect(fact("resolved_by") == .string(alice.user))
    #expect(fact("resolved_at") == .string(Timestamp.text(milliseconds: server.world.now)))
    #expect(fact("loser_value") == "second")
    #expect(alice.column("items", item, "asked") == "second")
  }

  @Test("the first choice holds: another one's whole set is refused, the same again changes nothing (I6)")
  func twice() throws {
    try alice.sync([choose("winner")])
    let edit = Sent.update("items", item, ["asked": "second"], base: ["asked": "first"])
    #expect(try phone.refused(edit, choose("loser")).code == .conflictResolved)
    #expect(try phone.refused(choose(.null)).code == .conflictResolved)
    #expect(try phone.sync([choose("winner")]).refused.isEmpty)
    try settle()
    #expect(alice.column("items", item, "asked") == "first")
    #expect(alice.records["conflicts \(conflict)"]?.rev == 2)
  }

  @Test("nothing else of a conflict is written by people, and none is made or deleted by them")
  func readOnly() throws {
    for column in ["winner_value", "resolved_by", "policy"] {
      let set = Sent.update("conflicts", conflict, .object([.init(column, "x")]))
      #expect(try alice.refused(set).code == .readOnlyTable)
    }
    #expect(try alice.refused(.delete("conflicts", conflict)).code == .readOnlyTable)
    #expect(try alice.refused(.create("conflicts", alice.newID(), [:])).code == .readOnlyTable)
    #expect(try alice.refused(choose("mine")).code == .invalidValue)
    #expect(try alice.sync([choose(.null)]).refused.isEmpty)
  }

  @Test("to choose takes the role of an update of the record's table; a stranger sees no conflict (I10)")
  func rights() throws {
    let (bob, carol) = (try server.signUp("bob"), try server.signUp("carol"))
    _ = try alice.share(list, with: "bob", as: .viewer)
    try bob.pull()
    #expect(try bob.refused(choose("loser")).code == .roleInsufficient)
    #expect(try carol.refused(choose("loser")).code == .recordUnknown)
    #expect(
      try rest(bob).send("POST", "/v1/tables/conflicts/\(conflict)/resolve", ["take": "loser"]).status == 403)
    #expect(
      try rest(carol).send("POST", "/v1/tables/conflicts/\(conflict)/resolve", ["take": "loser"]).status
        == 404)
  }

  @Test(
    "one call takes a value: the record and the choice are written together, and again changes nothing (I1, I6)"
  )
  func resolve() throws {
    let (client, path) = (rest(alice), "/v1/tables/conflicts/\(conflict)/resolve")
    let first = try client.send("POST", path, ["take": "loser"])
    #expect(first.status == 200)
    #expect(first.column("asked") == "second")
    #expect(first.id == item)
    try phone.pull()
    try phone.sync([.update("items", item, ["asked": "third"], rev: 9, base: ["asked": "second"])])
    let again = try client.send("POST", path, ["take": "loser"])
    #expect(again.status == 200)
    #expect(again.column("asked") == "third")
    let other = try client.send("POST", path, ["take": "winner"])
    #expect(other.status == 409)
    #expect(other.code == "conflict-resolved")
    try settle()
    #expect(fact("resolution") == "loser")
  }

  @Test("any value of the column may be taken, and what is none is refused with nothing done")
  func resolveByValue() throws {
    let (client, path) = (rest(alice), "/v1/tables/conflicts/\(conflict)/resolve")
    #expect(try client.send("POST", path, ["value": 7]).status == 422)
    for body in [[:], ["take": "both"], ["take": 1], ["value": "x", "take": "loser"], ["what": 1]]
      as [JSONValue]
    {
      #expect(try client.send("POST", path, body).status == 400)
    }
    let taken = try client.send("POST", path, ["value": "third"], id: "a")
    #expect(taken.column("asked") == "third")
    let replay = try client.send("POST", path, ["value": "third"], id: "a")
    #expect(replay.body == taken.body)
    #expect(replay.isReplay)
    #expect(try client.send("POST", path, ["value": "fourth"]).status == 409)
    try settle()
    #expect(fact("resolution") == "other")
  }

  @Test(
    "of a record that moved out of reach the winner alone can be taken, and closes the conflict (I3, I10)")
  func movedAway() throws {
    let bob = try server.signUp("bob")
    _ = try alice.share(list, with: "bob")
    let own = try alice.makeList()
    try alice.sync([.update("items", item, ["list_id": .string(own)], rev: 9)])
    try bob.pull()
    let path = "/v1/tables/conflicts/\(conflict)/resolve"
    for body in [["take": "loser"], ["value": "third"]] as [JSONValue] {
      #expect(try rest(bob).send("POST", path, body).status == 404)
    }
    let closed = try rest(bob).send("POST", path, ["take": "winner"])
    #expect(closed.status == 200 && closed.id == conflict)
    #expect(closed.column("resolution") == "winner")
    try settle()
    #expect(alice.column("items", item, "asked") == "first")
  }

  @Test("of a record that is deleted no value is taken, and the problem says how it comes back (I8)")
  func deleted() throws {
    try alice.sync([.delete("items", item, rev: 9)])
    let answer = try rest(alice).send("POST", "/v1/tables/conflicts/\(conflict)/resolve", ["take": "loser"])
    #expect(answer.status == 410)
    #expect(answer.json["detail"]?.stringValue?.contains("/v1/tables/items/\(item)/restore") == true)
    try settle()
    #expect(fact("resolution") == .null)
    let closed = try rest(alice).send("POST", "/v1/tables/conflicts/\(conflict)/resolve", ["take": "winner"])
    #expect(closed.status == 200 && closed.json["deleted"] == true)
    try settle()
    #expect(fact("resolution") == "winner")
  }

  @Test("PATCH of a conflict works by the same rule")
  func patch() throws {
    let (client, path) = (rest(alice), "/v1/tables/conflicts/\(conflict)")
    #expect(try client.send("PATCH", path, ["columns": ["policy": "x"]]).status == 422)
    #expect(try client.send("PATCH", path, ["columns": ["resolution": "winner"]]).status == 200)
    #expect(try client.send("PATCH", path, ["columns": ["resolution": "loser"]]).status == 409)
    #expect(try client.send("DELETE", path).status == 405)
  }

  @Test("the log is found by its record and by what is open")
  func listing() throws {
    let client = rest(alice)
    func found(_ query: String) throws -> Int? {
      try client.send("GET", "/v1/tables/conflicts?\(query)").json["records"]?.elements?.count
    }
    #expect(try found("where.record_id=\(item)") == 1)
    #expect(try found("where.record_id=\(list)") == 0)
    #expect(try found("where.resolution.null=true") == 1)
    try alice.sync([choose("winner")])
    #expect(try found("where.resolution.null=true") == 0)
    #expect(try Administration(server.location).conflicts().rows.first?.last == "winner")
  }
}
