import HoldfastPostgres
import TemporaryPostgres
import Testing

@Suite("Pools")
struct PoolTests {
  let url: String

  init() throws { url = try TemporaryPostgres.shared.makeDatabase() }

  private func limits(_ change: (inout PostgresPoolLimits) -> Void) -> PostgresPoolLimits {
    var limits = PostgresPoolLimits()
    change(&limits)
    return limits
  }

  @Test("the same connection is lent again, with its state")
  func state() throws {
    let pool = PostgresPool(url) { connection in [connection.serverProcess] }
    for _ in 0..<3 {
      try pool.withConnection { connection, state in
        #expect(state[0] == connection.serverProcess)
        state.append(0)
      }
    }
    try pool.withConnection { _, state in #expect(state.count == 4) }
    #expect(pool.counts == (0, 1))
  }

  @Test("never more than the limit are lent, and who waits too long is told")
  func limit() throws {
    let pool = PostgresPool(
      url,
      limits: limits {
        $0.connections = 2
        $0.wait = .milliseconds(1)
      })
    try pool.withConnection { (_: PostgresConnection) in
      try pool.withConnection { (_: PostgresConnection) in
        #expect(pool.counts == (2, 0))
        #expect(code { try pool.withConnection { (_: PostgresConnection) in } } == .poolExhausted)
      }
    }
    #expect(pool.counts == (0, 2))
  }

  @Test("many threads share few connections, and each gets its turn")
  func contention() throws {
    let pool = PostgresPool(
      url,
      limits: limits {
        $0.connections = 3
        $0.wait = .seconds(600)
      })
    let threads = (1...16).map { thread in
      Background {
        try (1...10).map { number in
          try pool.withConnection {
            try $0.query("SELECT $1", PostgresParameters(thread * number)).int64(0, 0)
          }
        }
      }
    }
    let sums = try threads.map { try $0.wait().reduce(0, +) }
    #expect(sums == (1...16).map { $0 * 55 })
    #expect(pool.counts.lent == 0)
    #expect(pool.counts.idle <= 3)
  }

  @Test("a transaction that was left open is rolled back", arguments: ["", "; SELECT 1 / 0"])
  func leftOpen(ending: String) throws {
    let pool = PostgresPool(url)
    try pool.withConnection { try $0.execute("CREATE TABLE item (id bigint)") }
    try pool.withConnection { connection in
      try connection.execute("BEGIN; INSERT INTO item VALUES (1)")
      if !ending.isEmpty { try? connection.execute("SELECT 1 / 0") }
    }
    let (status, rows) = try pool.withConnection { connection in
      (connection.transactionStatus, try connection.query("SELECT * FROM item"))
    }
    #expect(status == .idle)
    #expect(rows.isEmpty)
    #expect(pool.counts == (0, 1))
  }

  @Test("a connection that was ended while lent is replaced")
  func endedWhileLent() throws {
    let pool = PostgresPool(url)
    #expect(throws: PostgresError.self) {
      try pool.withConnection { try $0.run("SELECT pg_terminate_backend(pg_backend_pid())") }
    }
    #expect(pool.counts == (0, 0))
    #expect(try pool.withConnection { try $0.query("SELECT 1").int64(0, 0) } == 1)
  }

  @Test("a connection that was ended while idle is replaced before it is lent")
  func endedWhileIdle() throws {
    let pool = PostgresPool(url)
    let process = try pool.withConnection { $0.serverProcess }
    let other = try PostgresConnection(url)
    try other.run("SELECT pg_terminate_backend($1, 60000)", PostgresParameters(process))
    #expect(try pool.withConnection { try $0.query("SELECT 1").int64(0, 0) } == 1)
    #expect(try pool.withConnection { $0.serverProcess } != process)
  }

  @Test("one that was idle for long is asked before it is lent")
  func longIdle() throws {
    let pool = PostgresPool(url, limits: limits { $0.trustedIdle = .zero })
    let process = try pool.withConnection { $0.serverProcess }
    #expect(try pool.withConnection { $0.serverProcess } == process)
  }

  @Test("after a connection could not be made, the same error comes at once for a while")
  func pause() throws {
    let server = TemporaryPostgres.shared
    let name = try PostgresConnection(url).query("SELECT current_database() || '_late'").text(0, 0)
    let late = url + "_late"
    let patient = PostgresPool(late, limits: limits { $0.pauseAfterFailure = .seconds(600) })
    let eager = PostgresPool(late, limits: limits { $0.pauseAfterFailure = .zero })
    for pool in [patient, eager] {
      #expect(code { try pool.withConnection { (_: PostgresConnection) in } } == .undefinedDatabase)
    }
    try server.psql(server.url, "CREATE DATABASE \(name)")
    #expect(code { try patient.withConnection { (_: PostgresConnection) in } } == .undefinedDatabase)
    #expect(try eager.withConnection { $0.isUsable })
    #expect(patient.counts == (0, 0))
  }

  @Test("a closed pool lends no more, and closes what comes back")
  func close() throws {
    let pool = PostgresPool(url)
    try pool.withConnection { connection in
      pool.close()
      #expect(connection.isUsable)
    }
    #expect(pool.counts == (0, 0))
    #expect(code { try pool.withConnection { (_: PostgresConnection) in } } == .poolClosed)
  }

  @Test("after a restart, a crash and a kill of the server the pool goes on, and what was committed is there")
  func restart() throws {
    let server = try TemporaryPostgres()
    let url = try server.makeDatabase()
    let pool = PostgresPool(url, limits: limits { $0.pauseAfterFailure = .zero })
    let statement: PostgresStatement = "INSERT INTO item VALUES ($1)"
    func insert(_ number: Int) throws {
      try pool.withConnection { _ = try $0.run(statement, PostgresParameters(number)) }
    }
    try pool.withConnection { try $0.execute("CREATE TABLE item (id bigint)") }
    try insert(1)
    try server.restart()
    try insert(2)
    try server.restart(isCrash: true)
    try insert(3)
    try pool.withConnection { connection in
      try connection.execute("BEGIN")
      _ = try connection.run(statement, PostgresParameters(4))
      try server.kill()
      let error = #expect(throws: PostgresError.self) { try connection.execute("COMMIT") }
      #expect(error?.isConnectionLost == true)
    }
    #expect(code { try insert(5) } == .cannotConnect)
    try server.start()
    try insert(6)
    let rows = try pool.withConnection { try $0.query("SELECT id FROM item ORDER BY id") }
    #expect(rows.indices.map { rows.int64($0, 0) } == [1, 2, 3, 6])
  }
}
