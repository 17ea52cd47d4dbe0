import Foundation
import HoldfastSQLite
import Testing

@Suite("Statements and backup")
struct StatementTests {
  let database: TemporaryDatabase
  let connection: SQLiteConnection

  init() throws {
    database = try TemporaryDatabase()
    connection = try database.open()
    try connection.execute("CREATE TABLE kept (value)")
  }

  @Test("the same text gives the same statement")
  func reuse() throws {
    let first = try connection.statement("SELECT ?")
    #expect(try connection.statement("SELECT ?") === first)
    #expect(try connection.statement("SELECT ? ") !== first)
  }

  @Test("two spellings of a text in SQL are two statements")
  func spellings() throws {
    for text in ["\u{E9}", "e\u{301}"] {
      let row = try connection.rows("SELECT '\(text)'")[0]
      #expect(row[0].text.map { Array($0.utf8) } == Array(text.utf8))
    }
  }

  @Test("a statement that is running is not handed out again")
  func reentrant() throws {
    try connection.run("INSERT INTO kept VALUES (1), (2)")
    var pairs: [[SQLiteValue]] = []
    try connection.forEachRow("SELECT value FROM kept ORDER BY value") { outer in
      try connection.forEachRow("SELECT value FROM kept ORDER BY value") { inner in
        pairs.append([outer.value(0), inner.value(0)])
      }
    }
    #expect(pairs == [[1, 1], [1, 2], [2, 1], [2, 2]])
  }

  @Test("a statement is ready again after its last row and after a failure")
  func ready() throws {
    try connection.execute("CREATE UNIQUE INDEX one ON kept (value)")
    let insert = try connection.statement("INSERT INTO kept VALUES (?)")
    for value in [1, 1, 2] {
      try insert.bind(value, at: 1)
      _ = try? insert.step()
      #expect(!insert.isRunning)
    }
    #expect(try connection.value("SELECT count(*) FROM kept") == 2)
  }

  @Test("a body that throws leaves the statement reset")
  func bodyThrows() throws {
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try connection.forEachRow("SELECT 1 UNION SELECT 2") { _ in throw Stop() }
    }
    #expect(try !connection.statement("SELECT 1 UNION SELECT 2").isRunning)
  }

  @Test("reading one row of a write with RETURNING completes the write")
  func returning() throws {
    #expect(try connection.value("INSERT INTO kept VALUES (1), (2) RETURNING value") == 1)
    #expect(!connection.isInTransaction)
    #expect(try database.open().value("SELECT count(*) FROM kept") == 2)
  }

  @Test("many different texts don't break the cache, nor statements still held")
  func manyTexts() throws {
    let held = try connection.statement("SELECT 'held'")
    #expect(try held.step())
    for number in 0..<600 {
      #expect(try connection.value("SELECT \(number)") == .integer(Int64(number)))
    }
    #expect(held.text(0) == "held")
    held.reset()
  }

  @Test("a statement outlives its closed connection without harm")
  func closed() throws {
    let statement = try connection.statement("INSERT INTO kept VALUES (1)")
    try connection.execute("BEGIN; INSERT INTO kept VALUES (2)")
    connection.close()
    connection.close()
    #expect(code { try statement.step() } == .misuse)
    let other = try database.open()
    let kept = try other.transaction { try other.value("SELECT count(*) FROM kept") }
    #expect(kept == 0)
  }

  @Test("a backup is equal to its source, in steps, with a writer at work")
  func backup() throws {
    try connection.run(
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO kept SELECT hex(randomblob(200)) FROM n"
    )
    let expected = try connection.rows("SELECT value FROM kept")
    let writer = try database.open()
    var steps = 0
    let path = database.path("copy.sqlite")
    try connection.backup(to: path, pagesPerStep: 4) { progress in
      steps += 1
      #expect(progress.remaining <= progress.total)
      if steps == 2 { try writer.run("DELETE FROM kept") }
    }
    #expect(steps > 2)
    let copy = try SQLiteConnection(path: path, access: .readOnly)
    #expect(try copy.rows("SELECT value FROM kept") == expected)
    #expect(try copy.value("PRAGMA integrity_check") == "ok")
    #expect(try connection.value("SELECT count(*) FROM kept") == 0)
    #expect(!connection.isInTransaction)
  }
}
