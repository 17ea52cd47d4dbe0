import Foundation
import HoldfastSQLite
import Testing

@Suite("Errors")
struct ErrorTests {
  let database: TemporaryDatabase
  let connection: SQLiteConnection

  init() throws {
    database = try TemporaryDatabase()
    connection = try database.open()
    try connection.execute(
      """
      CREATE TABLE list (id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, size INTEGER CHECK (size > 0));
      CREATE TABLE item (list TEXT REFERENCES list (id) DEFERRABLE INITIALLY DEFERRED);
      CREATE TABLE strict_item (list TEXT REFERENCES list (id));
      CREATE TRIGGER guard BEFORE DELETE ON list BEGIN SELECT RAISE(ABORT, 'lists stay'); END;
      INSERT INTO list VALUES ('a', 'Food', 1);
      """)
  }

  @Test(
    "each constraint has its own code",
    arguments: [
      ("INSERT INTO list VALUES ('b', 'Food', 1)", SQLiteError.Code.constraintUnique),
      ("INSERT INTO list VALUES ('a', 'Other', 1)", .constraintPrimaryKey),
      ("INSERT INTO list VALUES ('b', NULL, 1)", .constraintNotNull),
      ("INSERT INTO list VALUES ('b', 'Other', 0)", .constraintCheck),
      ("INSERT INTO strict_item VALUES ('none')", .constraintForeignKey),
      ("DELETE FROM list", .constraintTrigger),
    ])
  func constraints(sql: String, expected: SQLiteError.Code) throws {
    #expect(code { try connection.run(sql) } == expected)
    #expect(expected.primary == .constraint)
    #expect(code { try connection.execute(sql) } == expected)
    #expect(!connection.isInTransaction)
  }

  @Test("RAISE hands its message on")
  func raise() throws {
    let error = #expect(throws: SQLiteError.self) { try connection.run("DELETE FROM list") }
    #expect(error?.message == "lists stay")
    #expect(error?.statement == "DELETE FROM list")
  }

  @Test("a description shows the statement and never a bound value")
  func description() throws {
    let secret = "my diary"
    let malformed = #expect(throws: SQLiteError.self) {
      try connection.run("SELECT json_extract('{}', ?)", [.text(secret)])
    }
    #expect(malformed?.description.contains("json_extract('{}', ?)") == true)
    #expect(malformed?.description.contains(secret) == false)
    #expect(malformed?.debugDescription.contains(secret) == true)
    let taken = #expect(throws: SQLiteError.self) {
      try connection.run("INSERT INTO list VALUES ('b', ?, 1)", ["Food"])
    }
    #expect(taken?.description.contains("list.name") == true)
    #expect(taken?.description.contains("Food") == false)
  }

  @Test("wrong SQL, two statements, none, and a wrong count of values are told apart")
  func misuse() throws {
    #expect(code { try connection.run("SELEKT 1") } == .error)
    #expect(code { try connection.run("SELECT 1; SELECT 2") } == .misuse)
    #expect(code { try connection.run(" -- nothing") } == .misuse)
    #expect(code { try connection.run("SELECT ?", []) } == .range)
    #expect(code { try connection.statement("SELECT ?").bind(1, at: 2) } == .range)
    #expect(try connection.value("SELECT 1; -- and no more\n ;") == 1)
  }

  @Test("a file that is not a database says so when it is first read")
  func notADatabase() throws {
    let path = database.path("letter.txt")
    try Data(repeating: 0x41, count: 8192).write(to: URL(fileURLWithPath: path))
    let letter = try SQLiteConnection(path: path)
    #expect(code { try letter.execute("SELECT * FROM sqlite_master") } == .notADatabase)
    #expect(code { _ = try letter.statement("SELECT * FROM sqlite_master") } == .notADatabase)
  }

  @Test("a missing file and a read-only connection have their codes")
  func access() throws {
    let missing = database.path("none")
    #expect(code { _ = try SQLiteConnection(path: missing, access: .readWrite) }?.primary == .cantOpen)
    let reader = try database.open(.readOnly)
    #expect(code { try reader.run("DELETE FROM item") }?.primary == .readOnly)
  }

  @Test("an interrupter stops a statement from another thread, and does nothing after the connection closed")
  func interrupt() throws {
    let interrupter = connection.interrupter
    let endless = try connection.statement(
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n")
    #expect(try endless.step())
    let thread = Thread { interrupter.interrupt() }
    thread.start()
    #expect(code { try endless.run() } == .interrupt)
    #expect(try connection.value("SELECT 1") == 1)
    connection.close()
    interrupter.interrupt()
  }

  @Test("a limit that is set refuses what is past it")
  func limits() throws {
    connection.setLimit(.parameters, to: 2)
    #expect(connection.limit(.parameters) == 2)
    #expect(code { try connection.run("SELECT ?, ?, ?", [1, 2, 3]) } == .error)
  }
}
