import Foundation
import Holdfast
import HoldfastPostgres
import TemporaryPostgres
import Testing

@Suite("Nodes beside somebody who locks")
struct LockNodeTests {
  /// Two users with a list each, on a cluster.
  private struct Stage {
    let cluster: Cluster
    let ann: Device
    let ben: Device
    let annsList: String
    let bensList: String

    init() async throws {
      cluster = try Cluster(2)
      ann = try await cluster.signUp("ann", on: "phone", through: cluster.way(to: 0))
      ben = try await cluster.signUp("ben", on: "tablet", through: AlternatingTransport(cluster))
      (annsList, bensList) = (try await ann.addList("Ann's"), try await ben.addList("Ben's"))
      for device in [ann, ben] { try await device.engine.sync() }
    }

    /// A transaction that holds the row of Ann's list, and of its zone, as the triggers of a slow statement would.
    func holdAnnsList() throws -> PostgresConnection {
      let holder = try cluster.shared.connection()
      try holder.execute("BEGIN")
      try holder.run("SELECT 1 FROM lists WHERE id = $1 FOR UPDATE", PostgresParameters(annsList))
      try holder.run(
        "SELECT 1 FROM holdfast.zones WHERE zone = $1 FOR UPDATE", PostgresParameters(annsList))
      return holder
    }

    /// Returns when a server waits for a lock in this database.
    func waitUntilSomebodyWaits() async throws {
      let observer = try cluster.shared.connection()
      try await waitUntil {
        try !observer.query(
          """
          SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
          AND application_name = 'holdfast waits'
          """
        ).isEmpty
      }
    }
  }

  @Test(
    "while a transaction holds a zone, other zones are written on every node, and its own write waits its turn (I12)",
    .timeLimit(.minutes(2)))
  func held() async throws {
    let stage = try await Stage()
    let holder = try stage.holdAnnsList()
    try await stage.ann.addItem("patient", to: stage.annsList)
    let engine = stage.ann.engine
    async let sync: SyncSummary = engine.sync()
    try await stage.waitUntilSomebodyWaits()
    // As many as there are nodes, so that all is done while the server has patience.
    for number in 0..<2 {
      try await stage.ben.addItem("item \(number)", to: stage.bensList)
      try await stage.ben.engine.sync()
    }
    #expect(try await stage.ben.store.waitingOperations() == 0)
    #expect(try await stage.ann.store.waitingOperations() == 1)
    try holder.execute("COMMIT")
    _ = try await sync
    #expect(try await stage.ann.store.waitingOperations() == 0)
    try stage.cluster.shared.reader().expectSound()
  }

  @Test(
    "a write whose zone stays held is answered 503 busy, and arrives once the zone is free (I1, I3)",
    .timeLimit(.minutes(2)))
  func busy() async throws {
    let stage = try await Stage()
    let holder = try stage.holdAnnsList()
    try await stage.ann.addItem("late", to: stage.annsList)
    let error = await #expect(throws: StoreError.self) { try await stage.ann.engine.sync() }
    #expect(error?.code == .offline)
    try holder.execute("ROLLBACK")
    try await stage.ann.engine.sync()
    let database = try stage.cluster.shared.reader()
    #expect(try database.value("SELECT count(*) FROM items")?.integer == 1)
    try database.expectSound()
  }

  @Test(
    "a deadlock with a writer of SQL is dissolved inside: neither the device nor the writer sees it (I1)",
    .timeLimit(.minutes(2)))
  func deadlock() async throws {
    let stage = try await Stage()
    let item = try await stage.ann.addItem("item", to: stage.annsList)
    try await stage.ann.engine.sync()
    let writer = try stage.cluster.shared.connection()
    try writer.execute("BEGIN; SET LOCAL holdfast.service = 'on'")
    try writer.run(
      "SELECT 1 FROM holdfast.zones WHERE zone = $1 FOR UPDATE", PostgresParameters(stage.annsList))
    try await stage.ann.store.write { try $0.update(Row.self, id: item) { $0.title = "renamed" } }
    let engine = stage.ann.engine
    async let sync: SyncSummary = engine.sync()
    // The server has the item by now and wants the zone; the writer has the zone and wants the item.
    try await stage.waitUntilSomebodyWaits()
    try writer.run("SELECT 1 FROM items WHERE id = $1 FOR UPDATE", PostgresParameters(item))
    try writer.execute("COMMIT")
    _ = try await sync
    #expect(try await stage.ann.store.waitingOperations() == 0)
    let database = try stage.cluster.shared.reader()
    #expect(try database.rows("SELECT title, rev FROM items") == [[.text("renamed"), .integer(2)]])
    try database.expectSound()
  }

  @Test(
    "a start that waits for a table says who holds it, ends at SIGTERM, and has then changed nothing",
    .timeLimit(.minutes(2)))
  func starting() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let shared = try SharedDatabase.makePostgres()
    #expect(try ServerProcess(folder: folder, schema: Scene.schema(), shared).stop() == 0)
    let holder = try shared.connection()
    try holder.execute("SET application_name = 'a report'; BEGIN; LOCK TABLE items IN SHARE MODE")
    let text = try String(decoding: Scene.schema().json.bytes, as: UTF8.self).replacingOccurrences(
      of: #""title":"#, with: #""added": {"type": "text", "required": false}, "title":"#)
    let schema = try SyncSchema(json: Array(text.utf8))
    let server = try ServerProcess(folder: folder, schema: schema, shared, isAwaited: false)
    blockUntil { server.logged.contains("(a report)") }
    _ = server.stop()
    try holder.execute("ROLLBACK")
    let rows = try holder.query(
      "SELECT 1 FROM pg_attribute WHERE attrelid = 'items'::regclass AND attname = 'added'")
    #expect(rows.isEmpty)
  }
}
