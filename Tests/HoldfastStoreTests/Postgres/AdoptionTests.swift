import Foundation
import HoldfastCore
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Tables that a team made are taken into Holdfast and given back.
@Suite struct AdoptionTests {
  private static let team = """
    CREATE TYPE mood AS ENUM ('sad', 'ok', 'it''s fine');
    CREATE TABLE lists (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(), title varchar(200) NOT NULL, created timestamptz NOT NULL DEFAULT now(),
      data jsonb DEFAULT '{}', price numeric(10,2), tags text[], n int NOT NULL DEFAULT 0);
    CREATE TABLE items (
      id uuid PRIMARY KEY, list_id uuid NOT NULL REFERENCES lists ON DELETE CASCADE, title text NOT NULL, mood mood DEFAULT 'ok',
      done boolean NOT NULL DEFAULT false, upper_title text GENERATED ALWAYS AS (upper(title)) STORED,
      after_id uuid REFERENCES items ON DELETE SET NULL, due date, at timestamp, ratio real, small smallint, UNIQUE (list_id, title));
    CREATE TABLE comments (id varchar(64) PRIMARY KEY, item_id uuid NOT NULL REFERENCES items, body text, "Weird Name" text, seq int);
    CREATE TABLE numbers (id serial PRIMARY KEY, x int);
    CREATE TABLE pairs (a int, b int, PRIMARY KEY (a, b));
    CREATE TABLE parts (id uuid PRIMARY KEY, x int) PARTITION BY HASH (id);
    CREATE TABLE members (id uuid PRIMARY KEY, x int);
    CREATE VIEW seen AS SELECT * FROM lists;
    INSERT INTO lists (id, title) SELECT ('019a0000-0000-7000-8000-00000000000' || i)::uuid, 'List ' || i FROM generate_series(1, 2) i;
    INSERT INTO items (id, list_id, title, due, at, ratio, small) SELECT ('019a0000-0000-7000-8000-00000000010' || i)::uuid,
      ('019a0000-0000-7000-8000-00000000000' || 1 + i % 2)::uuid, 'Item ' || i, '2026-01-02', '2026-01-02 03:04:05.678', 0.5, 7
      FROM generate_series(1, 4) i;
    INSERT INTO comments (id, item_id, body) VALUES ('c 1', '019a0000-0000-7000-8000-000000000102', 'hi');
    """
  private static let one = "019a0000-0000-7000-8000-000000000001"
  private static let item = "019a0000-0000-7000-8000-000000000102"

  private let url: String
  private let sql: SQLWriter
  private let adoption: Adoption

  init() throws {
    url = try TemporaryPostgres.shared.makeDatabase()
    sql = try SQLWriter(url: url)
    try sql.run(Self.team)
    adoption = Adoption(PostgresLocation(url))
  }

  /// The proposal, installed.
  private func adopt() throws -> SyncSchema {
    let schema = try SyncSchema(json: Array(adoption.propose().text.utf8))
    try adoption.apply(schema)
    return schema
  }

  @Test("a proposal maps types, references and zones, and says why it leaves something out") func proposal()
    throws
  {
    let proposal = try adoption.propose()
    let schema = try SyncSchema(json: Array(proposal.text.utf8))
    #expect(schema.tables.map(\.name) == ["lists", "items", "comments", "members", "conflicts"])
    #expect(schema.tables.prefix(3).map(\.zone) == [.root, .parent("list_id"), .parent("item_id")])
    let items = try #require(schema.table("items"))
    #expect(
      items.columns.map(\.name) == [
        "list_id", "title", "mood", "done", "after_id", "due", "at", "ratio", "small",
      ])
    #expect(items.columns[0].reference?.onDelete == .cascade)
    #expect(items.columns[2].oneOf == ["sad", "ok", "it's fine"])
    #expect((items.columns[3].required, items.columns[3].defaultValue) == (true, .integer(0)))
    #expect(items.columns[8].maximum == 32767)
    #expect(items.unique == [["list_id", "title"]])
    let lists = try #require(schema.table("lists"))
    #expect(lists.columns.map(\.type) == [.text, .timestamp, .json, .text, .integer])
    #expect((lists.columns[0].maximumLength, lists.columns[1].required) == (200, false))
    for place in [
      "numbers is left out", "pairs is left out", "parts is left out", "members is left out",
      "seen is left out",
      "lists.tags is left out", "items.upper_title is left out", "comments.Weird Name is left out",
      "comments.seq is left out", "lists.price is numeric(10,2)",
    ] { #expect(proposal.notes.contains { $0.hasPrefix(place) }, "\(place)") }
    #expect(try adoption.propose(tables: ["lists"]).notes.count == 2)
    #expect(throws: ServerError.self) { try adoption.propose(tables: ["nothing"]) }
    #expect(throws: ServerError.self) { try adoption.propose(tables: ["pairs"]) }
  }

  @Test("the records that stand are in the ledger, in the order of their ids, and SQL goes on as before")
  func fills() throws {
    _ = try adopt()
    #expect(
      try sql.ledger(Self.one) == [
        "1 lists \(Self.one) 1 live", "2 items \(Self.item) 1 live",
        "3 items 019a0000-0000-7000-8000-000000000104 1 live", "4 comments c 1 1 live",
      ])
    try sql.run(
      """
      UPDATE items SET mood = 'sad', due = due, data = data FROM lists WHERE lists.id = list_id AND items.title = 'Item 2';
      """.replacingOccurrences(of: ", data = data", with: ""))
    #expect(try sql.ledger(Self.one).last == "5 items \(Self.item) 2 live")
    try sql.run("UPDATE items SET list_id = '019a0000-0000-7000-8000-000000000002' WHERE title = 'Item 2'")
    #expect(
      try sql.ledger(Self.one).suffix(2) == ["6 items \(Self.item) 3 departed", "7 comments c 1 2 departed"])
    try sql.run("UPDATE comments SET body = 'ho'; DELETE FROM comments; DELETE FROM lists")
    #expect(try Administration(.postgres(PostgresLocation(url))).doctor() == [])
  }

  @Test("devices read and write the team's tables through their own types") func devices() throws {
    let schema = try adopt()
    let server = try TestServer(adopted: url, schema)
    let device = try server.signUp("ann")
    try sql.run("INSERT INTO holdfast.members (zone, name, role) VALUES ('\(Self.one)', 'ann', 'owner')")
    try device.pull()
    #expect(device.column("items", Self.item, "due") == "2026-01-02T00:00:00.000Z")
    #expect(device.column("items", Self.item, "at") == "2026-01-02T03:04:05.678Z")
    #expect(device.column("items", Self.item, "small") == 7)
    #expect(device.column("items", Self.item, "mood") == "ok")
    #expect(device.column("lists", Self.one, "data") == [:])
    #expect(device.has("comments", "c 1"))
    let made = device.newID()
    try device.sync([
      .create(
        "items", made,
        [
          "list_id": .string(Self.one), "title": "New", "mood": "it's fine", "done": true,
          "due": "2026-02-03T00:00:00.000Z", "at": "2026-02-03T04:05:06.789Z", "ratio": 0.25, "small": 3,
          "after_id": .string(Self.item),
        ]),
      .update(
        "lists", Self.one, ["price": "12.50", "data": ["a": 1], "created": "2026-02-03T04:05:06.789Z"], rev: 1
      ),
    ])
    try device.pull()
    #expect(
      try sql.texts(
        "SELECT concat_ws(' ', mood, done, due, at, ratio, small, upper_title) FROM items WHERE title = 'New'"
      )
        == ["it's fine t 2026-02-03 2026-02-03 04:05:06.789 0.25 3 NEW"])
    #expect(
      try sql.texts("SELECT concat_ws(' ', price, data) FROM lists WHERE id = '\(Self.one)'") == [
        #"12.50 {"a": 1}"#
      ])
    #expect(device.column("lists", Self.one, "created") == "2026-02-03T04:05:06.789Z")
    // What the database fills, and what it forbids.
    let list = device.newID()
    try device.sync([.create("lists", list, ["title": "By device", "n": 0])])
    try device.pull()
    #expect(device.column("lists", list, "created")?.stringValue?.isEmpty == false)
    let problem = try device.refused(
      .create("items", device.newID(), ["list_id": .string(Self.one), "title": "New", "done": false]))
    #expect(problem.code == .uniqueTaken)
    try device.sync([.delete("items", made), .delete("comments", "c 1")])
    try device.pull()
    #expect(try sql.texts("SELECT count(*)::text FROM items WHERE title = 'New'") == ["0"])
    let findings = try server.findings()
    #expect(findings == [])
  }

  @Test("a schema that does not fit the tables is refused with every reason, and changes nothing")
  func misfits() throws {
    let text = """
      {"holdfast": 1, "name": "team", "tables": {
        "lists": {"zone": "root", "columns": {"title": {"type": "integer"}, "price": {"type": "text", "required": true}, "tags": {"type": "text"}}},
        "items": {"zone": {"parent": "list_id"}, "columns": {
          "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "restrict"}, "title": {"type": "text"},
          "upper_title": {"type": "text"}, "missing": {"type": "text"}}},
        "pairs": {"zone": "root", "columns": {"a": {"type": "integer"}}}}}
      """
    do {
      try adoption.apply(SyncSchema(json: Array(text.utf8)))
      Issue.record("It was applied.")
    } catch let error as ServerError {
      for place in [
        "lists.columns.title", "lists.columns.price", "lists.columns.tags", "items.columns.list_id.on_delete",
        "items.columns.title", "items.columns.upper_title", "items.columns.missing", "tables.pairs",
      ] { #expect(error.description.contains(place), "\(place)") }
    }
    #expect(try sql.texts("SELECT count(*)::text FROM pg_namespace WHERE nspname = 'holdfast'") == ["0"])
  }

  @Test("records that are no user's, and a table without the right to it, are refused") func refusals() throws
  {
    var text = try adoption.propose(tables: ["lists"]).text
    text = text.replacingOccurrences(of: "\"root\"", with: "\"user\"")
    #expect(throws: (any Error).self) { try adoption.apply(SyncSchema(json: Array(text.utf8))) }
    #expect(try sql.texts("SELECT count(*)::text FROM pg_namespace WHERE nspname = 'holdfast'") == ["0"])
  }

  @Test("tables whose triggers write tables of the schema are refused by the trigger's name (I4)")
  func writingTrigger() throws {
    try sql.run(
      """
      CREATE TABLE log (line text);
      CREATE FUNCTION logs() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO log SELECT title FROM lists WHERE id = NEW.list_id; RETURN NULL; END $$;
      CREATE TRIGGER logs AFTER INSERT ON items FOR EACH ROW EXECUTE FUNCTION logs();
      CREATE FUNCTION counts() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN UPDATE ONLY public."lists" SET n = n + 1 WHERE id = NEW.list_id; RETURN NULL; END $$;
      CREATE TRIGGER counts AFTER INSERT ON items FOR EACH ROW EXECUTE FUNCTION counts();
      """)
    let error = #expect(throws: ServerError.self) { try adopt() }
    #expect(error?.description.contains("The trigger counts on items writes tables of the schema") == true)
    #expect(error?.description.contains("logs on items") == false)
    try sql.run("DROP TRIGGER counts ON items")
    _ = try adopt()
  }

  @Test("removed, Holdfast leaves the database as it was") func removal() throws {
    let before = try catalog()
    _ = try adopt()
    #expect(try catalog() != before)
    try adoption.remove()
    #expect(try catalog() == before)
    #expect(throws: ServerError.self) { try adoption.remove() }
    try sql.run("UPDATE items SET title = title || '!'")
  }

  @Test(
    "tables that Holdfast made, and then left, are adopted with a word on the column that no device fills")
  func left() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let location = DatabaseLocation.postgres(PostgresLocation(url))
    let schema = try SyncSchema(
      json: Array(
        #"{"holdfast": 1, "name": "t", "tables": {"lists": {"zone": "root", "columns": {"title": {"type": "text"}}}}}"#
          .utf8))
    _ = try TestServer(adopted: url, schema)
    let adoption = Adoption(PostgresLocation(url))
    #expect(try adoption.remove() == ["public.lists"])
    let notes = try adoption.apply(schema)
    #expect(notes.count == 1 && notes[0].hasPrefix("lists.zone is NOT NULL"), "\(notes)")
    let check = { try Server.check(Configuration(database: location)) }
    #expect(try check().contains(notes[0]))
    try SQLWriter(url: url).run("ALTER TABLE lists DROP COLUMN zone")
    #expect(try check() == ["The database is good."])
    #expect(try adoption.apply(schema).isEmpty)
  }

  /// The schema of the database as pg_dump writes it, but for the key that it makes again each time.
  private func catalog() throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["pg_dump", "--schema-only", url]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { !$0.contains("restrict ") }
      .joined(separator: "\n")
  }
}
