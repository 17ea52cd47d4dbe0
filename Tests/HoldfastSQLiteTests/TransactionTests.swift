import Foundation
import HoldfastSQLite
import Testing

@Suite("Transactions")
struct TransactionTests {
  struct Stop: Error {}

  let database: TemporaryDatabase
  let connection: SQLiteConnection

  init() throws {
    database = try TemporaryDatabase()
    connection = try database.open()
    try connection.execute(
      """
      CREATE TABLE list (id INTEGER PRIMARY KEY);
      CREATE TABLE item (list INTEGER REFERENCES list (id) DEFERRABLE INITIALLY DEFERRED);
      """)
  }

  private func lists() throws -> [Int64] {
    try connection.rows("SELECT id FROM list ORDER BY id").compactMap { $0[0].integer }
  }

  @Test("a transaction keeps everything, or nothing when its body throws (I6)", arguments: [false, true])
  func allOrNothing(fails: Bool) throws {
    var threw = false
    do {
      try connection.transaction {
        #expect(connection.isInTransaction)
        try connection.run("INSERT INTO list VALUES (1)")
        try connection.run("INSERT INTO list VALUES (2)")
        if fails { throw Stop() }
      }
    } catch {
      threw = error is Stop
    }
    #expect(threw == fails)
    #expect(!connection.isInTransaction)
    #expect(try lists() == (fails ? [] : [1, 2]))
  }

  @Test("a commit that fails throws, leaves no transaction open and keeps nothing (I6, I9)")
  func failedCommit() throws {
    let failure = code {
      try connection.transaction {
        try connection.run("INSERT INTO list VALUES (1)")
        try connection.run("INSERT INTO item VALUES (9)")
      }
    }
    #expect(failure == .constraintForeignKey)
    #expect(!connection.isInTransaction)
    #expect(try lists().isEmpty)
    try connection.transaction { try connection.run("INSERT INTO list VALUES (1)") }
    #expect(try lists() == [1])
  }

  @Test("a failed outermost savepoint leaves no transaction open")
  func failedSavepoint() throws {
    let failure = code { try connection.savepoint { try connection.run("INSERT INTO item VALUES (9)") } }
    #expect(failure == .constraintForeignKey)
    #expect(!connection.isInTransaction)
  }

  @Test("nested savepoints undo only what is theirs")
  func nestedSavepoints() throws {
    try connection.transaction {
      try connection.run("INSERT INTO list VALUES (1)")
      try connection.savepoint("outer \"quoted\"") {
        try connection.run("INSERT INTO list VALUES (2)")
        #expect(throws: Stop.self) {
          try connection.savepoint("inner") {
            try connection.run("INSERT INTO list VALUES (3)")
            throw Stop()
          }
        }
        try connection.savepoint("inner") { try connection.run("INSERT INTO list VALUES (4)") }
      }
      #expect(connection.isInTransaction)
    }
    #expect(try lists() == [1, 2, 4])
  }

  @Test("a transaction inside a transaction is refused, and both are undone")
  func nestedTransaction() throws {
    let failure = code {
      try connection.transaction {
        try connection.run("INSERT INTO list VALUES (1)")
        try connection.transaction {}
      }
    }
    #expect(failure == .error)
    #expect(!connection.isInTransaction)
    #expect(try lists().isEmpty)
  }

  @Test("a second writer is told busy at once without a timeout, while readers go on")
  func busy() throws {
    let other = try database.open()
    try connection.transaction {
      try connection.run("INSERT INTO list VALUES (1)")
      #expect(code { try other.transaction {} } == .busy)
      #expect(try other.value("SELECT count(*) FROM list") == 0)
    }
    try other.transaction { try other.run("INSERT INTO list VALUES (2)") }
    #expect(try lists() == [1, 2])
  }

  @Test("a second writer with a busy timeout waits for the first to commit")
  func waits() throws {
    let path = database.path
    let began = DispatchSemaphore(value: 0)
    let ended = DispatchSemaphore(value: 0)
    try connection.execute("BEGIN IMMEDIATE; INSERT INTO list VALUES (1)")
    let thread = Thread {
      began.signal()
      let other = try? SQLiteConnection(path: path, busyTimeout: .seconds(60))
      try? other?.run("INSERT INTO list SELECT count(*) + 10 FROM list")
      ended.signal()
    }
    thread.start()
    began.wait()
    try connection.execute("COMMIT")
    ended.wait()
    #expect(try lists() == [1, 11])
  }

  @Test("counts of changes and the last rowid follow the writes")
  func counts() throws {
    try connection.run("INSERT INTO list VALUES (5), (6), (7)")
    #expect(connection.changes == 3)
    #expect(connection.totalChanges == 3)
    #expect(connection.lastInsertRowID == 7)
  }
}
