import HoldfastCore
import HoldfastPostgres
import HoldfastService
import HoldfastSystem
import HoldfastServer
import ServerScenes
import Testing

@testable import HoldfastPostgresStore

/// What a new connection makes of the database's history. Invariant I2.
@Suite struct HistoryWatchTests {
  @Test("what another lane commits while a new connection asks is not taken for lost (I2)")
  func committedMeanwhile() throws {
    let server = try TestServer(engine: .postgres)
    guard case .postgres(let location) = server.location else { throw PostgresOnly() }
    let url = location.direct ?? location.url
    let watch = PostgresHistoryWatch(
      location, DatabaseService(environment: server.world.environment) { _ in })
    let epoch = try PostgresConnection(url).query("SELECT value FROM holdfast.meta WHERE key = 'epoch'").text(
      0, 0)
    let count = Locked(0)
    var options = PostgresOptions()
    // Each statement is reported when it is answered, before its caller has the answer.
    options.slow = SlowStatements(over: .zero) { report in
      guard report.sql.contains("pg_snapshot_xmax"),
        let rows = try? PostgresConnection(url).query("SELECT pg_current_xact_id()::text::bigint")
      else { return }
      watch.confirmed.confirm(rows.int64(0, 0), in: epoch)
      count.withLock { $0 += 1 }
    }
    let connection = try PostgresConnection(url, options: options)
    #expect(try watch.difference(connection) == nil)
    #expect(count.withLock { $0 } == 1)
  }
}
