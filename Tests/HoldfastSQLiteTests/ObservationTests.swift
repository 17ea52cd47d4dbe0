import HoldfastCore
import HoldfastSQLite
import Testing

@Suite("Observation")
struct ObservationTests {
  struct Stop: Error {}

  /// Collects what an observer was told.
  final class Log {
    var commits: [TextSet] = []
  }

  let database: TemporaryDatabase
  let connection: SQLiteConnection
  let log = Log()

  init() throws {
    database = try TemporaryDatabase()
    connection = try database.open()
    try connection.execute(
      """
      CREATE TABLE list (id INTEGER PRIMARY KEY);
      CREATE TABLE item (list INTEGER REFERENCES list (id) ON DELETE CASCADE);
      CREATE TABLE member (zone TEXT, user TEXT, PRIMARY KEY (zone, user)) WITHOUT ROWID;
      CREATE TABLE plain (value);
      CREATE VIEW shown AS SELECT list.id AS id FROM list JOIN item ON item.list = list.id;
      """)
    connection.onChange { [log] in log.commits.append($0) }
  }

  @Test("the tables of a transaction are told once, after its commit")
  func afterCommit() throws {
    try connection.transaction {
      try connection.run("INSERT INTO list VALUES (1), (2)")
      try connection.run("INSERT INTO item VALUES (1)")
      try connection.run("INSERT INTO list VALUES (3)")
      #expect(log.commits.isEmpty)
    }
    #expect(log.commits == [["list", "item"]])
  }

  @Test("the observer may use the connection, which is out of the transaction by then")
  func observerReads() throws {
    var counts: [SQLiteValue?] = []
    connection.onChange { [connection] _ in
      #expect(!connection.isInTransaction)
      counts.append(try? connection.value("SELECT count(*) FROM list"))
    }
    try connection.transaction { try connection.run("INSERT INTO list VALUES (1)") }
    try connection.run("INSERT INTO list VALUES (2)")
    connection.onChange(nil)
    #expect(counts == [1, 2])
  }

  @Test("a single statement is a commit of its own, and one script tells each of its commits")
  func autocommit() throws {
    try connection.execute("INSERT INTO list VALUES (1); BEGIN; INSERT INTO plain VALUES (1); COMMIT;")
    let statement = try connection.statement("INSERT INTO plain VALUES (?) RETURNING value")
    try statement.bind(1, at: 1)
    #expect(try statement.step())
    #expect(try !statement.step())
    #expect(log.commits == [["list"], ["plain"], ["plain"]])
  }

  @Test("nothing is told of a rollback, a failed commit or a statement that changed nothing")
  func nothing() throws {
    try? connection.transaction {
      try connection.run("INSERT INTO list VALUES (1)")
      throw Stop()
    }
    try connection.execute("BEGIN; INSERT INTO list VALUES (1); ROLLBACK")
    #expect(code { try connection.run("INSERT INTO item VALUES (9)") } == .constraintForeignKey)
    try connection.run("UPDATE list SET id = id + 1")
    try connection.transaction { _ = try connection.rows("SELECT * FROM list") }
    #expect(log.commits.isEmpty)
    try connection.run("INSERT INTO plain VALUES (1)")
    #expect(log.commits == [["plain"]])
  }

  @Test("what a savepoint undid is not told")
  func savepoint() throws {
    try connection.transaction {
      try connection.run("INSERT INTO list VALUES (1)")
      try? connection.savepoint {
        try connection.run("INSERT INTO plain VALUES (1)")
        throw Stop()
      }
    }
    #expect(log.commits == [["list"]])
  }

  @Test("cascades, tables without rowid and whole-table deletes are told too")
  func hidden() throws {
    try connection.execute("INSERT INTO list VALUES (1); INSERT INTO item VALUES (1)")
    try connection.execute("INSERT INTO plain VALUES (1)")
    log.commits = []
    try connection.run("DELETE FROM list WHERE id = 1")
    try connection.run("INSERT INTO member VALUES ('z', 'u')")
    try connection.run("DELETE FROM plain")
    try connection.run("DELETE FROM member")
    #expect(log.commits == [["list", "item"], ["member"], ["plain"], ["member"]])
  }

  @Test("the data version moves when another connection commits, and only then")
  func dataVersion() throws {
    let other = try database.open()
    let before = try connection.dataVersion
    try connection.run("INSERT INTO list VALUES (1)")
    #expect(try connection.dataVersion == before)
    try other.run("INSERT INTO list VALUES (2)")
    #expect(try connection.dataVersion != before)
    #expect(log.commits == [["list"]])
  }

  @Test(
    "the tables a statement reads are found through views, subqueries and counts",
    arguments: [
      ("SELECT 1", []),
      ("SELECT id FROM list", ["list"]),
      ("SELECT count(*) FROM plain", ["plain"]),
      ("SELECT * FROM shown", ["list", "item"]),
      ("SELECT id FROM list WHERE EXISTS (SELECT 1 FROM member WHERE zone = id)", ["list", "member"]),
      ("WITH named AS (SELECT value FROM plain) SELECT count(*) FROM named", ["plain"]),
      ("SELECT value FROM json_each('[1]')", []),
    ] as [(String, TextSet)])
  func tablesRead(sql: String, expected: TextSet) throws {
    #expect(try connection.tablesRead(by: sql) == expected)
  }
}
