import Foundation
import HoldfastSQLite
import Testing

@testable import Holdfast

@Suite("A table of a device's file that another program has rebuilt")
struct RebuiltTableTests {
  private static func list() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange + "," + IDs.itemChange("Milk", rev: 3)))
    return fixture
  }

  /// Renames a table, makes it anew, copies its rows and drops the old one, with the settings that SQLite has by itself.
  private static func rebuild(_ table: String, _ path: String, _ change: (String) -> String = { $0 }) throws {
    let connection = try SQLiteConnection(path: path)
    let sql = try #require(
      try connection.value("SELECT sql FROM sqlite_schema WHERE name = ?", [.text(table)])?.text)
    let definition = try #require(sql.firstIndex(of: "(").map { String(sql[$0...]) })
    try connection.execute(
      """
      ALTER TABLE \(table) RENAME TO "the ""old"; CREATE TABLE \(table) \(change(definition));
      INSERT INTO \(table) SELECT * FROM "the ""old"; DROP TABLE "the ""old";
      """)
  }

  private static func form(_ path: String) throws -> [[SQLiteValue]] {
    try SQLiteConnection(path: path).rows(
      "SELECT type, name, CASE type WHEN 'table' THEN '' ELSE sql END FROM sqlite_schema ORDER BY name")
  }

  @Test(
    "its references lead to it again, and edits and answers go on (I3, I9)", arguments: [true, false],
    ["lists", "items"])
  func renamed(isOpen: Bool, table: String) async throws {
    let fixture = try await Self.list()
    let form = try Self.form(fixture.path)
    if !isOpen { await fixture.store.close() }
    try Self.rebuild(table, fixture.path)
    let store = try isOpen ? fixture.store : Store(path: fixture.path, schema: try #require(Fixture.schema))
    try await store.write {
      try $0.execute("INSERT INTO items (list_id, title) VALUES (?, 'Bread')", [.text(IDs.list)])
    }
    #expect(try Self.form(fixture.path) == form)
    let outbox = try await store.writer.perform { local in
      try local.connection.rows("SELECT body FROM holdfast_outbox").count
    }
    #expect(outbox == 1)
    await #expect(throws: (any Error).self) {
      try await store.write {
        try $0.execute("INSERT INTO items (list_id, title) VALUES (?, 'Nowhere')", [.text(IDs.other)])
      }
    }
    if isOpen {
      // The zone is compared from its beginning.
      try await fixture.answer(
        IDs.part(IDs.listChange + "," + IDs.itemChange("Milk", rev: 3), to: "0000000a.9"))
      #expect(try await fixture.store.quarantined().isEmpty)
      #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(2))
    }
  }

  @Test(
    "one with what would stop the server's records is named, and so is the way out",
    arguments: ["WITHOUT", "CHECK", "UNIQUE", "CONFLICT"])
  func unfit(_ word: String) async throws {
    let fixture = try await Self.list()
    try SQLiteConnection(path: fixture.path).execute(
      "PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON")
    try Self.rebuild("items", fixture.path) { definition in
      switch word {
      case "WITHOUT": definition + " WITHOUT ROWID"
      case "CHECK": definition.dropLast() + ", CHECK (length(title) < 9))"
      case "UNIQUE": definition.dropLast() + ", UNIQUE (title))"
      default: definition.replacingOccurrences(of: "PRIMARY KEY", with: "PRIMARY KEY ON CONFLICT IGNORE")
      }
    }
    let written = await #expect(throws: StoreError.self) { try await fixture.store.write { _ in } }
    let opened = #expect(throws: StoreError.self) {
      _ = try Store(path: fixture.path, schema: try #require(Fixture.schema))
    }
    for error in [written, opened] {
      #expect(error?.code == .databaseIsBroken)
      #expect(error?.description.contains("items with \(word)") == true)
    }
  }

  @Test("columns named like such words, and comments, are nothing of the kind")
  func names() async throws {
    let fixture = try await Self.list()
    try SQLiteConnection(path: fixture.path).execute(
      "ALTER TABLE items ADD COLUMN \"check\" TEXT /* UNIQUE */ DEFAULT 'WITHOUT'")
    try await fixture.store.write { try $0.execute("UPDATE items SET title = 'Mine'") }
    #expect(try await fixture.outbox().count == 1)
  }
}
