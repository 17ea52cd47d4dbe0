import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import ServerScenes
import Testing

@testable import HoldfastServer

/// Two servers on one database, of which one has a newer schema: docs/SCHEMA-CHANGES.md, section 6. Invariants I7, I9 and I10.
@Suite struct RollingSchemaTests {
  private let older: TestServer
  private let newer: TestServer
  private let alice: TestDevice
  private let sql: SQLWriter
  private let list: String
  private let item: String
  private let other: String

  init() throws {
    older = try TestServer(engine: .postgres)
    alice = try older.signUp("alice")
    list = try alice.makeList()
    item = try alice.makeItem(list)
    other = try alice.makeList("other")
    let text = TestServer.text.replacing(
      #""notes": {"#,
      with: """
        "kids": {"zone": {"parent": "item_id"}, "columns": {
          "item_id": {"type": "reference", "to": "items", "required": true, "on_delete": "cascade"}}},
        "boards": {"zone": "root", "columns": {"title": {"type": "text"}}},
        "notes": {
        """
    ).replacing(
      #""products": {"zone": {"public": "catalogue"}, "columns": {"#,
      with: #"""
        "products": {"zone": {"public": "catalogue"}, "columns": {
          "tag_id": {"type": "reference", "to": "tags", "on_delete": "set_null", "across": true},
        """#)
    let location = older.location
    newer = try TestServer(SyncSchema(json: Array(text.utf8))) { _ in location }
    sql = try SQLWriter(older)
  }

  private func status(_ set: Sent, at server: TestServer) throws -> Int {
    let response = try server.respond(to: alice.request([[set]]))
    if response.status == 200 { _ = try alice.apply(response) }
    return response.status
  }

  @Test(
    "what a server deletes or moves, and others refer to in ways that it does not know, waits for one that does (I7, I9, I10)",
    arguments: [true, false])
  func waits(isDeletion: Bool) throws {
    let kid = alice.newID()
    #expect(try status(.create("kids", kid, ["item_id": .string(item)]), at: newer) == 200)
    let set: Sent =
      isDeletion ? .delete("items", item) : .update("items", item, ["list_id": .string(other)])
    #expect(try status(set, at: older) == 503)
    #expect(try sql.texts("SELECT zone FROM items UNION ALL SELECT zone FROM kids") == [list, list])
    #expect(try status(set, at: newer) == 200)
    #expect(
      try sql.texts(
        "SELECT concat_ws(' ', zone, state) FROM holdfast.records WHERE id = '\(kid)' ORDER BY state")
        == (isDeletion ? ["\(list) 1"] : ["\(other) 0", "\(list) 2"]))
    #expect(try newer.findings() == [])
  }

  @Test("a column that refers to what a server deletes counts as well as a table (I7, I9)") func column()
    throws
  {
    let tag = alice.newID()
    #expect(try status(.create("tags", tag, ["list_id": .string(list), "name": "red"]), at: older) == 200)
    #expect(try status(.delete("tags", tag), at: older) == 503)
    #expect(try status(.delete("tags", tag), at: newer) == 200)
  }

  @Test("zones of root records that a server does not know are shared by it, and named as groups (I10)")
  func unknownRoot() throws {
    let bob = try older.signUp("bob")
    let board = alice.newID()
    #expect(try status(.create("boards", board, ["title": "x"]), at: newer) == 200)
    _ = try alice.share(board, with: "bob")
    let group: Sent = .create(
      "members", alice.newID(), ["zone": .string(list), "group": .string(board), "role": "viewer"])
    #expect(try status(group, at: older) == 200)
    try bob.pull()
    #expect(bob.has("items", item))
    #expect(try newer.findings() == [])
  }

  @Test("all else goes on at the server of before (I12)") func goesOn() throws {
    let bob = try older.signUp("bob")
    let note = bob.newID()
    #expect(try bob.sync([.create("notes", note, ["text": "x"])]).refused.isEmpty)
    #expect(try bob.sync([.delete("notes", note)]).refused.isEmpty)
    #expect(try status(.update("items", item, ["title": "edited"]), at: older) == 200)
    let seal = alice.newID()
    #expect(try status(.create("seals", seal, ["item_id": .string(item)]), at: older) == 200)
    #expect(try status(.delete("seals", seal), at: older) == 200)
    #expect(try older.findings() == [])
  }
}
