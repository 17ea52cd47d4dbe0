import HoldfastCore
import HoldfastPostgres
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// A ledger that was bypassed, and what heals it.
@Suite struct RepairTests {
  private let server: TestServer
  private let alice: TestDevice
  private let list: String
  private let sql: SQLWriter

  init() throws {
    server = try TestServer(engine: .postgres)
    alice = try server.signUp("alice")
    list = try alice.makeList()
    sql = try SQLWriter(server)
  }

  private func repair() throws -> [String] {
    try DatabaseRepair(server.location, environment: server.world.environment).run()
  }

  @Test(
    "what was written behind the triggers is found and fed: rows that came, went and changed (I4)",
    arguments: [
      ("ALTER TABLE items DISABLE TRIGGER USER", "ALTER TABLE items ENABLE TRIGGER USER"),
      ("SET session_replication_role = replica", "SET session_replication_role = origin"),
      ("SET holdfast.service = 'on'", "RESET holdfast.service"),
      (
        "DROP TRIGGER holdfast_update ON items;"
          + "ALTER TABLE items DISABLE TRIGGER USER", ""
      ),
    ])
  func bypassed(off: String, on: String) throws {
    let (gone, changed, same) = (
      try alice.makeItem(list, "gone"), try alice.makeItem(list, "before"), try alice.makeItem(list, "same")
    )
    // Triggers of constraints wait for the commit, and a table with such is not altered.
    let writer = try SQLWriter(superuserOn: server)
    try writer.run(off)
    try writer.run(
      """
      DELETE FROM items WHERE id = '\(gone)'; UPDATE items SET title = 'after' WHERE id = '\(changed)';
      INSERT INTO items (id, zone, list_id, title) VALUES ('new', '\(list)', '\(list)', 'new');
      """)
    try writer.run(on)
    // Where they were not switched on again, the repair does that.
    let triggers = on.isEmpty ? ["repaired: the triggers of items"] : []
    #expect(try repair() == triggers + ["repaired: items, 3 records"])
    try alice.pull()
    #expect(!alice.has("items", gone) && alice.has("items", "new"))
    #expect(alice.column("items", changed, "title") == "after")
    #expect(alice.records["items \(same)"]?.rev == 1)
    #expect(try server.findings() == [])
    #expect(try repair() == [])
    try sql.run("UPDATE items SET title = 'seen again' WHERE id = 'new'")
    try alice.pull()
    #expect(alice.column("items", "new", "title") == "seen again")
  }

  @Test(
    "a record whose zone does not fit its parent is found, and goes where the parent is: it departs from the old zone (I4, I9, I10)",
    arguments: [
      "UPDATE items SET list_id = 'OTHER' WHERE id = 'ITEM'",
      "UPDATE items SET zone = 'OTHER', list_id = 'OTHER' WHERE id = 'ITEM'",
    ])
  func moved(statement: String) throws {
    let bob = try server.signUp("bob")
    _ = try alice.share(list, with: "bob", as: .viewer)
    let (item, other) = (try alice.makeItem(list, "moves"), try alice.makeList("other"))
    let seal = alice.newID()
    try alice.sync([.create("seals", seal, ["item_id": .string(item)])])
    try bob.pull()
    try behind(
      statement.replacing("OTHER", with: other).replacing("ITEM", with: item))
    let findings = try server.findings()
    #expect(
      findings.contains {
        $0.contains("items \(item)") && ($0.hasPrefix("zone: ") || $0.hasPrefix("ledger: "))
      })
    #expect(try repair().first == "repaired: items, 1 records")
    #expect(try server.findings() == [])
    #expect(
      try sql.texts(
        "SELECT zone FROM items UNION ALL SELECT zone FROM seals UNION ALL SELECT zone FROM holdfast.records WHERE id IN ('\(item)', '\(seal)') AND state = 0"
      )
        == [other, other, other, other])
    try bob.pull()
    try alice.pull()
    #expect(!bob.has("items", item) && !bob.has("seals", seal))
    #expect(alice.records["items \(item)"]?.zone == other && alice.records["seals \(seal)"]?.zone == other)
    #expect(try alice.sync([.update("items", item, ["title": "edited"])]).refused.isEmpty)
    try alice.pull()
    #expect(alice.column("items", item, "title") == "edited")
    #expect(try repair() == [])
  }

  @Test("a record whose zone alone was changed behind the triggers is put back where its parent is (I4, I9)")
  func zoneAlone() throws {
    let (item, other) = (try alice.makeItem(list, "stays"), try alice.makeList("other"))
    for statement in [
      "UPDATE items SET zone = '\(other)' WHERE id = '\(item)'",
      "UPDATE holdfast.records SET zone = '\(other)', seq = 900 WHERE id = '\(item)'",
    ] {
      try behind(statement)
      #expect(try server.findings().contains { $0.contains("items \(item)") })
      #expect(try repair().first == "repaired: items, 1 records")
      // A seq in the middle of another zone's has gone with the row.
      #expect(try server.findings() == [])
      try alice.pull()
      #expect(alice.records["items \(item)"]?.zone == list)
      #expect(try alice.sync([.update("items", item, ["title": "edited"])]).refused.isEmpty)
    }
  }

  @Test("records of adopted tables go where their parents are, too (I9, I10)") func adopted() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let sql = try SQLWriter(url: url)
    try sql.run(
      """
      CREATE TABLE lists (id uuid PRIMARY KEY, title text NOT NULL);
      CREATE TABLE items (id uuid PRIMARY KEY, list_id uuid NOT NULL REFERENCES lists ON DELETE CASCADE, title text NOT NULL);
      INSERT INTO lists SELECT ('019a0000-0000-7000-8000-00000000000' || i)::uuid, 'List ' || i FROM generate_series(1, 2) i;
      INSERT INTO items SELECT ('019a0000-0000-7000-8000-00000000010' || i)::uuid, '019a0000-0000-7000-8000-000000000001', 'x'
        FROM generate_series(1, 2) i;
      """)
    let server = try TestServer(adopting: url)
    try sql.run(
      """
      SET holdfast.service = 'on';
      UPDATE items SET list_id = '019a0000-0000-7000-8000-000000000002' WHERE id = '019a0000-0000-7000-8000-000000000101';
      UPDATE holdfast.records SET zone = '019a0000-0000-7000-8000-000000000002', seq = 900 WHERE id = '019a0000-0000-7000-8000-000000000102'
      """)
    let zones = try Administration(server.location).doctor().filter { $0.kind == .zone }
    #expect(zones.count == 2)
    #expect(
      try DatabaseRepair(server.location).run() == [
        "repaired: items, 2 records", "repaired: what 2 zones hold",
      ])
    #expect(try Administration(server.location).doctor() == [])
    #expect(
      try sql.texts(
        "SELECT zone FROM holdfast.records WHERE record_table = 'items' AND state = 0 ORDER BY id")
        == ["019a0000-0000-7000-8000-000000000002", "019a0000-0000-7000-8000-000000000001"])
  }

  private func behind(_ statement: String) throws {
    let writer = try SQLWriter(superuserOn: server)
    try writer.run("SET session_replication_role = replica; \(statement)")
  }

  @Test("what people and devices write is no difference: a repair of a sound database feeds nothing")
  func sound() throws {
    let item = try alice.makeItem(list, "one")
    _ = try alice.sync([.update("items", item, ["title": "two"])])
    try sql.run(
      """
      INSERT INTO items (id, list_id, title) VALUES ('sql', '\(list)', 'x'); UPDATE items SET title = 'y' WHERE id = 'sql';
      BEGIN; SAVEPOINT s; UPDATE items SET title = 'z'; ROLLBACK TO s; UPDATE items SET title = 'w'; COMMIT
      """)
    let other = try alice.makeList("other")
    try sql.run(
      "UPDATE items SET list_id = '\(other)' WHERE id = 'sql'; DELETE FROM items WHERE id = '\(item)'")
    #expect(try repair() == [])
    #expect(try server.findings() == [])
  }

  @Test("no SQL makes a member somebody whom the service does not know, and locks the owner out (I10)")
  func roles() throws {
    #expect(throws: PostgresError.self) {
      try sql.run("UPDATE holdfast.members SET role = 'king' WHERE zone = '\(list)'")
    }
    #expect(try alice.makeItem(list, "still mine").isEmpty == false)
    #expect(try server.findings() == [])
  }

  @Test(
    "all that a repair changes is said",
    arguments: [
      ("UPDATE holdfast.zones SET seq = 0 WHERE zone = 'LIST'", "repaired: the last seq of 1 zones"),
      ("DROP TRIGGER holdfast_insert ON items", "repaired: the triggers of items"),
      ("DROP FUNCTION holdfast.items_insert CASCADE", "repaired: the triggers of items"),
      ("DROP FUNCTION holdfast.items_settle", "repaired: the functions of the triggers"),
      ("DROP FUNCTION holdfast.now", "repaired: the functions of the triggers"),
      ("DROP FUNCTION holdfast.new_id CASCADE", "repaired: the functions of the triggers"),
      (
        "CREATE OR REPLACE FUNCTION holdfast.now() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
        "repaired: the functions of the triggers"
      ),
      ("ALTER TABLE holdfast.devices ALTER number RESTART", "repaired: the numbers of new devices"),
      ("ALTER TABLE holdfast.devices ALTER number DROP IDENTITY", "repaired: the numbers of new devices"),
      ("DELETE FROM holdfast.zones WHERE zone = 'catalogue'", "repaired: the public zone catalogue"),
      (
        "SET session_replication_role = replica; UPDATE items SET zone = 'catalogue'",
        "repaired: items, 1 records"
      ),
    ])
  func said(damage: String, line: String) throws {
    _ = try alice.makeItem(list, "one")
    let writer = try SQLWriter(superuserOn: server)
    try writer.run(damage.replacing("LIST", with: list))
    #expect(try repair() == [line])
    #expect(try server.findings() == [])
    #expect(try repair() == [])
  }

  @Test("a change of the schema is no repair, and functions that others have replaced before it are one")
  func changed() throws {
    let lines = Mutex<[String]>([])
    let start = { (schema: SyncSchema, removals: Removals) throws in
      _ = try server.location.serve(
        schema: schema, removals: removals,
        DatabaseService(
          environment: server.world.environment, log: { line in lines.withLock { $0.append(line) } })
      ).database.close()
    }
    server.inline = nil
    try start(SchemaChangeTests.renamed(), .refuse)
    #expect(lines.withLock { $0 } == [])
    try sql.run("DROP FUNCTION holdfast.now")
    try start(SchemaChangeTests.reduced(), .allow)
    #expect(lines.withLock { $0 } == ["repaired: the functions of the triggers"])
  }

  @Test("access that was changed by hand is worked out from the members again (I10)") func access() throws {
    try sql.run("DELETE FROM holdfast.access WHERE zone = '\(list)'")
    _ = try repair()
    #expect(try alice.makeItem(list, "mine again").isEmpty == false)
  }

  @Test("records of users' tables that came behind the triggers are taken in, each to its user (I3)")
  func users() throws {
    let bob = try server.signUp("bob")
    let writer = try SQLWriter(superuserOn: server)
    try writer.run(
      """
      SET session_replication_role = replica; INSERT INTO notes (id, zone, text) VALUES
        ('n1', '\(alice.user)', 'one'), ('n2', '\(bob.user)', 'two'), ('n3', '\(alice.user)', 'three')
      """)
    #expect(try repair() == ["repaired: notes, 3 records"])
    for device in [alice, bob] { try device.pull() }
    #expect(alice.has("notes", "n1") && alice.has("notes", "n3") && !alice.has("notes", "n2"))
    #expect(bob.has("notes", "n2") && !bob.has("notes", "n1"))
    #expect(try server.findings() == [])
  }

  @Test("a table whose records can't be taken in is named, and all else is repaired (I12)")
  func others() throws {
    let writer = try SQLWriter(superuserOn: server)
    try writer.run(
      """
      SET session_replication_role = replica; INSERT INTO notes (id, zone, text) VALUES ('n1', 'nobody', 'whose');
      INSERT INTO items (id, zone, list_id, title) VALUES ('new', '\(list)', '\(list)', 'new')
      """)
    let lines = try repair()
    #expect(lines.count == 2 && lines.contains("repaired: items, 1 records"), "\(lines)")
    #expect(lines.contains { $0.hasPrefix("not repaired: The records of notes ") }, "\(lines)")
    try alice.pull()
    #expect(alice.has("items", "new"))
    try writer.run("DELETE FROM notes")
    #expect(try server.findings() == [])
  }
}
