import HoldfastCore
import HoldfastPostgres
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

  private func repair() throws -> [String] { try LedgerRepair(server.location).run() }

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
    #expect(try repair() == ["repaired: items, 3 records"])
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

  @Test("access that was changed by hand is worked out from the members again (I10)") func access() throws {
    try sql.run("DELETE FROM holdfast.access WHERE zone = '\(list)'")
    _ = try repair()
    #expect(try alice.makeItem(list, "mine again").isEmpty == false)
  }
}
