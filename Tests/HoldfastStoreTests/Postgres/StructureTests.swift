import Foundation
import HoldfastCore
import HoldfastPostgres
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// What PostgreSQL itself holds to, and what becomes of it.
@Suite struct StructureTests {
  @Test(
    "a key, check, unique index or NOT NULL that somebody has dropped is told with what mends it (I9, I12)",
    arguments: [
      ("ALTER TABLE items DROP CONSTRAINT items_pkey CASCADE", 3),
      ("ALTER TABLE items DROP CONSTRAINT items_list_id_fkey", 1),
      ("ALTER TABLE items ALTER COLUMN title DROP NOT NULL", 1),
      ("ALTER TABLE times DROP CONSTRAINT times_at_check", 1),
      ("DROP INDEX holdfast_items_unique_0", 1),
      ("ALTER TABLE holdfast.records DROP CONSTRAINT records_of_record", 1),
      ("ALTER TABLE holdfast.zones DROP CONSTRAINT zones_seq_check", 1),
    ])
  func dropped(statement: String, parts: Int) throws {
    let schema = TestLedger.schema.replacing(
      #""words": {"#,
      with: #""times": {"zone": {"public": "times"}, "columns": {"at": {"type": "timestamp"}}}, "words": {"#)
    let ledger = try TestLedger(schema)
    #expect(try ledger.findings() == [])
    try ledger.writer.run(statement)
    let findings = try ledger.findings()
    #expect(findings.count == parts)
    #expect(findings.allSatisfy { $0.hasPrefix("structure: ") })
    let told = TestServer.Failures()
    _ = try InlineServer(
      .postgres(PostgresLocation(ledger.url)), schema: SyncSchema(json: Array(schema.utf8)),
      environment: TestWorld().environment, notice: { line in told.lines.withLock { $0.append(line) } })
    let notices = told.lines.withLock { $0 }
    #expect(findings.allSatisfy { notices.contains($0) })
    let statements = findings.compactMap { $0.components(separatedBy: "mend it by ").last }
    // What a foreign key refers to comes before it.
    for statement in statements.sorted(by: { !$0.contains("FOREIGN KEY") && $1.contains("FOREIGN KEY") }) {
      try ledger.writer.run(statement)
    }
    #expect(try ledger.findings() == [])
  }

  @Test("foreign keys whose triggers are switched off are told until they are made again (I9)")
  func switchedOff() throws {
    let ledger = try TestLedger()
    // As `pg_restore --disable-triggers` leaves them when it is interrupted.
    let superuser = try TemporaryPostgres.shared.superuserURL(of: ledger.url)
    try TemporaryPostgres.shared.psql(
      superuser, "ALTER TABLE items DISABLE TRIGGER ALL; ALTER TABLE items ENABLE TRIGGER USER")
    let findings = try ledger.findings()
    #expect(findings.contains { $0.contains("items_list_id_fkey") })
    for statement in findings.compactMap({ $0.components(separatedBy: "mend it by ").last }) {
      try ledger.writer.run(statement)
    }
    #expect(try ledger.findings() == [])
    #expect(throws: PostgresError.self) {
      try ledger.writer.run("INSERT INTO items (id, list_id, title) VALUES ('orphan', 'nowhere', 'x')")
    }
  }

  @Test("what a team adds to the tables is its own to drop, and the schema's changes are no loss")
  func own() throws {
    let ledger = try TestLedger()
    try ledger.writer.run(
      "ALTER TABLE items ADD CONSTRAINT short CHECK (length(title) < 99); CREATE UNIQUE INDEX team ON words (word)"
    )
    let schema = TestLedger.schema.replacing(
      #""words": {"#, with: #""terms": {"was": ["words"], "#
    ).replacing(
      #""note": {"type": "text"}, "data""#, with: #""remark": {"type": "text", "was": ["note"]}, "data""#
    ).replacing(
      #""after_id": {"type": "reference", "to": "items", "on_delete": "set_null"}"#,
      with: #""more": {"type": "real"}"#)
    _ = try PostgresOpening.open(
      PostgresLocation(ledger.url), schema: SyncSchema(json: Array(schema.utf8)), removals: .allow
    ) { [UInt8](repeating: 7, count: $0) }
    #expect(try ledger.findings() == [])
    try ledger.writer.run("ALTER TABLE items DROP CONSTRAINT short; DROP INDEX team")
    #expect(try ledger.findings() == [])
    try ledger.writer.run("ALTER TABLE items DROP CONSTRAINT items_more_check")
    #expect(try ledger.findings().count == 1)
  }

  @Test("adopted tables are found by their names, however the database quotes them") func quoting() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let sql = try SQLWriter(url: url)
    try sql.run(
      """
      CREATE TABLE lists (id uuid PRIMARY KEY, title text NOT NULL);
      CREATE TABLE items (id uuid PRIMARY KEY, list_id uuid NOT NULL REFERENCES lists ON DELETE CASCADE, title text NOT NULL);
      """)
    let server = try TestServer(adopting: url)
    let name = try sql.texts("SELECT current_database()::text")[0]
    try sql.run("ALTER DATABASE \(name) SET quote_all_identifiers = on")
    try server.reopen()
    #expect(try server.findings() == [])
  }

  @Test(
    "a root record by SQL takes no zone of somebody else: a public one, a user's, another table's (I10)",
    arguments: ["catalogue", "bob", "taken"])
  func rootNames(name: String) throws {
    let ledger = try TestLedger(
      TestLedger.schema.replacing(
        #""words": {"#,
        with: #""boards": {"zone": "root", "columns": {"title": {"type": "text"}}}, "words": {"#))
    let sql = ledger.writer
    try sql.run("INSERT INTO boards (id, title) VALUES ('taken', 'x')")
    #expect(throws: PostgresError.self) {
      try sql.run("SET holdfast.account = 'ann'; INSERT INTO lists (id, title) VALUES ('\(name)', 'x')")
    }
    try sql.run(
      "ROLLBACK; INSERT INTO lists (id, title) VALUES ('free', 'x'); DELETE FROM lists WHERE id = 'free'")
    try sql.run("INSERT INTO lists (id, title) VALUES ('free', 'again')")
    #expect(try sql.texts("SELECT count(*)::text FROM holdfast.access WHERE zone = '\(name)'") == ["0"])
    #expect(try ledger.findings() == [])
  }
}
