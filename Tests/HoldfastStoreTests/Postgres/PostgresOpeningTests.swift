import HoldfastCore
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// A PostgreSQL database is made, checked and extended when a server opens it.
@Suite struct PostgresOpeningTests {
  private static func open(_ url: String, _ schema: String? = nil) throws -> PostgresOpening.Opened {
    try PostgresOpening.open(
      PostgresLocation(url), schema: schema.map { try SyncSchema(json: Array($0.utf8)) }
    ) {
      [UInt8](repeating: 7, count: $0)
    }
  }

  private static func code(_ body: () throws -> Void) -> ServerError.Code? {
    do {
      try body()
      return nil
    } catch { return (error as? ServerError)?.code }
  }

  private static func schema(_ columns: String, tables: String = "") -> String {
    """
    {"holdfast": 1, "name": "opening", "tables": {"lists": {"zone": "root", "columns": {"title": {"type": "text"}}},
      "items": {"zone": {"parent": "list_id"}, "columns": {"list_id": {"type": "reference", "to": "lists", "required": true}\(columns)}}\(tables)}}
    """
  }

  @Test("several nodes that start at once make one database") func together() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let nodes = (0..<4).map { _ in Background { try Self.open(url, Self.schema("")).history.epoch } }
    #expect(TextSet(try nodes.map { try $0.wait() }) == ["07070707"])
    #expect(try Self.open(url).schema.tables.count == 4)
  }

  @Test("a database that is newer, somebody else's or without a schema is refused and not written to")
  func refusals() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    #expect(Self.code { _ = try Self.open(url) } == .schemaMissing)
    _ = try Self.open(url, Self.schema(""))
    let sql = try SQLWriter(url: url)
    try sql.run("UPDATE holdfast.meta SET value = '99' WHERE key = 'format'")
    #expect(Self.code { _ = try Self.open(url, Self.schema("")) } == .newer)
    try sql.run("DROP SCHEMA holdfast CASCADE; CREATE SCHEMA holdfast")
    #expect(Self.code { _ = try Self.open(url, Self.schema("")) } == .notOurs)
    try sql.run("DROP SCHEMA holdfast")
    #expect(Self.code { _ = try Self.open(url, Self.schema("")) } == .refused)
    #expect(try sql.texts("SELECT count(*)::text FROM pg_namespace WHERE nspname = 'holdfast'") == ["0"])
  }

  @Test(
    "a database that is not in UTF-8 is refused with what to do, and not written to",
    arguments: ["LATIN1", "SQL_ASCII"])
  func encoding(_ name: String) throws {
    let url = try TemporaryPostgres.shared.makeDatabase(encoding: name)
    let sql = try SQLWriter(url: url)
    for open in [
      { _ = try Self.open(url, Self.schema("")) },
      { _ = try DatabaseLocation.postgres(.init(url)).storedSchema() },
      { _ = try Adoption(PostgresLocation(url)).propose() },
    ] {
      let error = #expect(throws: ServerError.self) { try open() }
      #expect(error?.code == .refused)
      #expect(error?.description.contains(name) == true)
      #expect(error?.description.contains("createdb --encoding UTF8 --template template0") == true)
    }
    #expect(try sql.texts("SELECT count(*)::text FROM pg_namespace WHERE nspname = 'holdfast'") == ["0"])
  }

  @Test("a table that somebody reads for long is altered when they end, and writers pass meanwhile")
  func waitsForReaders() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    _ = try Self.open(url, Self.schema(""))
    let (reader, writer) = (try SQLWriter(url: url), try SQLWriter(url: url))
    try reader.run("BEGIN; SELECT * FROM items")
    let node = Background { try Self.open(url, Self.schema(#", "done": {"type": "boolean"}"#)).schema }
    let waits = """
      SELECT count(*)::text FROM pg_locks WHERE NOT granted AND relation = 'items'::regclass
      """
    try blockUntil { try writer.texts(waits) != ["0"] }
    // Without an end to the wait before it this would fail.
    try writer.run(
      "SET lock_timeout = '60s'; INSERT INTO lists (id, title) VALUES ('L1', 'x'); INSERT INTO items (id, list_id) VALUES ('i1', 'L1')"
    )
    try reader.run("COMMIT")
    #expect(try node.wait().tables.contains { $0.columns.contains { $0.name == "done" } })
    #expect(try writer.texts("SELECT id FROM items WHERE done IS NULL") == ["i1"])
  }

  @Test("columns and tables are added to tables with records, indexes without keeping writers out")
  func extends() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    _ = try Self.open(url, Self.schema(""))
    let sql = try SQLWriter(url: url)
    try sql.run(
      "INSERT INTO lists (id, title) VALUES ('L1', 'x'); INSERT INTO items (id, list_id) VALUES ('i1', 'L1')")
    let more = Self.schema(
      #", "after_id": {"type": "reference", "to": "items", "on_delete": "set_null"}, "done": {"type": "boolean", "required": true, "default": false}"#,
      tables: #", "words": {"zone": {"public": "catalogue"}, "columns": {"word": {"type": "text"}}}"#)
    _ = try Self.open(url, more)
    _ = try Self.open(url)
    try sql.run(
      "INSERT INTO words (id, word) VALUES ('w1', 'x'); UPDATE items SET after_id = 'i1', done = true; INSERT INTO items (id, list_id) VALUES ('i2', 'L1')"
    )
    #expect(try sql.ledger("L1") == ["1 lists L1 1 live", "3 items i1 2 live", "4 items i2 1 live"])
    #expect(try sql.ledger("catalogue") == ["1 words w1 1 live"])
    #expect(
      try sql.texts(
        "SELECT indisvalid::text FROM pg_index WHERE indexrelid = 'holdfast_items_of_after_id'::regclass")
        == ["true"])
    let isChecked = "SELECT convalidated::text FROM pg_constraint WHERE conname = 'items_after_id_fkey'"
    #expect(try sql.texts(isChecked) == ["true"])
    #expect(Self.code { _ = try Self.open(url, Self.schema("")) } == .schemaCannotChange)
    // An index whose making was cut short is made again.
    try sql.run("DROP INDEX holdfast_items_of_after_id")
    _ = try Self.open(url)
    #expect(
      try sql.texts("SELECT to_regclass('holdfast_items_of_after_id')::text") == [
        "holdfast_items_of_after_id"
      ])
    // So is the check of a foreign key.
    try sql.run(
      """
      ALTER TABLE items DROP CONSTRAINT items_after_id_fkey, ADD CONSTRAINT items_after_id_fkey
        FOREIGN KEY (after_id) REFERENCES items (id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED NOT VALID
      """)
    _ = try Self.open(url)
    #expect(try sql.texts(isChecked) == ["true"])
  }

  @Test("a role that may not make schemas is told the right that it lacks") func rights() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let owner = try SQLWriter(url: url)
    let name = try owner.texts("SELECT current_database()::text")[0]
    try owner.run("REVOKE CREATE ON DATABASE \(name) FROM \(name)")
    do {
      _ = try Self.open(url, Self.schema(""))
      Issue.record("It was opened.")
    } catch let error as ServerError {
      #expect(error.code == .unreachable)
      #expect(error.description.contains("GRANT CREATE ON DATABASE"))
    }
  }

  @Test(
    "a trigger that is switched off, or a column that is gone, is found at the start; adoption puts triggers back"
  )
  func damage() throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    try sql.run(
      """
      INSERT INTO lists (id, title) VALUES ('L1', 'x'); INSERT INTO items (id, list_id, title) VALUES ('i1', 'L1', 'a');
      COMMIT; ALTER TABLE items DISABLE TRIGGER holdfast_delete; ALTER TABLE items DISABLE TRIGGER holdfast_insert;
      DELETE FROM items; INSERT INTO items (id, zone, list_id, title) VALUES ('i2', 'L1', 'L1', 'b');
      """)
    #expect(Self.code { _ = try Self.open(ledger.url) } == .damaged)
    try Adoption(PostgresLocation(ledger.url)).apply(SyncSchema(json: Array(TestLedger.schema.utf8)))
    #expect(try sql.ledger("L1") == ["1 lists L1 1 live", "3 items i1 2 deleted", "4 items i2 1 live"])
    _ = try Self.open(ledger.url)
    #expect(try ledger.findings() == [])
    try sql.run("ALTER TABLE items DROP COLUMN note")
    #expect(Self.code { _ = try Self.open(ledger.url) } == .schemaCannotChange)
  }
}
