import HoldfastPostgres
import TemporaryPostgres
import Testing

@Suite("Errors")
struct ErrorTests {
  let fixture: Fixture
  var connection: PostgresConnection { fixture.connection }

  init() throws {
    fixture = try Fixture()
    try connection.execute(
      """
      CREATE TABLE list (
        id bigint PRIMARY KEY, name text NOT NULL UNIQUE, size int CONSTRAINT list_size CHECK (size > 0));
      CREATE TABLE item (list bigint REFERENCES list (id));
      INSERT INTO list VALUES (1, 'Food', 1);
      """)
  }

  @Test(
    "each failure has its own code",
    arguments: [
      ("INSERT INTO list VALUES (2, 'Food', 1)", PostgresError.Code.uniqueViolation),
      ("INSERT INTO list VALUES (2, NULL, 1)", .notNullViolation),
      ("INSERT INTO list VALUES (2, 'b', 0)", .checkViolation),
      ("INSERT INTO item VALUES (9)", .foreignKeyViolation),
      ("SELECT * FROM nowhere", .undefinedTable),
      ("SELECT nothing FROM list", .undefinedColumn),
      ("SELEKT 1", .syntaxError),
      ("SELECT 1 / 0", .divisionByZero),
      ("CREATE ROLE other", .insufficientPrivilege),
    ])
  func codes(sql: String, expected: PostgresError.Code) throws {
    #expect(code { try connection.run(PostgresStatement(sql)) } == expected)
    #expect(code { try connection.execute(sql) } == expected)
    #expect(connection.transactionStatus == .idle)
  }

  @Test("an error names the constraint and table; only its debug description quotes a value")
  func description() throws {
    let insert: PostgresStatement = "INSERT INTO list (id, name) VALUES ($1, $2)"
    let error = #expect(throws: PostgresError.self) {
      try connection.run(insert, PostgresParameters(2, "Food"))
    }
    #expect(error?.constraint == "list_name_key")
    #expect(error?.table == "list")
    #expect(error?.schema == "public")
    #expect(error?.severity == "ERROR")
    #expect(error?.code.isConstraint == true)
    #expect(error?.description.contains("23505") == true)
    #expect(error?.description.contains(insert.sql) == true)
    #expect(error?.description.contains("Food") == false)
    #expect(error?.debugDescription.contains("(name)=(Food)") == true)
    let direct = #expect(throws: PostgresError.self) {
      try connection.execute("INSERT INTO list VALUES (2, 'Food', 1)")
    }
    #expect(direct?.description.contains("Food") == false)
  }

  @Test("a lock that is held and a snapshot that is too old are worth another try")
  func transient() throws {
    let other = try PostgresConnection(fixture.url)
    try other.execute("BEGIN; UPDATE list SET size = 2")
    let locked = #expect(throws: PostgresError.self) {
      try connection.query("SELECT * FROM list FOR UPDATE NOWAIT")
    }
    #expect(locked?.code == .lockNotAvailable)
    #expect(locked?.isTransient == true)
    try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM list")
    try other.execute("COMMIT")
    let stale = #expect(throws: PostgresError.self) { try connection.run("UPDATE list SET size = 3") }
    #expect(stale?.code == .serializationFailure)
    #expect(stale?.isTransient == true)
    #expect(connection.transactionStatus == .failed)
    #expect(code { try connection.run("SELECT 1") } == .transactionAborted)
  }

  @Test("a read-only transaction refuses to write")
  func readOnly() throws {
    try connection.execute("BEGIN READ ONLY")
    #expect(code { try connection.run("DELETE FROM item") } == .readOnlyTransaction)
  }

  @Test("a statement whose table changed is prepared again")
  func changedTable() throws {
    let all: PostgresStatement = "SELECT * FROM list"
    #expect(try connection.query(all).columnCount == 3)
    try connection.execute("ALTER TABLE list ADD COLUMN color text")
    #expect(code { try connection.run(all) } == .featureNotSupported)
    #expect(try connection.query(all).columnCount == 4)
  }

  @Test("COPY where none is expected is refused, and the connection throws from then on")
  func copy() throws {
    #expect(code { try connection.execute("COPY list FROM STDIN") } == .misuse)
    #expect(!connection.isUsable)
    let error = #expect(throws: PostgresError.self) { try connection.execute("SELECT 1") }
    #expect(error?.isConnectionLost == true)
  }

  @Test("a cancelled statement says so, from whichever thread it was cancelled")
  func cancel() throws {
    let (canceller, process, url) = (connection.canceller, connection.serverProcess, fixture.url)
    let cancelling = Background {
      let watcher = try PostgresConnection(url)
      let isRunning: PostgresStatement =
        "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND state = 'active' AND query LIKE '%sleep%'"
      try blockUntil { try !watcher.query(isRunning, PostgresParameters(process)).isEmpty }
      return canceller.cancel()
    }
    #expect(code { try connection.run("SELECT pg_sleep(600)") } == .queryCanceled)
    #expect(try cancelling.wait())
    #expect(try connection.query("SELECT 1").int64(0, 0) == 1)
    connection.close()
    #expect(!canceller.cancel())
  }

  @Test(
    "a server that is silent for too long while it owes an answer counts as lost, in a pipeline too",
    arguments: [false, true])
  func silence(isPipeline: Bool) throws {
    var options = PostgresOptions()
    options.silenceLimit = .milliseconds(200)
    let connection = try PostgresConnection(fixture.url, options: options)
    let error = #expect(throws: PostgresError.self) {
      if isPipeline {
        try connection.pipeline { $0.send("SELECT pg_sleep(60)") }
      } else {
        try connection.run("SELECT pg_sleep(60)")
      }
    }
    #expect(error?.code == .connectionLost && error?.isConnectionLost == true)
    #expect(error?.message.contains("sent nothing") == true)
    #expect(!connection.isUsable)
  }

  @Test("an error with which the server ends the connection says that it is lost, whatever its SQLSTATE")
  func fatal() throws {
    try connection.execute("SET idle_in_transaction_session_timeout = 1")
    try connection.execute("BEGIN")
    let watcher = try PostgresConnection(fixture.url)
    let isThere: PostgresStatement = "SELECT 1 FROM pg_stat_activity WHERE pid = $1"
    let process = connection.serverProcess
    try blockUntil { try watcher.query(isThere, PostgresParameters(process)).isEmpty }
    let error = #expect(throws: PostgresError.self) { try connection.run("SELECT 1") }
    #expect(error?.code.rawValue == "25P03" && error?.isConnectionLost == true)
  }
}
