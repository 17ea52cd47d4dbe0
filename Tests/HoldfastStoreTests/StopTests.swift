import Foundation
import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import HoldfastSQLite
import HoldfastSystem
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastPostgresStore
@testable import HoldfastSQLiteStore
@testable import HoldfastServer

/// A server that stops while there is much to read, and nobody waits for it any more.
@Suite struct StopTests {
  /// Reads without end.
  private static func read(_ database: any ServerDatabase) throws {
    try database.read { reader in
      if let reader = reader as? PostgresReader {
        _ = try reader.connection.query("SELECT pg_sleep(3600)")
      } else {
        let connection = try #require(reader as? SQLiteReader).connection
        _ = try connection.rows(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
      }
    }
  }

  @Test("a stop interrupts what reads, and begins nothing that waits", arguments: [Engine.sqlite, .postgres])
  func stop(_ engine: Engine) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "holdfast-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let schema = try TestServer.schema()
    var configuration = Configuration(
      schema: schema, database: try engine.makeLocation(in: folder, schema: schema))
    (configuration.port, configuration.log) = (0, { _ in })
    let server = try Server(configuration)
    let (dispatcher, begun, ran) = (server.dispatcher, Locked(0), Locked(0))
    let database = dispatcher.api.database
    let wait: @Sendable () -> Step = {
      begun.withLock { $0 += 1 }
      try? Self.read(database)
      return .answer(HTTPResponse(status: 200))
    }
    let count: @Sendable () -> Step = {
      ran.withLock { $0 += 1 }
      return .answer(HTTPResponse(status: 200))
    }
    let workers = [dispatcher.longReading, dispatcher.builds]
    for worker in workers { #expect(worker.enqueue(.init(run: wait, finish: { _ in }), of: .server)) }
    blockUntil { begun.withLock { $0 } == workers.count }
    for worker in workers {
      for _ in 0..<4 { #expect(worker.enqueue(.init(run: count, finish: { _ in }), of: .server)) }
    }
    server.stop(grace: .zero)
    #expect(ran.withLock { $0 } == 0)
  }
}
