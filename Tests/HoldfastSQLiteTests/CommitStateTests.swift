import HoldfastSQLite
import Testing

/// The state that tells whether what was read is still so. Invariant I7.
@Suite struct CommitStateTests {
  let database: TemporaryDatabase
  let one: SQLiteConnection
  let two: SQLiteConnection

  init() throws {
    database = try TemporaryDatabase()
    one = try database.open()
    try one.execute("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (0)")
    two = try database.open()
    _ = try two.rows("SELECT * FROM t")
  }

  @Test("each commit, of whatever connection, makes another state for all, and reading makes none (I7)")
  func commits() throws {
    var seen = try #require(one.commitState)
    #expect(two.commitState == seen)
    for number in 1...20 {
      _ = try two.rows("SELECT * FROM t")
      #expect(one.commitState == seen)
      try (number % 2 == 0 ? one : two).execute("UPDATE t SET n = \(number)")
      let now = try #require(one.commitState)
      #expect(now != seen && now.follows(seen) && two.commitState == now)
      seen = now
    }
  }

  @Test("a transaction shows in the state when it commits, not before, and not when it is rolled back")
  func rollback() throws {
    let before = try #require(one.commitState)
    try one.execute("BEGIN IMMEDIATE; UPDATE t SET n = 1")
    #expect(two.commitState == before)
    try one.execute("ROLLBACK")
    #expect(two.commitState == before)
  }

  @Test("two commits are not taken for one")
  func counted() throws {
    let before = try #require(one.commitState)
    try one.execute("UPDATE t SET n = 1")
    try two.execute("UPDATE t SET n = 2")
    #expect(try #require(one.commitState).follows(before) == false)
  }

  @Test("the state of a commit behind a checkpoint that emptied the log follows the one before")
  func checkpoint() throws {
    let first = try #require(one.commitState)
    try two.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    let emptied = try #require(one.commitState)
    #expect(emptied != first)
    try one.execute("UPDATE t SET n = 1")
    #expect(try #require(one.commitState).follows(emptied))
    #expect(two.commitState == one.commitState)
  }

  @Test("a database without a write-ahead log has none")
  func none() throws {
    let memory = try SQLiteConnection(path: ":memory:")
    try memory.execute("CREATE TABLE t (n INTEGER)")
    #expect(memory.commitState == nil)
  }
}
