import HoldfastPostgres
import HoldfastService
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastPostgresStore
@testable import HoldfastServer

/// Where a pooler leads, and where `--database-direct` leads: docs/OPERATIONS.md, section 2.
@Suite("A pooler that leads to another database than the direct address") struct PoolerTargetTests {
  private let server: TestServer
  private let url: String
  private let copy: String

  init() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    try TemporaryPostgres.shared.psql(url, "ALTER ROLE CURRENT_USER SET row_security = off")
    server = try TestServer { _ in .postgres(PostgresLocation(url)) }
    server.inline = nil
    self.url = url
    copy = try TemporaryPostgres.shared.makeDatabase(copying: url)
  }

  private func epoch(_ url: String) throws -> String {
    try PostgresConnection(url).query("SELECT value FROM holdfast.meta WHERE key = 'epoch'").text(0, 0)
  }

  @Test("is refused at the start and by its check, before anything is written (I2)")
  func refused() throws {
    let before = try epoch(copy)
    let location = PostgresLocation(copy, direct: url)
    let configuration = Configuration(schema: try TestServer.schema(), database: .postgres(location))
    for start in [{ _ = try Server(configuration) }, { _ = try Server.check(configuration) }] {
      let error = #expect(throws: ServerError.self) { try start() }
      #expect(error?.code == .refused)
    }
    #expect(try epoch(copy) == before)
    _ = try Server.check(
      Configuration(
        schema: try TestServer.schema(), database: .postgres(PostgresLocation(url, direct: url))))
  }

  @Test("gets no connection while its epoch can't begin over the direct address (I2, I4)")
  func movedAway() throws {
    let service = DatabaseService(environment: server.world.environment, log: { _ in })
    let before = try epoch(url)
    let watch = PostgresHistoryWatch(PostgresLocation(copy, direct: url), service)
    for _ in 0..<2 {
      let error = #expect(throws: PostgresError.self) { try watch.check(PostgresConnection(copy)) }
      #expect(error?.code == .cannotConnectNow)
    }
    #expect(try epoch(copy) == before && epoch(url) == before)
    try PostgresHistoryWatch(PostgresLocation(copy, direct: copy), service).check(PostgresConnection(copy))
    #expect(try epoch(copy) != before)
  }
}
