import CSQLite
import Foundation
import HoldfastCore
import Testing

@testable import HoldfastSimulation

@Suite("The model's own reading of databases")
struct RawDatabaseTests {
  private static let serverTables = """
    CREATE TABLE items (id TEXT, zone TEXT, seq INTEGER, rev INTEGER, stamps TEXT, title TEXT, done INTEGER);
    CREATE TABLE holdfast_zones (zone TEXT, seq INTEGER, purged INTEGER);
    CREATE TABLE holdfast_devices (number INTEGER, confirmed INTEGER);
    CREATE TABLE holdfast_tombstones (zone TEXT, seq INTEGER, record_table TEXT, id TEXT, rev INTEGER, departed INTEGER, stamp INTEGER);
    INSERT INTO items VALUES ('i', 'l', 3, 2, '{}', '~1~', 1);
    INSERT INTO holdfast_zones VALUES ('l', 4, 0);
    INSERT INTO holdfast_devices VALUES (1, 7);
    INSERT INTO holdfast_tombstones VALUES ('l', 4, 'items', 'j', 5, 1, 655360000);
    """
  private static let deviceTables = """
    CREATE TABLE items (id TEXT, zone TEXT, rev INTEGER, title TEXT);
    CREATE TABLE holdfast_outbox (first INTEGER, body BLOB);
    CREATE TABLE holdfast_quarantine (n INTEGER, body BLOB, problem TEXT);
    CREATE TABLE holdfast_edits (n INTEGER, change_set INTEGER, record_table TEXT, id TEXT, kind TEXT, column_name TEXT, base);
    CREATE TABLE holdfast_zones (zone TEXT, token TEXT, ack TEXT, role TEXT, resync TEXT);
    CREATE TABLE holdfast_recovered (n INTEGER);
    CREATE TABLE holdfast_awaiting_recovery (zone TEXT);
    INSERT INTO items VALUES ('i', NULL, 0, NULL);
    INSERT INTO holdfast_outbox VALUES (2, CAST('[2]' AS BLOB)), (1, CAST('[1]' AS BLOB));
    INSERT INTO holdfast_quarantine VALUES (9, CAST('[9]' AS BLOB), '{}');
    INSERT INTO holdfast_edits VALUES (1, 1, 'items', 'i', 'update', 'title', '~1~');
    INSERT INTO holdfast_zones VALUES ('l', 'e.1', NULL, 'owner', '');
    """

  private static func run(_ sql: String, on path: String) {
    var handle: OpaquePointer?
    sqlite3_open(path, &handle)
    #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
    sqlite3_close(handle)
  }

  private func withDatabase(_ sql: String, _ body: (RawDatabase) throws -> Void) throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("model-\(UUID().uuidString).db")
      .path
    defer { try? FileManager.default.removeItem(atPath: path) }
    Self.run(sql, on: path)
    let database = try RawDatabase(path: path)
    defer { database.close() }
    try body(database)
  }

  @Test("a server's view has records, tombstones and counters")
  func server() throws {
    try withDatabase(Self.serverTables) { database in
      let view = try database.serverView(tables: ["items"])
      let key = RecordKey(table: "items", id: "i")
      #expect(
        view.tables == [
          key: ["zone": .text("l"), "rev": .integer(2), "title": .text("~1~"), "done": .integer(1)]
        ])
      #expect(view.seqs == [key: 3])
      #expect(view.zones["l"]?.seq == 4)
      #expect(view.confirmed == [1: 7])
      #expect(view.tombstones.first?.isDeparture == true)
      #expect(try database.soundness().isEmpty)
      Self.run("DELETE FROM items", on: database.path)
      #expect(try database.serverView(tables: ["items"]).tables.isEmpty)
    }
  }

  @Test("a device's view has records, and what waits")
  func device() throws {
    try withDatabase(Self.deviceTables) { database in
      let view = try database.deviceView(tables: ["items"])
      let key = RecordKey(table: "items", id: "i")
      #expect(view.tables == [key: ["rev": .integer(0)]])
      #expect(view.outbox == ["[1]", "[2]"])
      #expect(view.quarantine.map(\.number) == [9])
      #expect(view.quarantine.map(\.body) == ["[9]"])
      #expect(view.edits.map(\.base) == [.text("~1~")])
      #expect(view.zones["l"]?.token == "e.1")
      #expect(view.zones["l"]?.ack == nil)
    }
  }

  @Test("a foreign key that names nothing is a fault (I9)")
  func unsound() throws {
    let sql = "CREATE TABLE a (id PRIMARY KEY); CREATE TABLE b (a REFERENCES a); INSERT INTO b VALUES (1)"
    try withDatabase(sql) { database in
      let faults = try database.soundness()
      #expect(faults.count == 1)
    }
  }

  @Test("a file that is not there is no database")
  func missing() {
    #expect(throws: RawDatabase.Failure.self) { try RawDatabase(path: "/nonexistent/model.db") }
  }

  @Test(
    "tokens are found wherever they stand",
    arguments: [
      ("~1~", [1]), ("a ~12~ b", [12]), ("~1~~2~", [1, 2]), ("~ ~3~", [3]), ("~~4~", [4]), ("\"~5~\"", [5]),
      ("~~", []), ("~6", []), ("", []), ("~x~7~", [7]),
    ])
  func tokens(text: String, expected: [Int]) { #expect(Tokens.inside(text) == expected) }
}
