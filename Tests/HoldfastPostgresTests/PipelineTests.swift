import HoldfastPostgres
import TemporaryPostgres
import Testing

@Suite("Pipelines")
struct PipelineTests {
  let fixture: Fixture
  var connection: PostgresConnection { fixture.connection }
  static let insert: PostgresStatement = "INSERT INTO item (id, text) VALUES ($1, $2)"

  init() throws {
    fixture = try Fixture()
    try connection.execute("CREATE TABLE item (id bigint PRIMARY KEY, text text)")
  }

  @Test("five thousand statements with large values in both directions are all answered, in order")
  func large() throws {
    let large = String(repeating: "0123456789abcdef", count: 512)
    let echo: PostgresStatement = "SELECT $1, $2"
    let rows = try connection.pipeline { pipe in
      for number in 0..<5000 { pipe.send(echo, PostgresParameters(number, large)) }
    }
    #expect(rows.count == 5000)
    #expect(rows.indices.allSatisfy { rows[$0].int64(0, 0) == Int64($0) && rows[$0].text(0, 1) == large })
    #expect(connection.transactionStatus == .idle)
  }

  @Test("a pipeline of a connection with repeatable transactions is of one moment, without BEGIN (I6)")
  func moment() throws {
    let other = try PostgresConnection(fixture.url)
    try connection.execute("SET default_transaction_isolation = 'repeatable read'")
    try other.execute("SELECT pg_advisory_lock(1)")
    var failure: (any Error)?
    let rows = try connection.pipeline({ pipe in
      pipe.send("SELECT count(*) FROM item")
      pipe.send("SELECT pg_advisory_xact_lock_shared(1)")
      pipe.send("SELECT count(*) FROM item")
    }) {
      do {
        // The first has been answered when the second waits.
        try blockUntil {
          try !other.query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").isEmpty
        }
        try other.run(Self.insert, PostgresParameters(1, ""))
        try other.execute("SELECT pg_advisory_unlock(1)")
      } catch { failure = error }
    }
    if let failure { throw failure }
    #expect(rows[0].int64(0, 0) == 0 && rows[2].int64(0, 0) == 0)
    #expect(try fixture.count("item") == 1)
  }

  @Test("what a pipeline sends is one transaction, with and without BEGIN", arguments: [false, true])
  func transaction(isExplicit: Bool) throws {
    let failure = code {
      try connection.pipeline { pipe in
        if isExplicit { pipe.send("BEGIN") }
        for number in [1, 2, 2, 3] { pipe.send(Self.insert, PostgresParameters(number, "")) }
        if isExplicit { pipe.send("COMMIT") }
      }
    }
    #expect(failure == .uniqueViolation)
    #expect(connection.transactionStatus == .idle)
    #expect(try fixture.count("item") == 0)
    let rows = try connection.pipeline { pipe in
      if isExplicit { pipe.send("BEGIN") }
      for number in [1, 2, 3] { pipe.send(Self.insert, PostgresParameters(number, "")) }
      if isExplicit { pipe.send("COMMIT") }
    }
    #expect(rows.map { $0.affectedCount } == (isExplicit ? [0, 1, 1, 1, 0] : [1, 1, 1]))
    #expect(try fixture.count("item") == 3)
  }

  @Test("a failing pipeline leaves a transaction that was open before as failed")
  func openTransaction() throws {
    try connection.execute("BEGIN")
    let failure = code { try connection.pipeline { pipe in pipe.send("SELECT 1 / 0") } }
    #expect(failure == .divisionByZero)
    #expect(connection.transactionStatus == .failed)
    try connection.execute("ROLLBACK")
    #expect(try fixture.count("item") == 0)
  }

  @Test("a statement whose preparation was skipped in a failed pipeline is prepared at its next use")
  func skippedPreparation() throws {
    let later: PostgresStatement = "SELECT count(*) + $1 FROM item"
    let failure = code {
      try connection.pipeline { pipe in
        pipe.send("SELECT 1 / 0")
        pipe.send(later, PostgresParameters(1))
      }
    }
    #expect(failure == .divisionByZero)
    #expect(try connection.query(later, PostgresParameters(1)).int64(0, 0) == 1)
  }

  @Test("a statement prepared in a pipeline that was then rolled back is still there")
  func rolledBackPreparation() throws {
    let failure = code {
      try connection.pipeline { pipe in
        pipe.send(Self.insert, PostgresParameters(1, "a"))
        pipe.send(Self.insert, PostgresParameters(1, "b"))
      }
    }
    #expect(failure == .uniqueViolation)
    #expect(try connection.run(Self.insert, PostgresParameters(1, "c")) == 1)
  }

  @Test("a statement that can't be prepared fails each time, and hinders no other")
  func wrongStatement() throws {
    let wrong: PostgresStatement = "SELECT nothing FROM nowhere"
    for _ in 0..<2 {
      let error = #expect(throws: PostgresError.self) {
        try connection.pipeline { pipe in
          pipe.send(Self.insert, PostgresParameters(1, "a"))
          pipe.send(wrong)
        }
      }
      #expect(error?.code == .undefinedTable)
      #expect(error?.action == .preparing)
      #expect(error?.statement == wrong.sql)
    }
    #expect(code { try connection.run(wrong) } == .undefinedTable)
    #expect(try fixture.count("item") == 0)
  }

  @Test("when a value can't be sent, what was sent before it has no effect")
  func refusedValue() throws {
    let failure = code {
      try connection.pipeline { pipe in
        pipe.send(Self.insert, PostgresParameters(1, "fine"))
        pipe.send(Self.insert, PostgresParameters(2, "not\0fine"))
      }
    }
    #expect(failure == .invalidText)
    #expect(connection.transactionStatus == .idle)
    #expect(try fixture.count("item") == 0)
  }

  @Test("an empty pipeline answers nothing")
  func empty() throws {
    #expect(try connection.pipeline { _ in }.isEmpty)
    #expect(try fixture.count("item") == 0)
  }

  @Test("a connection that is ended within a pipeline is lost, and says so")
  func ended() throws {
    let error = #expect(throws: PostgresError.self) {
      try connection.pipeline { pipe in
        pipe.send(Self.insert, PostgresParameters(1, "a"))
        pipe.send("SELECT pg_terminate_backend(pg_backend_pid())")
        for number in 2..<1000 { pipe.send(Self.insert, PostgresParameters(number, "b")) }
      }
    }
    #expect(error?.isConnectionLost == true)
    #expect(!connection.isUsable)
    let again = try PostgresConnection(fixture.url)
    #expect(try again.query("SELECT count(*) FROM item").int64(0, 0) == 0)
  }

  @Test("without prepared statements, all is the same and the server keeps none")
  func unnamed() throws {
    var options = PostgresOptions()
    options.preparesStatements = false
    let pooled = try PostgresConnection(fixture.url, options: options)
    try pooled.pipeline { pipe in
      for number in 0..<3 { pipe.send(Self.insert, PostgresParameters(number, "a" as String?)) }
    }
    let find: PostgresStatement = "SELECT text FROM item WHERE id = $1"
    #expect(try pooled.query(find, PostgresParameters(2)).text(0, 0) == "a")
    // The types may change from use to use.
    #expect(try pooled.query(find, PostgresParameters(Int32(2))).text(0, 0) == "a")
    let kept = "SELECT count(*) FROM pg_prepared_statements"
    #expect(try pooled.query(PostgresStatement(kept)).int64(0, 0) == 0)
    #expect(try connection.query(PostgresStatement(kept)).int64(0, 0) == 1)
  }
}
