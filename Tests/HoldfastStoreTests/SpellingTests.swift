import Foundation
import HoldfastCore
import HoldfastPostgres
import HoldfastSQLite
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Two texts of other bytes that Unicode, and Swift's `String`, take for one.
private let (one, two) = ("\u{E9}", "e\u{301}")

/// What people write in two spellings stays two things.
@Suite("Spellings")
struct SpellingTests {
  private let server: TestServer
  private let alice: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
  }

  private static func bytes(_ texts: [String]) -> [[UInt8]] {
    texts.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
  }

  @Test("two spellings of a unique value are two values, in one change set and in two (I7)")
  func unique() throws {
    let list = try alice.makeList()
    let ids = [alice.newID(), alice.newID(), alice.newID()]
    func tag(_ id: String, _ name: String) -> Sent {
      .create("tags", id, ["list_id": .string(list), "name": .string(name)])
    }
    try alice.sync([tag(ids[0], one), tag(ids[1], two)])
    #expect(try alice.refused(tag(ids[2], two)).code == .uniqueTaken)
    try alice.pull()
    let names = alice.all("tags").compactMap { $0["name"]?.stringValue }
    #expect(Self.bytes(names) == Self.bytes([one, two]))
    try alice.sync([
      .update("tags", ids[0], ["name": "x"]), .update("tags", ids[1], ["name": .string(one)], rev: 1),
    ])
    try alice.pull()
    #expect(alice.column("tags", ids[1], "name")?.stringValue.map { Array($0.utf8) } == Array(one.utf8))
  }

  @Test("two spellings are two names of a JSON object, of tables and columns that nobody declared")
  func names() throws {
    let list = try alice.makeList()
    for name in [one, two] {
      #expect(try alice.refused(.update("lists", list, [name: 1])).code == .unknownColumn)
      #expect(try alice.refused(.create(name, alice.newID(), ["title": "x"])).code == .unknownTable)
    }
    let both = JSONValue.object([.init(one, 1), .init(two, 2)])
    #expect(try alice.refused(.update("lists", list, both)).code == .unknownColumn)
  }

  @Test("a filter finds the spelling that it names, and no other")
  func filters() throws {
    let list = try alice.makeList()
    for name in [one, two] {
      try alice.sync([.create("tags", alice.newID(), ["list_id": .string(list), "name": .string(name)])])
    }
    for (name, query) in [(one, "%C3%A9"), (two, "e%CC%81")] {
      let answer = try alice.get("/v1/tables/tags?where.name=\(query)")
      let names = answer.body["records"]?.elements?.compactMap { $0["columns"]?["name"]?.stringValue }
      #expect(names.map(Self.bytes) == Self.bytes([name]))
    }
  }

  @Test(
    "records and zones whose ids are spelled two ways stay apart (I4, I10)",
    .enabled(if: TemporaryPostgres.isChosen))
  func ids() throws {
    let sql = try SQLWriter(server)
    // Bob may see one of the two zones.
    let bob = try server.signUp("bob")
    for id in [one, two] {
      try sql.run(
        """
        INSERT INTO lists (id, title) VALUES ('\(id)', 'list');
        INSERT INTO holdfast.members (zone, "user", role) VALUES ('\(id)', '\(alice.user)', 'owner');
        INSERT INTO items (id, list_id, title) VALUES ('i\(id)', '\(id)', 'item');
        """)
    }
    try sql.run(
      "INSERT INTO holdfast.members (zone, \"user\", role) VALUES ('\(two)', '\(bob.user)', 'editor')")
    try alice.pull()
    try bob.pull()
    #expect(alice.acks[one] != nil && alice.acks[two] != nil)
    #expect(bob.acks[one] == nil && bob.acks[two] != nil && !bob.has("lists", one) && bob.has("lists", two))
    #expect(alice.has("lists", one) && alice.has("lists", two) && alice.has("items", "i" + one))
    // In one change set, each its own; a move from one zone to the other; a delete of one.
    try alice.sync([.update("lists", one, ["title": "first"]), .update("lists", two, ["title": "second"])])
    try alice.pull()
    #expect(alice.column("lists", one, "title") == "first" && alice.column("lists", two, "title") == "second")
    try alice.sync([.update("items", "i" + one, ["list_id": .string(two)])])
    try bob.pull()
    #expect(bob.has("items", "i" + one) && bob.has("items", "i" + two))
    #expect(try bob.refused(.update("lists", one, ["title": "mine"])).code == .recordUnknown)
    try alice.sync([.delete("items", "i" + two)])
    try bob.pull()
    #expect(bob.has("items", "i" + one) && !bob.has("items", "i" + two))
    let zones = try alice.get("/v1/zones").body["zones"]?.elements?.compactMap { $0["zone"]?.stringValue }
    #expect(zones?.contains(one) == true && zones?.contains(two) == true)
    #expect(try server.findings() == [])
    #expect(server.failures.lines.withLock { $0 } == [])
  }

  @Test("a text ends where its literal does, whatever stands behind a quote")
  func literals() throws {
    let text = "'\u{301}; DROP TABLE lists; --"
    let table = try SQLiteConnection(path: server.folder.path + "-literals")
    #expect(try table.rows("SELECT \(Value.text(text).literal)")[0][0] == .text(text))
    if TemporaryPostgres.isChosen {
      let sql = try SQLWriter(server)
      let odd = "a\"\u{301}'\u{301}\\\u{301}"
      #expect(Self.bytes(try sql.texts("SELECT \(PostgresName.literal(odd))")) == Self.bytes([odd]))
      #expect(
        Self.bytes(
          try sql.texts(
            "SELECT x.\(PostgresName.quoted(odd)) FROM (SELECT 'y' AS \(PostgresName.quoted(odd))) x"))
          == Self.bytes(["y"]))
    }
  }
}
