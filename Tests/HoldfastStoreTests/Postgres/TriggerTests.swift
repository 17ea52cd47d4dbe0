import HoldfastCore
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// What writers that go round the server do to the ledger.
@Suite struct TriggerTests {
  @Test("new records get the next seqs of their zone, and a root record makes its zone with its owner")
  func creates() throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    try sql.run(
      """
      SET holdfast.account = 'ann';
      INSERT INTO lists (id, title) VALUES ('L1', 'one'), ('L2', 'two');
      INSERT INTO items (id, list_id, title) VALUES ('i1', 'L1', 'a'), ('i2', 'L2', 'b'), ('i3', 'L1', 'c');
      INSERT INTO notes (id, text) VALUES ('n1', 'note');
      INSERT INTO tags (id, note_id) VALUES ('t1', 'n1');
      INSERT INTO words (id, word) VALUES ('w1', 'word');
      """)
    #expect(
      try sql.ledger("L1").map { $0.contains("members") ? "2 members" : $0 } == [
        "1 lists L1 1 live", "2 members", "3 items i1 1 live", "4 items i3 1 live",
      ])
    #expect(try sql.ledger("L2").last == "3 items i2 1 live")
    #expect(try sql.ledger("ann") == ["1 notes n1 1 live", "2 tags t1 1 live"])
    #expect(try sql.ledger("catalogue") == ["1 words w1 1 live"])
    #expect(
      try sql.texts("SELECT zone || \"user\" || name || role FROM holdfast.members ORDER BY zone") == [
        "L1annann.bowner", "L2annann.bowner",
      ])
    #expect(try sql.texts("SELECT seq::text FROM holdfast.zones WHERE zone = 'L1'") == ["4"])
    #expect(try ledger.findings() == [])
  }

  @Test("a parent and what is under it may come in one statement, or a child before its root")
  func together() throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    try sql.run(
      """
      WITH l AS (INSERT INTO lists (id, title) VALUES ('L1', 'x') RETURNING id),
        i AS (INSERT INTO items (id, list_id, title) SELECT 'i1', id, 'a' FROM l RETURNING id),
        c AS (INSERT INTO comments (id, item_id) SELECT 'c1', id FROM i RETURNING id)
      INSERT INTO likes (id, comment_id) SELECT 'k1', id FROM c;
      BEGIN; INSERT INTO items (id, list_id, title) VALUES ('i2', 'L2', 'b'); INSERT INTO lists (id, title) VALUES ('L2', 'y'); COMMIT;
      """)
    #expect(try sql.ledger("L1").count == 4)
    #expect(try sql.texts("SELECT zone FROM likes UNION ALL SELECT zone FROM comments") == ["L1", "L1"])
    #expect(try sql.ledger("L2") == ["1 items i2 1 live", "2 lists L2 1 live"])
    #expect(try ledger.findings() == [])
  }

  @Test("an update stamps the columns that differ and no others; one that changes nothing is none")
  func updates() throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    try sql.run(
      """
      INSERT INTO lists (id, title) VALUES ('L1', 'one');
      INSERT INTO items (id, list_id, title, data) VALUES ('i1', 'L1', 'a', '{"b": 1}'), ('i2', 'L1', 'b', NULL);
      UPDATE items SET title = title, data = '{"b": 1}' WHERE id = 'i1';
      """)
    #expect(try sql.ledger("L1").suffix(2) == ["2 items i1 1 live", "3 items i2 1 live"])
    try sql.run(
      """
      UPDATE items SET note = 'x', title = CASE id WHEN 'i1' THEN 'aa' ELSE title END;
      UPDATE items SET note = 'y' WHERE id = 'i1';
      UPDATE items SET title = 'aaa' WHERE id = 'i1';
      UPDATE items SET title = 'c', note = NULL WHERE id = 'i2';
      """)
    let stamps = try sql.texts("SELECT stamps FROM holdfast.records WHERE record_table = 'items' ORDER BY id")
      .map { try #require(RecordStamps($0)) }
    #expect((stamps[0].creation.rev, stamps[0]["note"].rev, stamps[0]["title"].rev) == (1, 3, 4))
    #expect((stamps[1]["note"].rev, stamps[1]["title"].rev, stamps[1]["list_id"].rev) == (3, 3, 1))
    #expect(stamps[0]["title"].device == 0)
    #expect(
      stamps[0].creation.stamp < stamps[0]["note"].stamp && stamps[0]["note"].stamp < stamps[0]["title"].stamp
    )
    #expect(try sql.ledger("L1") == ["1 lists L1 1 live", "7 items i1 4 live", "8 items i2 3 live"])
    #expect(try ledger.findings() == [])
  }

  @Test("a deleted record leaves a tombstone, with its children; created again it lives one rev on (I8)")
  func deletes() throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    try sql.run(
      """
      INSERT INTO lists (id, title) VALUES ('L1', 'one'), ('L2', 'two');
      INSERT INTO items (id, list_id, title, after_id) VALUES ('i1', 'L1', 'a', NULL), ('i2', 'L1', 'b', 'i1');
      INSERT INTO comments (id, item_id) VALUES ('c1', 'i1');
      DELETE FROM items WHERE id = 'i1';
      """)
    #expect(
      TextSet(try sql.ledger("L1").map { String($0.drop { $0 != " " }) }) == [
        " lists L1 1 live", " items i1 2 deleted", " items i2 2 live", " comments c1 2 deleted",
      ])
    #expect(
      try sql.texts(
        "SELECT (device = 0 AND deleted_seq = seq AND stamps IS NULL AND stamp > 0)::text FROM holdfast.records WHERE id = 'i1'"
      )
        == ["true"])
    try sql.run("INSERT INTO items (id, list_id, title) VALUES ('i1', 'L1', 'back')")
    #expect(try sql.ledger("L1").last == "8 items i1 3 live")
    try sql.run(
      "DELETE FROM items WHERE id = 'i1'; INSERT INTO items (id, list_id, title) VALUES ('i1', 'L2', 'x')")
    #expect(try sql.ledger("L1").last == "9 items i1 4 departed")
    #expect(try sql.ledger("L2").last == "2 items i1 5 live")
    try sql.run("DELETE FROM lists WHERE id = 'L2'")
    #expect(try sql.ledger("L2") == ["3 lists L2 2 deleted", "4 items i1 6 deleted"])
    #expect(try ledger.findings() == [])
  }

  @Test("a record whose parent is in another zone moves with all that is under it, and departures stay")
  func moves() throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    try sql.run(
      """
      INSERT INTO lists (id, title) VALUES ('L1', 'one'), ('L2', 'two');
      INSERT INTO items (id, list_id, title) VALUES ('i1', 'L1', 'a'), ('i2', 'L1', 'b');
      INSERT INTO comments (id, item_id) VALUES ('c1', 'i1');
      INSERT INTO likes (id, comment_id) VALUES ('k1', 'c1');
      UPDATE items SET list_id = 'L2', note = 'moved' WHERE id = 'i1';
      """)
    #expect(
      try sql.ledger("L1") == [
        "1 lists L1 1 live", "3 items i2 1 live", "6 items i1 2 departed", "7 comments c1 2 departed",
        "8 likes k1 2 departed",
      ])
    #expect(
      try sql.ledger("L2") == [
        "1 lists L2 1 live", "2 items i1 2 live", "3 comments c1 2 live", "4 likes k1 2 live",
      ])
    #expect(try sql.texts("SELECT zone FROM likes UNION ALL SELECT zone FROM comments") == ["L2", "L2"])
    let text = try sql.texts("SELECT stamps FROM holdfast.records WHERE id = 'i1' AND state = 0")
    let stamps = try #require(RecordStamps(text[0]))
    #expect((stamps["note"].rev, stamps["list_id"].rev, stamps["title"].rev) == (2, 2, 1))
    // Back again, beside a new record: the departure gives way.
    try sql.run("UPDATE items SET list_id = 'L1' WHERE id = 'i1'")
    #expect(
      try sql.ledger("L1").suffix(3) == ["9 items i1 3 live", "10 comments c1 3 live", "11 likes k1 3 live"])
    #expect(try sql.ledger("L2").suffix(3).allSatisfy { $0.hasSuffix("3 departed") })
    #expect(try ledger.findings() == [])
  }

  @Test("a reference inside a zone is not torn: neither by what refers, nor by what is referred to (I9)")
  func references() throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    try sql.run(
      """
      INSERT INTO lists (id, title) VALUES ('L1', 'one'), ('L2', 'two');
      INSERT INTO items (id, list_id, title, after_id) VALUES ('i1', 'L1', 'a', NULL), ('i2', 'L1', 'b', 'i1'), ('i3', 'L2', 'c', NULL);
      """)
    for statement in [
      "UPDATE items SET after_id = 'i3' WHERE id = 'i1'", "UPDATE items SET list_id = 'L2' WHERE id = 'i1'",
      "UPDATE items SET list_id = 'L2' WHERE id = 'i2'",
      "INSERT INTO items (id, list_id, title, after_id) VALUES ('i4', 'L1', 'd', 'i3')",
    ] {
      #expect(throws: PostgresError.self, "\(statement)") { try sql.run(statement) }
    }
    try sql.run("UPDATE items SET list_id = 'L2' WHERE list_id = 'L1'")
    #expect(try sql.ledger("L2").suffix(2) == ["3 items i1 2 live", "4 items i2 2 live"])
    #expect(try ledger.findings() == [])
  }

  @Test("another id is a deletion and a creation")
  func ids() throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    try sql.run(
      """
      INSERT INTO lists (id, title) VALUES ('L1', 'one');
      INSERT INTO items (id, list_id, title) VALUES ('i1', 'L1', 'a'), ('i2', 'L1', 'b'), ('i3', 'L1', 'c');
      UPDATE items SET id = 'i9' WHERE id = 'i3';
      """)
    #expect(try sql.ledger("L1").suffix(2) == ["5 items i3 2 deleted", "6 items i9 1 live"])
    #expect(try ledger.findings() == [])
  }

  @Test("INSERT ON CONFLICT, TRUNCATE and rolled back savepoints are seen as what they do")
  func statements() throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    try sql.run(
      """
      INSERT INTO lists (id, title) VALUES ('L1', 'one');
      INSERT INTO items (id, list_id, title) VALUES ('i1', 'L1', 'a');
      INSERT INTO items (id, list_id, title) VALUES ('i1', 'L1', 'aa'), ('i2', 'L1', 'b')
        ON CONFLICT (id) DO UPDATE SET title = excluded.title;
      INSERT INTO items (id, list_id, title) VALUES ('i1', 'L1', 'zz') ON CONFLICT DO NOTHING;
      BEGIN; UPDATE items SET note = 'kept' WHERE id = 'i1';
      SAVEPOINT one; DELETE FROM items; ROLLBACK TO one; UPDATE items SET note = 'kept' WHERE id = 'i2'; COMMIT;
      """)
    #expect(try sql.ledger("L1") == ["1 lists L1 1 live", "5 items i1 3 live", "6 items i2 2 live"])
    try sql.run("TRUNCATE lists CASCADE")
    #expect(
      try sql.ledger("L1") == ["7 lists L1 2 deleted", "8 items i1 4 deleted", "9 items i2 3 deleted"])
    #expect(try ledger.findings() == [])
  }

  @Test("COPY is seen as inserts") func copy() throws {
    let ledger = try TestLedger()
    try ledger.writer.run("INSERT INTO lists (id, title) VALUES ('L1', 'one')")
    try ledger.writer.connection.copyIn("COPY items (id, list_id, title) FROM STDIN (FORMAT binary)") {
      copy in
      for number in 1...3 { try copy.send("i\(number)", "L1", "title \(number)") }
    }
    #expect(
      try ledger.writer.ledger("L1").suffix(3) == [
        "2 items i1 1 live", "3 items i2 1 live", "4 items i3 1 live",
      ])
  }

  @Test("MERGE is seen as what it does") func merge() throws {
    let ledger = try TestLedger()
    guard ledger.writer.connection.serverVersion >= 150_000 else { return }
    try ledger.writer.run(
      """
      INSERT INTO lists (id, title) VALUES ('L1', 'one');
      INSERT INTO items (id, list_id, title) VALUES ('i1', 'L1', 'a'), ('i2', 'L1', 'b');
      MERGE INTO items USING (VALUES ('i1', 'x'), ('i2', NULL), ('i3', 'c')) v (id, title) ON items.id = v.id
        WHEN MATCHED AND v.title IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET title = v.title
        WHEN NOT MATCHED THEN INSERT (id, list_id, title) VALUES (v.id, 'L1', v.title);
      """)
    #expect(
      TextSet(try ledger.writer.ledger("L1").map { String($0.drop { $0 != " " }) }) == [
        " lists L1 1 live", " items i1 2 live", " items i2 2 deleted", " items i3 1 live",
      ])
    #expect(try ledger.findings() == [])
  }

  @Test("what a trigger of the team does to the rows before ours is in the ledger once")
  func teamTriggers() throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    try sql.run(
      """
      CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.title = 'gone' THEN DELETE FROM items WHERE id = NEW.id;
        ELSIF NEW.note IS NULL THEN UPDATE items SET note = 'touched', list_id = 'L2' WHERE id = NEW.id; END IF; RETURN NULL; END $$;
      CREATE TRIGGER a_touch AFTER INSERT OR UPDATE ON items FOR EACH ROW EXECUTE FUNCTION touch();
      INSERT INTO lists (id, title) VALUES ('L1', 'one'), ('L2', 'two');
      INSERT INTO items (id, list_id, title) VALUES ('i1', 'L1', 'a'), ('i2', 'L1', 'gone');
      """)
    #expect(try sql.ledger("L1").allSatisfy { !$0.contains("live") || $0.contains("lists") })
    #expect(try sql.ledger("L2").last?.hasSuffix("live") == true)
    #expect(try ledger.findings().filter { !$0.hasPrefix("trigger: a_touch on items ") } == [])
  }

  @Test("who says neither a parent nor a user is told what is missing")
  func complaints() throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    try sql.run("INSERT INTO lists (id, title) VALUES ('L1', 'one')")
    for statement in [
      "INSERT INTO notes (id, text) VALUES ('n1', 'whose')",
      "INSERT INTO comments (id, item_id) VALUES ('c1', 'nobody')",
      "INSERT INTO holdfast.members (zone, \"user\", role) VALUES ('nowhere', 'ann', 'owner')",
      "INSERT INTO holdfast.members (zone, \"user\", role) VALUES ('L1', 'nobody', 'owner')",
      "SET holdfast.account = 'nobody'; INSERT INTO lists (id, title) VALUES ('L9', 'x')",
      "INSERT INTO items (id, list_id, title) VALUES ('', 'L1', 'x')",
    ] {
      #expect(throws: PostgresError.self, "\(statement)") { try sql.run(statement) }
    }
    #expect(try sql.ledger("L1") == ["1 lists L1 1 live"])
  }

  @Test("members are completed, only their role changes, and who goes loses the zone")
  func members() throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    try sql.run(
      """
      INSERT INTO lists (id, title) VALUES ('L1', 'one');
      INSERT INTO holdfast.members (zone, "user", role) VALUES ('L1', 'ann', 'owner');
      INSERT INTO holdfast.members (zone, name, role) VALUES ('L1', 'bob.c', 'viewer');
      INSERT INTO holdfast.devices (id, account, name, clock, seen_at) VALUES ('d', 'bob', 'phone', 0, 0);
      INSERT INTO holdfast.acks (device, zone, epoch, seq) SELECT number, 'L1', 'e', 3 FROM holdfast.devices;
      """)
    #expect(
      try sql.texts("SELECT \"user\" || ' ' || name FROM holdfast.members ORDER BY 1") == [
        "ann ann.b", "bob bob.c",
      ])
    #expect(throws: PostgresError.self) {
      try sql.run("UPDATE holdfast.members SET \"user\" = 'bob' WHERE \"user\" = 'ann'")
    }
    try sql.run("DELETE FROM holdfast.members WHERE \"user\" = 'bob'")
    #expect(try sql.texts("SELECT lost::text FROM holdfast.acks") == ["true"])
    #expect(try sql.ledger("L1").last?.hasSuffix("2 deleted") == true)
    #expect(try ledger.findings() == [])
  }

  @Test("those who listen hear which zones moved, and all when they are many")
  func notifications() throws {
    let ledger = try TestLedger()
    let listener = try ledger.another()
    try listener.connection.listen("holdfast")
    try ledger.writer.run("INSERT INTO lists (id, title) VALUES ('L1', 'one'), ('L2', 'two')")
    #expect(try listener.heard() == ["0 L1 L2"])
    try ledger.writer.run(
      "INSERT INTO lists (id, title) SELECT 'M' || n, 'x' FROM generate_series(1, 501) n")
    #expect(try listener.heard() == ["0 *"])
    try ledger.writer.run("UPDATE lists SET title = 'y' WHERE id < 'M2'")
    #expect(try listener.heard().allSatisfy { $0.utf8.count < 7900 })
  }

  @Test("the service's own writes cost the ledger nothing: its triggers keep still") func stillness() throws {
    let ledger = try TestLedger()
    try ledger.writer.run(
      """
      BEGIN; SELECT set_config('holdfast.service', 'on', true);
      INSERT INTO lists (id, zone, title) VALUES ('L1', 'L1', 'one'); COMMIT
      """)
    #expect(try ledger.writer.texts("SELECT id FROM holdfast.records") == [])
  }

  @Test("a table may have columns of the names that the triggers use themselves") func columnNames() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let sql = try SQLWriter(url: url)
    let names = [
      "home", "is_whole", "ids", "places", "zones", "names", "sizes", "keys", "moved", "seqs", "stand",
    ]
    try sql.run(
      """
      CREATE TABLE lists (id uuid PRIMARY KEY, \(names.map { "\($0) text" }.joined(separator: ", ")));
      CREATE TABLE items (id uuid PRIMARY KEY, list_id uuid NOT NULL REFERENCES lists ON DELETE CASCADE,
        \(names.map { "\($0) text" }.joined(separator: ", ")));
      INSERT INTO lists (id) VALUES ('019a0000-0000-7000-8000-000000000001'), ('019a0000-0000-7000-8000-000000000002');
      """)
    let server = try TestServer(adopting: url)
    try sql.run(
      """
      INSERT INTO items (id, list_id, home) SELECT ('019a0000-0000-7000-8000-00000000010' || i)::uuid,
        '019a0000-0000-7000-8000-000000000001', 'x' FROM generate_series(1, 3) i;
      UPDATE items SET \(names.map { "\($0) = 'y'" }.joined(separator: ", "));
      UPDATE items SET list_id = '019a0000-0000-7000-8000-000000000002' WHERE id = '019a0000-0000-7000-8000-000000000101';
      UPDATE lists SET home = 'z';
      DELETE FROM items WHERE id = '019a0000-0000-7000-8000-000000000102';
      DELETE FROM lists WHERE id = '019a0000-0000-7000-8000-000000000001';
      """)
    #expect(try sql.texts("SELECT home FROM items") == ["y"])
    #expect(try server.findings() == [])
    try sql.run("TRUNCATE lists CASCADE")
    #expect(try server.findings() == [])
  }
}

extension SQLWriter {
  /// The payloads that have arrived.
  fileprivate func heard() throws -> [String] {
    try connection.notifications(timeout: .seconds(10)).map(\.payload)
  }
}
