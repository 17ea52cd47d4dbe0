import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastPostgresStore
@testable import HoldfastServer

/// How long one statement may read from PostgreSQL.
@Suite("Reading from PostgreSQL ends") struct StatementTimeoutTests {
  @Test("a statement that reads longer than its limit fails, and the next one does not")
  func limit() throws {
    var location = PostgresLocation(try TemporaryPostgres.shared.makeDatabase())
    location.readTimeLimit = .milliseconds(100)
    let database = try PostgresDatabase(
      location, schema: try TestServer.schema(), random: TestWorld().random)
    defer { database.close() }
    func read(_ sql: PostgresStatement) throws {
      try database.read { _ = try #require($0 as? PostgresReader).connection.query(sql) }
    }
    let error = #expect(throws: PostgresError.self) { try read("SELECT pg_sleep(600)") }
    #expect(error.map { database.isInterrupted($0) } == true)
    try read("SELECT 1")
  }

  @Test("work past the pooler has no limit of the role, whichever it is")
  func direct() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    try TemporaryPostgres.shared.psql(
      url,
      "ALTER ROLE CURRENT_USER SET statement_timeout = '8s'; ALTER ROLE CURRENT_USER SET idle_in_transaction_session_timeout = '8s'"
    )
    let location = PostgresLocation(url, direct: url)
    for purpose in [PostgresLocation.Purpose.administers, .reads, .listens, .purges, .opens] {
      let connection = try location.connectDirectly(purpose)
      for limit in ["statement_timeout", "idle_in_transaction_session_timeout"] {
        #expect(
          try connection.query("SELECT current_setting($1)", PostgresParameters(limit)).text(0, 0) == "0")
      }
    }
  }
}
