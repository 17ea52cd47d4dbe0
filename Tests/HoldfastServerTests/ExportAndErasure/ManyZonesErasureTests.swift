import HoldfastCore
import HoldfastService
import ServerScenes
import Testing

@testable import HoldfastServer

/// The erasure of a user with very many zones: docs/EXPORT-AND-ERASURE.md, section 2.
@Suite("The erasure of many zones")
struct ManyZonesErasureTests {
  private let server: TestServer
  private let gone: TestDevice
  private let lists: [String]

  init() throws {
    server = try TestServer()
    let gone = try server.signUp("gone")
    (self.gone, lists) = (gone, (0..<250).map { _ in gone.newID() })
    for first in stride(from: 0, to: lists.count, by: 50) {
      try gone.sync(lists[first..<first + 50].map { .create("lists", $0, ["title": "mine"]) })
    }
  }

  private func erase() throws {
    let body: JSONValue = ["password": "correct horse"]
    try #require(try server.send("DELETE", "/v1/account", body, token: gone.token).status == 204)
  }

  private func count(_ table: String) throws -> Int64? {
    let sql = "SELECT count(*) FROM \(table)"
    return try server.integer(sql, sql)
  }

  @Test("many zones share a transaction, and all other purges take turns with them (I11, I12)")
  func turns() throws {
    try erase()
    let inline = try #require(server.inline)
    let terms = RetentionTerms(
      Retention(), in: inline.api.database.history, at: TrustedTime(time: server.world.now))
    var (searches, commands): ([Purgeable.Kind], Int) = ([], 0)
    _ = try RetentionPass(
      find: { kind, place in
        searches.append(kind)
        return try inline.api.database.read { try $0.found(kind, after: place, terms, in: inline.schema) }
      },
      purge: { item in
        commands += 1
        guard case .success(.purged(let purged)) = inline.service.apply([.purge(item, terms)])[0] else {
          return nil
        }
        return purged
      }
    ).run()
    #expect(try count("lists") == 0)
    #expect(commands < 40)
    // More than one search was needed, and what is no erasure was searched in between.
    let erasing = searches.indices.filter { searches[$0] == .erasedRecords }
    #expect(erasing.count > 1)
    #expect(try #require(searches.firstIndex(of: .tombstones)) < #require(erasing.last))
    try inline.purge()
    #expect(try inline.api.database.read { try $0.erasedUser(after: "") } == nil)
    #expect(try server.findings().isEmpty)
  }

  @Test("a zone that can't be erased holds up none of those that share its transaction (I12)")
  func held() throws {
    let held = lists[120]
    try server.change(
      sqlite: """
        CREATE TRIGGER hold BEFORE DELETE ON lists WHEN OLD.id = '\(held)' BEGIN SELECT RAISE(ABORT, 'held'); END
        """,
      postgres: """
        CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF OLD.id = '\(held)' THEN RAISE EXCEPTION 'held'; END IF; RETURN OLD; END $$;
        CREATE TRIGGER hold BEFORE DELETE ON lists FOR EACH ROW EXECUTE FUNCTION hold();
        """)
    try erase()
    let inline = try #require(server.inline)
    #expect(try inline.purge().postponed > 0)
    #expect(try count("lists") == 1)
    try server.change(sqlite: "DROP TRIGGER hold", postgres: "DROP TRIGGER hold ON lists; DROP FUNCTION hold")
    for _ in 0..<2 { try inline.purge() }
    #expect(try count("lists") == 0)
    #expect(try inline.api.database.read { try $0.erasedUser(after: "") } == nil)
  }
}
