import HoldfastCore
import ServerScenes
import Testing

/// A page that was offline says what it saw and when, and merges like a device: PROTOCOL.md, section 9.3. Invariants I3, I7.
@Suite struct OfflinePageTests {
  let server: TestServer
  let alice: TestDevice
  let page: RestClient
  let path: String
  let item: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    page = RestClient(try server.signIn("alice"))
    let list = try alice.makeList()
    item = try alice.makeItem(list)
    path = "/v1/tables/items/\(item)"
  }

  private func time(_ milliseconds: Int64) -> JSONValue {
    .string(Timestamp.text(milliseconds: server.world.now + milliseconds))
  }

  private func stamp(_ milliseconds: Int64) -> Stamp {
    Stamp(milliseconds: server.world.now + milliseconds)
  }

  private func update(_ title: String, at milliseconds: Int64) -> JSONValue {
    ["columns": ["title": .string(title)], "base": ["title": "Milk"], "at": time(milliseconds)]
  }

  private func edit(_ title: String, at milliseconds: Int64) throws {
    try alice.sync([
      .update("items", item, ["title": .string(title)], base: ["title": "Milk"], at: stamp(milliseconds))
    ])
  }

  @Test("the later of two edits that did not know of each other stands, whenever it arrives (I7)")
  func later() throws {
    try edit("Oat milk", at: -1000)
    #expect(try page.send("PATCH", path, update("Rice milk", at: -2000)).column("title") == "Oat milk")
    #expect(try RestClient.conflicts(alice).count == 1)
    #expect(try page.send("PATCH", path, update("Soy milk", at: -500)).column("title") == "Soy milk")
    #expect(try RestClient.conflicts(alice).count == 2)
  }

  @Test("so it does among pages that share a token, and what was overwritten is logged (I3, I7)")
  func shared() throws {
    #expect(try page.send("PATCH", path, update("Rice milk", at: -500)).column("title") == "Rice milk")
    #expect(try page.send("PATCH", path, update("Oat milk", at: -1000)).column("title") == "Rice milk")
    #expect(try RestClient.conflicts(alice).count == 1)
    // Without a base, by the rev that was seen.
    let seen = JSONValue.integer(try #require(try page.get(path).rev))
    for title in ["Soy milk", "Nut milk"] {
      _ = try page.send("PATCH", path, ["columns": ["title": .string(title)], "rev": seen])
    }
    #expect(try RestClient.conflicts(alice).count == 2)
    #expect(
      try page.batch([["op": "delete", "table": "items", "id": .string(item), "rev": seen]]).statuses == [200]
    )
    #expect(try RestClient.conflicts(alice).count == 3)
  }

  @Test("a rev that the record has not reached has not seen what is there (I3)")
  func unreached() throws {
    try edit("Oat milk", at: -1000)
    let body: JSONValue = ["columns": ["title": "Rice milk"], "rev": 99]
    #expect(try page.send("PATCH", path, body).column("title") == "Rice milk")
    #expect(try RestClient.conflicts(alice).count == 1)
  }

  @Test("a time to come counts as that of arrival, as a device's does (I7)")
  func future() throws {
    #expect(
      try page.send("PATCH", path, update("Rice milk", at: 86_400_000)).column("title") == "Rice milk")
    server.world.advance(10_000)
    try edit("Oat milk", at: -1000)
    try alice.pull()
    #expect(alice.column("items", item, "title") == "Oat milk")
  }

  @Test("an edit of what nobody changed meanwhile is no conflict, whatever the time (I7)")
  func unchanged() throws {
    try alice.sync([.update("items", item, ["note": "cold"], at: stamp(-10))])
    let body = update("Rice milk", at: -500_000)
    #expect(try page.send("PATCH", path, body).column("title") == "Rice milk")
    #expect(try RestClient.conflicts(alice).isEmpty)
  }

  @Test("in bulk and in a batch the same is said for each item (I7)")
  func bulk() throws {
    try edit("Oat milk", at: -1000)
    func item(_ op: String?) -> JSONValue {
      var members: [JSONValue.Member] = op.map { [.init("op", .string($0)), .init("table", "items")] } ?? []
      members.append(.init("id", .string(self.item)))
      return .object(members + (update("Rice milk", at: -2000).members ?? []))
    }
    let many = try page.send("PATCH", "/v1/tables/items", ["records": [item(nil)]])
    #expect(many.results.first?["record"]?["columns"]?["title"] == "Oat milk")
    let batch = try page.batch([item("update")])
    #expect(batch.results.first?["record"]?["columns"]?["title"] == "Oat milk")
    #expect(batch.statuses == [200])
  }

  @Test("a base or a time that says nothing is refused by name")
  func wrong() throws {
    let columns: JSONValue = ["title": "x"]
    let bodies: [(JSONValue, String)] = [
      (["columns": columns, "base": ["titel": "x"]], "unknown-column"),
      (["columns": columns, "base": ["note": "x"]], "invalid-operation"),
      (["columns": columns, "base": ["title": 1]], "invalid-value"),
      (["columns": columns, "base": "x"], "invalid-operation"),
      (["columns": columns, "at": "yesterday"], "invalid-operation"),
      (["columns": columns, "at": "1950-01-01T00:00:00.000Z"], "invalid-operation"),
      (["columns": columns, "at": 5], "invalid-operation"),
    ]
    for (body, code) in bodies { #expect(try page.send("PATCH", path, body).code == code, "\(body)") }
    #expect(try page.send("PUT", path, update("x", at: 0)).code == "invalid-operation")
    #expect(
      try page.send("POST", "/v1/tables/items", update("x", at: 0)).code == "invalid-operation")
  }
}

/// The same for columns that combine.
@Suite struct OfflinePageCounterTests {
  @Test("what a page added offline counts on top of what others added (I1, I3)")
  func counter() throws {
    let server = try TestServer(MergeSchema.schema())
    let alice = try server.signUp("alice")
    let (rest, page) = (RestClient(alice), RestClient(try server.signIn("alice")))
    let list = try rest.create("lists", ["title": "Groceries"])
    let item = try rest.create("items", ["list_id": .string(list), "votes": 1, "labels": ["a"]])
    let path = "/v1/tables/items/\(item)"
    #expect(try rest.send("PATCH", path, ["columns": ["votes": 5, "labels": ["a", "b"]]]).status == 200)
    let body: JSONValue = [
      "columns": ["votes": 3, "labels": ["a", "c"]], "base": ["votes": 1, "labels": ["a"]],
    ]
    let reply = try page.send("PATCH", path, body)
    #expect(reply.column("votes") == 7)
    #expect(reply.column("labels") == ["a", "b", "c"])
  }
}
