import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import HoldfastServer
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

/// A database whose rows a dump replaces, under servers that keep their connections, or before any server has started.
@Suite("Rows that a dump puts back") struct PutBackTests {
  private let server: TestServer
  private let other: TestServer
  private let sql: SQLWriter
  private let list: String

  init() throws {
    server = try TestServer(engine: .postgres)
    let location = server.location
    sql = try SQLWriter(server)
    other = try TestServer { _ in location }
    list = try server.signUp("ann").makeList()
  }

  private func epoch() throws -> String {
    try sql.texts("SELECT value FROM holdfast.meta WHERE key = 'epoch'")[0]
  }

  private func fork() throws -> String {
    try sql.texts("SELECT value FROM holdfast.meta WHERE key = 'epoch_fork'").first ?? "none"
  }

  /// How the row `history` differs from the database that a connection leads to.
  enum Difference: CaseIterable {
    /// A dump has written it.
    case writer
    /// The row is of the primary, and the database of its promoted standby, to which a pooler leads the connection.
    case timeline
    /// The database is a copy by TEMPLATE, likewise.
    case database

    /// The value that the row gets.
    var value: String {
      let own = "pg_current_xact_id()::text::bigint & 4294967295"
      let parts = (1...5).map { "split_part(value, ' ', \($0))" }
      return switch self {
      case .writer: "value"
      case .timeline: "concat_ws(' ', \(parts[0]), '0000000F', \(parts[2]), \(own), \(parts[4]))"
      case .database: "concat_ws(' ', \(parts[0]), \(parts[1]), '1', \(own), \(parts[4]))"
      }
    }
  }

  @Test(
    "begin an epoch before a running server writes or answers again, once for all servers (I2, I4)",
    arguments: Difference.allCases, [true, false])
  func running(difference: Difference, writes: Bool) throws {
    let ann = try server.signIn("ann")
    try ann.pull()
    let bob = try server.signUp("bob")
    bob.server = other
    let rest = RestClient(bob)
    _ = try rest.get("/v1/zones")
    let before = try epoch()
    try sql.run("UPDATE holdfast.meta SET value = \(difference.value) WHERE key = 'history'")
    if writes {
      _ = try ann.sync([.create("items", ann.newID(), ["list_id": .string(list), "title": "Tea"])])
      #expect(try epoch() != before)
    } else {
      try blockUntil { try rest.get("/v1/tables/lists").status != 503 }
      #expect(try epoch() != before)
    }
    let after = try epoch()
    try ann.pull()
    try blockUntil { try rest.get("/v1/zones").status != 503 }
    #expect(try epoch() == after)
    #expect(try fork() == "known")
  }

  @Test("no server writes while the database has no epoch, as in the middle of a restore (I2)")
  func emptied() throws {
    let ann = try server.signIn("ann")
    try ann.pull()
    try sql.run("CREATE TEMP TABLE meta AS SELECT * FROM holdfast.meta; DELETE FROM holdfast.meta")
    let item = ann.newID()
    let request = ann.request([[.create("items", item, ["list_id": .string(list), "title": "Tea"])]])
    #expect(try server.respond(to: request).status >= 500)
    #expect(try sql.texts("SELECT id FROM items WHERE id = '\(item)'").isEmpty)
  }

  @Test("a fork is unknown if SQL has written between the restore and the epoch (I3, I4)")
  func sqlWrites() throws {
    let ann = try server.signIn("ann")
    let item = try ann.makeItem(list)
    (server.inline, other.inline) = (nil, nil)
    try sql.run("UPDATE holdfast.meta SET value = value WHERE key = 'history'")
    try sql.run("UPDATE items SET title = 'Kiwi' WHERE id = '\(item)'")
    try server.reopen()
    #expect(try fork() == "unknown")
    (server.inline, other.inline) = (nil, nil)
    try sql.run("UPDATE holdfast.meta SET value = value WHERE key = 'history'")
    try server.reopen()
    #expect(try fork() == "known")
  }

  @Test("are no doubts, and no command writes before the epoch has begun (I2, I3)")
  func commands() throws {
    let ann = try server.signIn("ann")
    _ = try ann.makeItem(list)
    (server.inline, other.inline) = (nil, nil)
    let before = try epoch()
    // As pg_restore writes them: the ledger before the records.
    let restore = try SQLWriter(superuserOn: server)
    try restore.run(
      """
      SET session_replication_role = replica;
      CREATE TEMP TABLE meta AS SELECT * FROM holdfast.meta; CREATE TEMP TABLE ledger AS SELECT * FROM holdfast.records;
      CREATE TEMP TABLE rows AS SELECT * FROM items;
      DELETE FROM holdfast.meta; DELETE FROM holdfast.records; DELETE FROM items;
      INSERT INTO holdfast.meta SELECT * FROM meta; INSERT INTO holdfast.records SELECT * FROM ledger;
      """)
    try restore.run("INSERT INTO items SELECT * FROM rows")
    let administration = { try Administration(server.location) }
    #expect(try administration().doubts() == [])
    #expect(try administration().doctor().contains { $0.kind == .history })
    #expect(throws: ServerError.self) { try DatabaseRepair(server.location).run() }
    let user = try sql.texts("SELECT name FROM holdfast.accounts")[0]
    #expect(throws: (any Error).self) { try administration().setPassword("another-horse", ofUser: user) }
    #expect(try epoch() == before)
    #expect(try sql.texts("SELECT id FROM items").count == 1)
    try server.reopen()
    #expect(try epoch() != before)
    #expect(try administration().doubts() == [])
    // What is bypassed afterwards is a doubt again.
    try sql.run("BEGIN; SET LOCAL holdfast.service = 'on'; UPDATE items SET title = 'Kiwi'; COMMIT")
    #expect(try administration().doubts().count == 1)
  }
}
