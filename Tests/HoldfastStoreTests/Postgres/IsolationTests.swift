import HoldfastCore
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// SQL writers whose transactions see an older snapshot, and groups that end by SQL. Invariants I7 and I10.
@Suite struct IsolationTests {
  private static let levels = ["REPEATABLE READ", "SERIALIZABLE"]

  private let server: TestServer
  private let alice: TestDevice
  private let bob: TestDevice
  /// The group that Bob is in.
  private let team: String
  private let list: String
  private let sql: SQLWriter

  init() throws {
    server = try TestServer(engine: .postgres)
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
    team = try alice.makeList("Team")
    list = try alice.makeList("Plan")
    _ = try alice.share(team, with: "bob")
    sql = try SQLWriter(server)
  }

  /// The list takes the group.
  private func name() throws {
    let group: Sent = .create(
      "members", alice.newID(), ["zone": .string(list), "group": .string(team), "role": "editor"])
    #expect(try alice.sync([group]).refused.isEmpty)
  }

  private func begin(_ level: String) throws {
    try sql.run("BEGIN ISOLATION LEVEL \(level); SELECT count(*) FROM lists")
  }

  /// The code of the error that a statement fails with, in the transaction that is open.
  private func code(of statement: String) -> PostgresError.Code? {
    do throws(PostgresError) { try sql.connection.execute(statement) } catch { return error.code }
    return nil
  }

  /// What the doctor finds, zones without an owner aside.
  private func findings() throws -> [String] { try server.findings().filter { !$0.hasPrefix("owner: ") } }

  private func hasList(_ device: TestDevice) throws -> Bool {
    try device.pull()
    return device.has("lists", list)
  }

  @Test("a group whose root record gets another id by SQL gives no zone any more (I10)")
  func anotherID() throws {
    try name()
    #expect(try hasList(bob))
    try sql.run("UPDATE lists SET title = 'Crew' WHERE id = '\(team)'")
    #expect(try hasList(bob))
    try sql.run("UPDATE lists SET id = '\(alice.newID())' WHERE id = '\(team)'")
    #expect(try !hasList(bob))
    #expect(try findings() == [])
  }

  @Test("who is removed from a group by SQL loses what took the group meanwhile (I10)", arguments: levels)
  func members(_ level: String) throws {
    let removal = "DELETE FROM holdfast.members WHERE zone = '\(team)' AND \"user\" = '\(bob.user)'"
    try begin(level)
    try name()
    #expect(code(of: removal) == .serializationFailure)
    try sql.run("ROLLBACK")
    try begin(level)
    #expect(code(of: removal) == .featureNotSupported)
    try sql.run("ROLLBACK")
    #expect(try hasList(bob))
    try sql.run(removal)
    #expect(try !hasList(bob))
    #expect(try findings() == [])
  }

  @Test("a group that is deleted by SQL gives no zone that took it meanwhile (I10)", arguments: levels)
  func root(_ level: String) throws {
    let deletion = "DELETE FROM lists WHERE id = '\(team)'"
    try begin(level)
    try name()
    #expect(code(of: deletion) == .serializationFailure)
    try sql.run("ROLLBACK")
    try begin(level)
    #expect(code(of: "UPDATE lists SET title = 'Crew' WHERE id = '\(team)'") == nil)
    #expect(code(of: deletion) == .featureNotSupported)
    try sql.run("ROLLBACK; \(deletion)")
    #expect(try !hasList(bob))
    // A list that is no group may go in any transaction.
    try begin(level)
    #expect(code(of: "DELETE FROM lists WHERE id = '\(list)'; COMMIT") == nil)
    #expect(try findings() == [])
  }

  @Test("a group that SQL names is written, too (I10)", arguments: levels)
  func namedBySQL(_ level: String) throws {
    try begin(level)
    try SQLWriter(server).run(
      "INSERT INTO holdfast.members (zone, \"group\", role) VALUES ('\(list)', '\(team)', 'editor')")
    #expect(code(of: "DELETE FROM lists WHERE id = '\(team)'") == .serializationFailure)
    try sql.run("ROLLBACK")
    #expect(try hasList(bob))
    #expect(try findings() == [])
  }

  @Test("TRUNCATE leaves no record in the ledger alone (I7)", arguments: levels) func truncate(
    _ level: String
  )
    throws
  {
    try begin(level)
    let item = try alice.makeItem(list)
    #expect(code(of: "TRUNCATE items, seals") == .featureNotSupported)
    try sql.run("ROLLBACK; TRUNCATE items, seals")
    try alice.pull()
    #expect(!alice.has("items", item))
    #expect(try findings() == [])
  }

  @Test("the server's transactions are READ COMMITTED, whatever the database's default is (I4)")
  func ofTheServer() throws {
    try sql.run(
      """
      DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database()); END $$;
      CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF current_setting('transaction_isolation') <> 'read committed' THEN RAISE 'another level'; END IF;
        RETURN NULL;
      END $$;
      CREATE TRIGGER look AFTER INSERT ON items EXECUTE FUNCTION look();
      """)
    try server.reopen()
    let item: Sent = .create("items", alice.newID(), ["list_id": .string(list), "title": "x"])
    #expect(try alice.sync([item]).refused.isEmpty)
  }
}
