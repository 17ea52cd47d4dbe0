import HoldfastCore
import HoldfastService
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

/// Indexes, foreign keys and constraints that keep no server from starting. Invariant I12.
@Suite struct OptionalStructureTests {
  private let server: TestServer
  private let sql: SQLWriter

  init() throws {
    server = try TestServer(engine: .postgres)
    sql = try SQLWriter(server)
  }

  /// Starts a server, and returns what it logs.
  private func start(_ schema: SyncSchema? = nil) throws -> [String] {
    server.inline = nil
    let notices = Mutex<[String]>([])
    let server = try InlineServer(
      server.location, schema: schema, environment: server.world.environment,
      notice: { line in notices.withLock { $0.append(line) } })
    withExtendedLifetime(server) {}
    return notices.withLock { $0 }
  }

  @Test("an index that a long value keeps from being made keeps no server from serving (I12)")
  func longValue() throws {
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    try sql.run(
      """
      INSERT INTO items (id, list_id, title, note)
      SELECT 'long', '\(list)', 'x', string_agg(md5(n::text), '') FROM generate_series(1, 300) n
      """)
    let text = TestServer.text.replacing(
      #""items": {"#, with: #""items": {"indexes": [["note"]], "#)
    let notices = try start(SyncSchema(json: Array(text.utf8)))
    #expect(notices.count == 1 && notices[0].contains("holdfast_items"), "\(notices)")
    try server.reopen()
    #expect(try anna.get("/v1/tables/items?zone=\(list)&where.note.null=false").status == 200)
    #expect(try sql.texts("SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid") == [])
    try anna.pull()
    #expect(try anna.sync([.delete("items", "long")]).refused.isEmpty)
    #expect(try start() == [])
    #expect(try start() == [])
    #expect(
      try sql.texts(
        "SELECT count(*)::text FROM pg_indexes WHERE tablename = 'items' AND indexdef LIKE '%note%'")
        == ["1"])
  }

  @Test("a foreign key that an orphan keeps from being validated keeps no server from serving (I12)")
  func orphan() throws {
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    _ = try anna.makeItem(list)
    let (drop, add) = (
      "ALTER TABLE items DROP CONSTRAINT items_tag_id_fkey",
      """
      ALTER TABLE items ADD CONSTRAINT items_tag_id_fkey FOREIGN KEY (tag_id) REFERENCES tags (id) ON DELETE SET NULL
      DEFERRABLE INITIALLY DEFERRED NOT VALID
      """
    )
    try sql.run("\(drop); UPDATE items SET tag_id = 'nowhere'; \(add)")
    #expect(try start().contains { $0.contains("foreign key") })
    try server.reopen()
    #expect(try anna.get("/v1/tables/items?zone=\(list)").status == 200)
    #expect(try server.findings().contains { $0.hasPrefix("reference: ") })
  }

  @Test("a table that a team has given a unique constraint can be removed from the schema")
  func constraint() throws {
    try sql.run("ALTER TABLE seals ADD CONSTRAINT ours UNIQUE (item_id)")
    try server.reopen(SchemaChangeTests.reduced(), removals: .allow)
    #expect(try server.findings() == [])
  }
}
