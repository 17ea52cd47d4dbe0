import HoldfastCore
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Operators' commands that alter tables which somebody reads for long. Invariant I12.
@Suite struct LockTurnTests {
  @Test("dropping removed data keeps no reader and no writer behind a long report (I12)")
  func prune() throws {
    let server = try TestServer(engine: .postgres)
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    try server.reopen(SchemaChangeTests.reduced(), removals: .allow)
    let (report, watcher) = (try SQLWriter(server), try SQLWriter(server))
    try report.run("BEGIN; SELECT count(*) FROM items")
    let pruning = Background { [location = server.location] in
      try location.removedData(dropping: true).count
    }
    try blockUntil {
      try watcher.texts(
        """
        SELECT pid::text FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """
      ).isEmpty == false
    }
    // Each of them ends although the report goes on.
    #expect(try anna.get("/v1/tables/items?zone=\(list)").status == 200)
    #expect(try anna.sync([.create("items", anna.newID(), ["list_id": .string(list)])]).refused.isEmpty)
    try report.run("COMMIT")
    #expect(try pruning.wait() == 4)
    #expect(try server.location.removedData().isEmpty)
  }
}
