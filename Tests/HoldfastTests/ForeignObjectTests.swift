import Foundation
import HoldfastSQLite
import Testing

@testable import Holdfast

@Suite("What the app and other programs have made in a device's file, and answers of the server")
struct ForeignObjectTests {
  /// A store with a list and an item that the server confirmed.
  private static func list() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange + "," + IDs.itemChange("Milk", rev: 3)))
    return fixture
  }

  private static func run(_ sql: String, on fixture: Fixture) throws {
    try SQLiteConnection(path: fixture.path).execute(sql)
  }

  /// Changes of the zone that come after those.
  private static func next(_ changes: String, _ from: Int = 2) -> String {
    IDs.part(changes, from: "0000000a.\(from)", to: "0000000a.\(from + 1)")
  }

  private static let inTheWay: [(sql: String, drop: String)] =
    [
      ("AFTER DELETE ON items BEGIN DELETE FROM lists WHERE id = OLD.list_id; END", ""),
      (
        "AFTER UPDATE OF title ON items BEGIN UPDATE items SET title = upper(title) WHERE id = NEW.id; END",
        ""
      ),
      ("BEFORE INSERT ON items BEGIN SELECT RAISE(IGNORE); END", ""),
      ("BEFORE UPDATE ON items WHEN NEW.title = 'Eggs' BEGIN SELECT raise (ABORT, 'no'); END", ""),
      ("AFTER INSERT ON log BEGIN DELETE FROM words; END", ""),
      ("AFTER INSERT ON items BEGIN INSERT INTO gone VALUES (1); END", ""),
      ("AFTER INSERT ON holdfast_outbox BEGIN SELECT 1; END", ""),
      ("AFTER INSERT ON items BEGIN DELETE FROM holdfast_edits; END", ""),
    ].map { ("CREATE TRIGGER theirs \($0.0)", "DROP TRIGGER theirs") } + [
      ("CREATE UNIQUE INDEX theirs ON items (title)", "DROP INDEX theirs"),
      (
        """
        CREATE INDEX theirs ON items (title); PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = 'CREATE INDEX theirs ON items (title COLLATE elsewhere)' WHERE name = 'theirs'
        """, "DROP INDEX theirs"
      ),
    ]

  @Test(
    "what would change or stop what the server sends is named, and without it the zone goes on (I4, I7, I12)",
    arguments: inTheWay.indices)
  func refused(_ number: Int) async throws {
    let (sql, drop) = Self.inTheWay[number]
    let fixture = try await Self.list()
    // A trigger of the app's own, which only writes a table of its own, and is harmless.
    try Self.run(
      """
      CREATE TABLE log (x); CREATE TRIGGER harmless AFTER INSERT ON items BEGIN INSERT INTO log VALUES (1); END;
      CREATE TRIGGER harmless_too AFTER UPDATE ON items BEGIN INSERT INTO log VALUES ('raise'); END; \(sql)
      """, on: fixture)
    let change = Self.next(IDs.itemChange("Eggs", rev: 4))
    let applied = await #expect(throws: StoreError.self) { try await fixture.answer(change) }
    let written = await #expect(throws: StoreError.self) { try await fixture.store.write { _ in } }
    let opened = #expect(throws: StoreError.self) {
      _ = try Store(path: fixture.path, schema: try #require(Fixture.schema))
    }
    for error in [applied, written, opened] {
      #expect(error?.code == .foreignObject)
      #expect(error?.description.contains("theirs") == true)
    }
    #expect(try await fixture.value("SELECT ack FROM holdfast_zones") == .text("0000000a.2"))
    try Self.run(drop, on: fixture)
    try await fixture.answer(change)
    #expect(try await fixture.value("SELECT title FROM items") == .text("Eggs"))
  }

  @Test("the app is told in the transaction that makes it, and nothing of that stays (I7)")
  func own() async throws {
    let fixture = try await Self.list()
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.write {
        try $0.execute("UPDATE items SET title = 'Mine'")
        try $0.execute(
          "CREATE TRIGGER tidy AFTER DELETE ON items BEGIN DELETE FROM lists WHERE id = OLD.list_id; END")
      }
    }
    #expect(error?.code == .foreignObject)
    #expect(error?.description.contains("DROP TRIGGER \"tidy\"") == true)
    try await fixture.store.write { try $0.execute("UPDATE items SET done = 1") }
    #expect(try await fixture.value("SELECT title FROM items") == .text("Milk"))
  }

  @Test("a trigger whose own table refuses what the server sends is named (I12)")
  func failing() async throws {
    let fixture = try await Self.list()
    try Self.run(
      """
      CREATE TABLE log (x UNIQUE);
      CREATE TRIGGER noting AFTER UPDATE ON items BEGIN INSERT INTO log VALUES (NEW.list_id); END
      """, on: fixture)
    try await fixture.answer(Self.next(IDs.itemChange("Eggs", rev: 4)))
    let change = Self.next(IDs.itemChange("Bread", rev: 5), 3)
    let error = await #expect(throws: StoreError.self) { try await fixture.answer(change) }
    #expect(error?.code == .foreignObject)
    #expect(error?.description.contains("noting") == true)
    try Self.run("DROP TRIGGER noting", on: fixture)
    try await fixture.answer(change)
    #expect(try await fixture.value("SELECT title FROM items") == .text("Bread"))
  }

  // MARK: Tables of the app's own that refer to records

  /// The rows that refer to an item, one for each way.
  private static let references = """
    CREATE TABLE plain (item TEXT REFERENCES items (id));
    CREATE TABLE restricting (item TEXT REFERENCES items (id) ON DELETE RESTRICT);
    CREATE TABLE waiting (item TEXT REFERENCES items (id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE following (item TEXT REFERENCES Items ON DELETE CASCADE);
    CREATE TABLE emptied (item TEXT REFERENCES items (id) ON DELETE SET NULL);
    INSERT INTO plain VALUES ('\(IDs.item)'); INSERT INTO restricting VALUES ('\(IDs.item)');
    INSERT INTO waiting VALUES ('\(IDs.item)'); INSERT INTO following VALUES ('\(IDs.item)');
    INSERT INTO emptied VALUES ('\(IDs.item)')
    """

  private static func rows(_ fixture: Fixture) async throws -> [SQLiteValue?] {
    var rows: [SQLiteValue?] = []
    for table in ["plain", "restricting", "waiting", "following", "emptied"] {
      rows.append(try await fixture.value("SELECT item FROM \(table)"))
    }
    return rows
  }

  private static let rest: [SQLiteValue?] = [.text(IDs.item), .text(IDs.item), .text(IDs.item), nil, .null]

  @Test(
    "a record that the server deletes goes; rows that refer to it stay, go or are emptied as their table says (I12)",
    arguments: [true, false])
  func referring(isOpen: Bool) async throws {
    let fixture = try await Self.list()
    if isOpen {
      try Self.run(Self.references, on: fixture)
    } else {
      try await fixture.store.write { db in
        for sql in Self.references.split(separator: ";") { try db.execute(String(sql)) }
      }
    }
    try await fixture.answer(
      Self.next(
        IDs.itemGone + ","
          + #"{"table":"lists","id":"\#(IDs.list)","rev":2,"seq":4,"columns":{"title":"New"}}"#))
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
    #expect(try await fixture.value("SELECT title FROM lists") == .text("New"))
    #expect(try await Self.rows(fixture) == Self.rest)
    // And again, below what was left.
    try await fixture.answer(Self.next(IDs.itemChange("Back", rev: 10), 3))
    #expect(try await fixture.value("SELECT title FROM items") == .text("Back"))
  }

  @Test("a zone that is lost, and the data of who signs out, leave the device whatever refers to them (I10)")
  func removed() async throws {
    for isLost in [true, false] {
      let fixture = try await Self.list()
      try Self.run(Self.references, on: fixture)
      if isLost {
        try await fixture.answer("\"lost\":[\"\(IDs.list)\"]")
      } else {
        try await fixture.store.writer.perform {
          try SignOut(database: $0).run(removingData: true, discardingUnsent: true)
        }
      }
      #expect(try await fixture.value("SELECT count(*) FROM lists") == .integer(0))
      #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
      #expect(try await Self.rows(fixture) == Self.rest)
    }
  }

  @Test(
    "references between records hold all the same: an orphan is dropped, and what comes with it stays (I9, I12)"
  )
  func orphan() async throws {
    let fixture = try await Self.list()
    try Self.run(Self.references, on: fixture)
    let orphan =
      #"{"table":"items","id":"\#(IDs.other)","rev":1,"seq":4,"columns":{"list_id":"0193aaaa-0000-7000-8000-0000000000ff","title":"Lost","done":false,"price":null,"after_id":null}}"#
    try await fixture.answer(Self.next(IDs.itemGone + "," + orphan))
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
    #expect(try await fixture.value("SELECT ack FROM holdfast_zones") == .text("0000000a.3"))
    #expect(try await Self.rows(fixture) == Self.rest)
  }

  @Test("what the app itself deletes is held to the references of its own tables")
  func local() async throws {
    let fixture = try await Self.list()
    try Self.run(
      "CREATE TABLE mine (item TEXT REFERENCES items (id)); INSERT INTO mine VALUES ('\(IDs.item)')",
      on: fixture)
    await #expect(throws: SQLiteError.self) {
      try await fixture.store.write { try $0.execute("DELETE FROM items") }
    }
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(1))
  }
}
