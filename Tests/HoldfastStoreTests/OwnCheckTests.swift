import HoldfastCore
import HoldfastPostgres
import HoldfastSQLite
import ServerScenes
import Testing

@testable import HoldfastServer

/// What a person at the shell of the database may not write to Holdfast's own tables: I10, I12.
@Suite struct OwnCheckTests {
  let server: TestServer
  let alice: TestDevice
  let list: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    list = try alice.makeList()
    _ = try server.signUp("bob")
    _ = try alice.share(list, with: "bob")
  }

  /// Runs a statement that speaks of the tables as both engines name them.
  private func run(_ sql: String) throws {
    let isSQLite = Engine.used == .sqlite
    let named = sql.replacing("@", with: isSQLite ? "holdfast_" : "holdfast.")
      .replacing("~", with: isSQLite ? "" : "holdfast.")
    if isSQLite { try server.connection.execute(named) } else { try SQLWriter(server).run(named) }
  }

  @Test(
    "no role, state or number that no server reads is written by SQL, and the owner keeps the zone",
    arguments: [
      "UPDATE ~members SET role = 'king'", "UPDATE @access SET role = ''",
      "UPDATE @access SET role = 'Owner'",
      "UPDATE @zones SET seq = 9223372036854775807", "UPDATE @devices SET confirmed = 9223372036854775807",
      "UPDATE @zones SET seq = -1", "UPDATE @zones SET purged = -1", "UPDATE @zones SET erased = -1",
      "UPDATE @zones SET restored = -5", "UPDATE @accounts SET erasure = 7", "UPDATE @accounts SET name = ''",
      "UPDATE @accounts SET losses = -1", "UPDATE @devices SET confirmed = -1",
      "UPDATE @devices SET session = 0",
      "UPDATE @devices SET session_at = -1", "UPDATE @devices SET ticket_until = -1",
      "UPDATE @acks SET seq = -1", "UPDATE @acks SET purged = -2",
      "UPDATE @meta SET value = '' WHERE key = 'epoch'", "UPDATE @keys SET key = ''",
      "INSERT INTO @told VALUES ('x', -1)", "INSERT INTO @claims VALUES ('x', -1)",
      "INSERT INTO @push_tokens VALUES (1, '', 't', 'h')",
      "INSERT INTO @push_tokens VALUES (1, 'apns', '', 'h')",
      "INSERT INTO @audit VALUES ('x', -1, 'revoke', 'a', '', 'ada', 'n', '')",
      "INSERT INTO @audit VALUES ('x', 1, '', 'a', '', 'ada', 'n', '')",
      "INSERT INTO @audit VALUES ('x', 1, 'revoke', 'a', '', '', 'n', '')",
      "INSERT INTO @samples VALUES ('n', 30, 60, '{}')", "INSERT INTO @samples VALUES ('n', 60, 61, '{}')",
      "INSERT INTO @samples VALUES ('', 60, 60, '{}')",
      "INSERT INTO @refusals VALUES (1, 5, 4, 4, '')", "INSERT INTO @refusals VALUES (1, 1, 2, 3, '')",
    ])
  func refused(statement: String) throws {
    try alice.pull()
    #expect(throws: (any Error).self) { try run(statement) }
    #expect(try alice.makeItem(list, "still mine").isEmpty == false)
    #expect(try server.findings() == [])
  }

  @Test(
    "a number that is as great as can be ends no server, and refuses its own change set alone",
    .enabled(if: Engine.used == .sqlite),
    arguments: [
      "UPDATE lists SET rev = 9223372036854775807", "UPDATE holdfast_zones SET seq = 9223372036854775807",
    ])
  func greatest(statement: String) throws {
    #expect(throws: SQLiteError.self) { try server.connection.execute(statement) }
    try server.connection.execute(
      "PRAGMA ignore_check_constraints = ON; \(statement); PRAGMA ignore_check_constraints = OFF")
    let reply = try RestClient(alice).send("PATCH", "/v1/tables/lists/\(list)", ["columns": ["title": "New"]])
    #expect(reply.status == 422)
    #expect(try alice.refused(.update("lists", list, ["title": "New"])).code == .invalidOperation)
  }

  @Test(
    "no value of another type comes into a record by SQL", .enabled(if: Engine.used == .sqlite),
    arguments: ["title = x'00'", "seq = 'one'", "rev = 1.5", "id = NULL"])
  func strict(setting: String) throws {
    #expect(throws: SQLiteError.self) {
      try server.connection.execute("UPDATE lists SET \(setting)")
    }
  }

  @Test("no JSON that is none comes into a record by SQL", .enabled(if: Engine.used == .sqlite))
  func json() throws {
    let text = """
      {"holdfast": 1, "name": "j", "tables": {"lists": {"zone": "root", "columns": {"tags": {"type": "json"}}}}}
      """
    let server = try TestServer(SyncSchema(json: Array(text.utf8)))
    let alice = try server.signUp("alice")
    let list = alice.newID()
    try alice.sync([.create("lists", list, ["tags": ["a"]])])
    #expect(throws: SQLiteError.self) { try server.connection.execute("UPDATE lists SET tags = 'nope'") }
    try server.connection.execute("UPDATE lists SET tags = NULL")
    try alice.sync([.update("lists", list, ["tags": "b"])])
    #expect(alice.column("lists", list, "tags") == "b")
  }

  /// Those in which nothing can be wrong: any text is a name.
  private static let free: TextSet = ["tables", "departures", "left", "conflicts_fts"]

  @Test("each of Holdfast's own tables checks what is written to it") func complete() throws {
    let checked = "CHECK"
    var tables: [(name: String, isChecked: Bool)] = []
    if Engine.used == .sqlite {
      for row in try server.connection.rows(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND (name LIKE 'holdfast%' OR name IN ('members', 'conflicts'))"
      ) {
        let name = row[0].text ?? ""
        tables.append((name.replacing("holdfast_", with: ""), row[1].text?.contains(checked) == true))
      }
    } else {
      let rows = try SQLWriter(server).connection.query(
        """
        SELECT c.relname::text, EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'c')
        FROM pg_class c WHERE c.relnamespace = 'holdfast'::regnamespace AND c.relkind = 'r'
        """)
      for row in rows.indices { tables.append((rows.text(row, 0), rows.bool(row, 1))) }
    }
    #expect(tables.count > 20)
    let unchecked = tables.filter { !$0.isChecked && !Self.free.contains($0.name) }.map(\.name)
    #expect(unchecked == [])
  }
}
