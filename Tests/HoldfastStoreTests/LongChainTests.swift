import HoldfastCore
import ServerScenes
import Testing

/// Change sets in which each record refers to the next one, as long as a change set may be: PROTOCOL.md, section 5, "Order". No device may
/// end the server with one. Invariants I9, I11, I12.
@Suite struct LongChainTests {
  static let text = """
    {"holdfast": 1, "name": "chains", "tables": {
      "lists": {"zone": "root", "columns": {
        "title": {"type": "text"},
        "after_id": {"type": "reference", "to": "lists", "across": true, "on_delete": "set_null"},
        "under_id": {"type": "reference", "to": "lists", "across": true, "on_delete": "cascade"},
        "item_id": {"type": "reference", "to": "items", "across": true, "on_delete": "set_null"}}},
      "items": {"zone": {"parent": "list_id"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
        "after_id": {"type": "reference", "to": "items", "on_delete": "set_null"},
        "under_id": {"type": "reference", "to": "items", "on_delete": "cascade"}}}
    }}
    """
  static let count = 10_000

  let server: TestServer
  let alice: TestDevice
  let list: String

  init() throws {
    server = try TestServer(SyncSchema(json: Array(Self.text.utf8)))
    alice = try server.signUp("alice")
    list = try alice.makeList()
  }

  /// Sends a set whose records each refer to the next one.
  private func chain(_ table: String, by column: String, _ columns: [JSONValue.Member] = []) throws
    -> [String]
  {
    let ids = (0..<Self.count).map { _ in alice.newID() }
    let set = ids.indices.map { index in
      let next = index + 1 < ids.count ? [JSONValue.Member(column, .string(ids[index + 1]))] : []
      return Sent.create(table, ids[index], .object(columns + next))
    }
    let answer = try alice.apply(try server.respond(to: alice.request([set])))
    #expect(answer.refused.isEmpty)
    try alice.pull()
    return ids
  }

  @Test(
    "through a cascade or a reference that becomes null, inside a zone (I12)",
    arguments: ["under_id", "after_id"])
  func inside(_ column: String) throws {
    let ids = try chain("items", by: column, [.init("list_id", .string(list))])
    #expect(alice.all("items").count == Self.count)
    #expect(alice.column("items", ids[0], column) == .string(ids[1]))
    #expect(alice.column("items", ids[Self.count - 2], column) == .string(ids[Self.count - 1]))
  }

  @Test(
    "the same of root records, each in a zone of its own (I11, I12)", arguments: ["under_id", "after_id"])
  func roots(_ column: String) throws {
    let ids = try chain("lists", by: column)
    #expect(alice.all("lists").count == Self.count + 1)
    #expect(alice.column("lists", ids[0], column) == .string(ids[1]))
  }

  @Test("a record, its parent, a record that the parent refers to, its parent, and so on (I12)")
  func alternating() throws {
    let lists = (0..<Self.count / 2).map { _ in alice.newID() }
    let items = lists.map { _ in alice.newID() }
    var set = lists.indices.map { Sent.create("items", items[$0], ["list_id": .string(lists[$0])]) }
    set += lists.indices.map { index in
      Sent.create(
        "lists", lists[index], ["item_id": index + 1 < items.count ? .string(items[index + 1]) : .null])
    }
    let answer = try alice.apply(try server.respond(to: alice.request([set])))
    #expect(answer.refused.isEmpty)
    try alice.pull()
    #expect(alice.all("items").count == items.count)
    #expect(alice.column("lists", lists[0], "item_id") == .string(items[1]))
    #expect(try server.findings().isEmpty)
  }

  @Test("a circle, and a chain that another record of the set needs in its middle (I9)")
  func shapes() throws {
    let ids = (0..<6).map { _ in alice.newID() }
    func item(_ index: Int, _ next: Int?) -> Sent {
      .create(
        "items", ids[index],
        ["list_id": .string(list), "under_id": next.map { .string(ids[$0]) } ?? .null])
    }
    // The fourth needs the third, which stands before it and is still waiting for the fifth.
    try alice.sync([item(0, 3), item(2, 4), item(1, 2), item(3, 2), item(4, 5), item(5, 2)])
    try alice.pull()
    #expect(alice.all("items").count == 6)
    #expect(alice.column("items", ids[5], "under_id") == .string(ids[2]))
    #expect(try server.findings().isEmpty)
  }
}
