import Foundation
import Testing

@testable import Holdfast

@Suite("A device's file whose triggers another program has removed")
struct LostTriggerTests {
  /// A store with a list and an item that the server confirmed.
  private static func list() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange + "," + IDs.itemChange("Milk", rev: 3)))
    return fixture
  }

  /// Rebuilds the table of items as table editors do: its triggers go with it.
  private static func rebuild(_ path: String) throws {
    let connection = try SQLiteConnection(path: path)
    let sql = try #require(
      try connection.value("SELECT sql FROM sqlite_schema WHERE name = 'items'")?.text)
    let definition = try #require(sql.firstIndex(of: "(").map { String(sql[$0...]) })
    try connection.execute(
      """
      PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; BEGIN; CREATE TABLE items_new \(definition);
      INSERT INTO items_new SELECT * FROM items; DROP TABLE items; ALTER TABLE items_new RENAME TO items; COMMIT;
      """)
  }

  private static func dropTriggers(_ path: String) throws {
    let connection = try SQLiteConnection(path: path)
    let names = try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
    for row in names { try connection.execute("DROP TRIGGER \"\(row[0].text ?? "")\"") }
  }

  /// The texts of triggers and indexes, by their names.
  private static func form(_ path: String) throws -> [[SQLiteValue]] {
    try SQLiteConnection(path: path).rows(
      "SELECT type, name, sql FROM sqlite_schema WHERE type <> 'table' ORDER BY name")
  }

  private static func run(_ sql: String, on path: String) throws {
    try SQLiteConnection(path: path).execute(sql)
  }

  private static func titles(_ fixture: Fixture) async throws -> [String?] {
    try await fixture.store.read {
      try $0.rows("SELECT title FROM items ORDER BY title").rows.map { $0[0].text }
    }
  }

  /// The zone as the server has it, from its beginning.
  private static func whole(_ item: String) -> String {
    IDs.part(IDs.listChange + (item.isEmpty ? "" : "," + item), to: "0000000a.9")
  }

  @Test(
    "a store has them again when it is opened, each as it was, and edits are recorded (I3)",
    arguments: [true, false])
  func reopened(byRebuilding: Bool) async throws {
    let fixture = try await Self.list()
    let form = try Self.form(fixture.path)
    await fixture.store.close()
    if byRebuilding { try Self.rebuild(fixture.path) } else { try Self.dropTriggers(fixture.path) }
    #expect(try Self.form(fixture.path) != form)
    let store = try Store(path: fixture.path, schema: try #require(Fixture.schema))
    #expect(try Self.form(fixture.path) == form)
    try await store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "Mine" } }
    #expect(try await store.waitingOperations() == 1)
    await store.close()
  }

  @Test("an open store has them again with its next transaction, also after one that fails (I3)")
  func open() async throws {
    let fixture = try await Self.list()
    let form = try Self.form(fixture.path)
    try Self.dropTriggers(fixture.path)
    struct Failed: Error {}
    await #expect(throws: Failed.self) { try await fixture.store.write { _ in throw Failed() } }
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "Mine" } }
    #expect(try Self.form(fixture.path) == form)
    #expect(try await fixture.outbox().count == 1)
  }

  @Test("a trigger with another text, one too many, and an index that is gone are made good for (I3)")
  func altered() async throws {
    let fixture = try await Self.list()
    let form = try Self.form(fixture.path)
    try Self.run(
      """
      DROP TRIGGER holdfast_items_update_title; DROP INDEX holdfast_items_of_list_id;
      CREATE TRIGGER holdfast_items_update_title AFTER UPDATE ON items BEGIN SELECT 1; END;
      CREATE TRIGGER holdfast_items_other AFTER UPDATE ON items BEGIN SELECT RAISE(ABORT, 'no'); END
      """, on: fixture.path)
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "Mine" } }
    #expect(try Self.form(fixture.path) == form)
  }

  @Test("an index that is gone lets no zone be fetched again")
  func indexAlone() async throws {
    let fixture = try await Self.list()
    try Self.run("DROP INDEX holdfast_items_of_list_id", on: fixture.path)
    try await fixture.store.write { _ in }
    #expect(try await fixture.value("SELECT ack FROM holdfast_zones") == .text("0000000a.2"))
  }

  @Test("what another program adds stays: a column, a trigger, a table, an index")
  func foreign() async throws {
    let fixture = try await Self.list()
    try Self.run(
      """
      ALTER TABLE items ADD COLUMN colour TEXT; CREATE INDEX by_colour ON items (colour); CREATE TABLE theirs (x);
      CREATE TRIGGER their_trigger AFTER UPDATE ON items BEGIN INSERT INTO theirs VALUES (1); END
      """, on: fixture.path)
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "Mine" } }
    #expect(try await fixture.value("SELECT count(*) FROM theirs") == .integer(1))
    #expect(try await fixture.value("SELECT ack FROM holdfast_zones") == .text("0000000a.2"))
  }

  @Test("a record that was created meanwhile is sent as a creation, with its zone (I3)")
  func created() async throws {
    let fixture = try await Self.list()
    try Self.dropTriggers(fixture.path)
    try Self.run("INSERT INTO items (list_id, title) VALUES ('\(IDs.list)', 'Bread')", on: fixture.path)
    try await fixture.store.write { _ in }
    let operation = try #require(try await fixture.outbox().first?.elements?.first)
    #expect(operation["op"] == "create")
    #expect(operation["columns"]?["title"] == "Bread")
    #expect(try await fixture.value("SELECT zone FROM items WHERE title = 'Bread'") == .text(IDs.list))
  }

  @Test(
    "an edit that was made meanwhile is sent when the zone has been compared, also one below a newer edit (I3)"
  )
  func edited() async throws {
    let fixture = try await Self.list()
    try Self.rebuild(fixture.path)
    try Self.run("UPDATE items SET title = 'Oat milk', price = 2.5", on: fixture.path)
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.done = true } }
    #expect(try await fixture.answer(Self.whole(IDs.itemChange("Milk", rev: 3))).hasMore)
    #expect(try await Self.titles(fixture) == ["Oat milk"])
    try await fixture.store.write { _ in }
    let operations = try await fixture.outbox().flatMap { $0.elements ?? [] }
    #expect(operations.map { $0["columns"]?.members?.map(\.name) ?? [] } == [["done"], ["title", "price"]])
    #expect(operations.last?["base"]?["title"] == "Milk")
    #expect(operations.last?["rev"] == 3)
    #expect(try await fixture.store.quarantined().isEmpty)
    #expect(try await fixture.value("SELECT resync FROM holdfast_zones") == .text(""))
  }

  @Test("a reset in between does not make it less: the edit is there all the same (I3)")
  func reset() async throws {
    let fixture = try await Self.list()
    try Self.dropTriggers(fixture.path)
    try Self.run("UPDATE items SET title = 'Oat milk'", on: fixture.path)
    try await fixture.store.reset(IDs.list)
    try await fixture.answer(Self.whole(IDs.itemChange("Milk", rev: 3)))
    #expect(try await Self.titles(fixture) == ["Oat milk"])
  }

  @Test(
    "what differs of a record that has gone on at the server waits in quarantine, and the server's stands (I3, I7)"
  )
  func goneOn() async throws {
    let fixture = try await Self.list()
    try Self.dropTriggers(fixture.path)
    try Self.run("UPDATE items SET title = 'Oat milk'", on: fixture.path)
    try await fixture.store.write { _ in }
    let applied = try await fixture.answer(Self.whole(IDs.itemChange("Soy milk", rev: 4)))
    #expect(applied.quarantined == 1)
    #expect(try await Self.titles(fixture) == ["Soy milk"])
    let operation = try #require(try await fixture.store.quarantined().first?.operations.first)
    #expect(operation.kind == .update)
    #expect(operation["title"] == "Oat milk")
    let number = try #require(try await fixture.store.quarantined().first?.number)
    try await fixture.store.resend(number)
    #expect(try await Self.titles(fixture) == ["Oat milk"])
  }

  @Test("a record that the server does not have any more waits in quarantine, whole (I3)")
  func deletedThere() async throws {
    let fixture = try await Self.list()
    try Self.dropTriggers(fixture.path)
    try Self.run("UPDATE items SET title = 'Oat milk'", on: fixture.path)
    try await fixture.store.write { _ in }
    #expect(try await fixture.answer(Self.whole("")).quarantined == 1)
    #expect(try await Self.titles(fixture).isEmpty)
    let operation = try #require(try await fixture.store.quarantined().first?.operations.first)
    #expect(operation.kind == .create)
    #expect(operation["title"] == "Oat milk")
  }

  @Test("a record that was deleted meanwhile is back: nothing tells it from one that was lost")
  func deletedHere() async throws {
    let fixture = try await Self.list()
    try Self.dropTriggers(fixture.path)
    try Self.run("DELETE FROM items", on: fixture.path)
    try await fixture.store.write { _ in }
    try await fixture.answer(Self.whole(IDs.itemChange("Milk", rev: 3)))
    #expect(try await Self.titles(fixture) == ["Milk"])
  }

  @Test("an edit on top of a change set that waits is sent behind it (I3)")
  func waiting() async throws {
    let fixture = try await Self.list()
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "Mine" } }
    try Self.dropTriggers(fixture.path)
    try Self.run("UPDATE items SET title = 'Mine, later'", on: fixture.path)
    try await fixture.store.write { _ in }
    let operations = try await fixture.outbox().flatMap { $0.elements ?? [] }
    #expect(operations.map { $0["columns"]?["title"] } == ["Mine", "Mine, later"])
    #expect(operations.last?["base"]?["title"] == "Mine")
  }

  @Test("a table that is gone is made again, and comes from the server")
  func tableGone() async throws {
    let fixture = try await Self.list()
    try Self.run("PRAGMA foreign_keys = OFF; DROP TABLE items", on: fixture.path)
    try await fixture.store.write { _ in }
    try await fixture.answer(Self.whole(IDs.itemChange("Milk", rev: 3)))
    #expect(try await Self.titles(fixture) == ["Milk"])
  }

  @Test("a table without one of its columns is an error that says what to do")
  func columnGone() async throws {
    let fixture = try await Self.list()
    await fixture.store.close()
    try Self.run(
      "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; CREATE TABLE lists_new AS SELECT id, zone, rev FROM lists; DROP TABLE lists; ALTER TABLE lists_new RENAME TO lists",
      on: fixture.path)
    let error = #expect(throws: StoreError.self) {
      _ = try Store(path: fixture.path, schema: try #require(Fixture.schema))
    }
    #expect(error?.code == .databaseIsBroken)
  }
}
