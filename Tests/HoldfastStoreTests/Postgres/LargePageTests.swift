import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Pages of many changes. Records that were made one after the other are read with one scan of their table.
@Suite struct LargePageTests {
  private final class Statements: Sendable {
    let texts = Mutex<[String]>([])

    /// How many scans there were since the last call.
    var scans: Int {
      texts.withLock { texts in
        defer { texts = [] }
        return texts.count { $0.contains("t.id >= $2 AND t.id <= $3") }
      }
    }
  }

  private let statements = Statements()
  private let server: TestServer
  private let alice: TestDevice
  private let sql: SQLWriter
  private let list: String

  init() throws {
    let statements = statements
    server = try TestServer(
      location: { _ in
        var location = PostgresLocation(try TemporaryPostgres.shared.makeDatabase())
        location.onStatement = { text in statements.texts.withLock { $0.append(text) } }
        return .postgres(location)
      })
    alice = try server.signUp("alice")
    list = try alice.makeList()
    sql = try SQLWriter(server)
  }

  /// Each change of the list as `seq id title`, or without a title for a deleted record; by pages.
  private func changes(by limit: Int = 10_000) throws -> [String] {
    var (all, since): ([String], String) = ([], "")
    while true {
      let page = try RestClient(alice).get("/v1/zones/\(list)/changes?limit=\(limit)&since=\(since)").json
      for change in page["changes"]?.elements ?? [] {
        let title = change["columns"]?["title"]?.stringValue ?? change["columns"]?["name"]?.stringValue
        all.append(
          "\(change["seq"]?.integerValue ?? 0) \(change["id"]?.stringValue ?? "") \(title ?? "")")
      }
      since = try #require(page["to"]?.stringValue)
      if page["more"]?.boolValue != true { return all }
    }
  }

  /// The same of the database.
  private func stored() throws -> [String] {
    try sql.texts(
      """
      SELECT concat(r.seq, ' ', r.id, ' ', coalesce(i.title, l.title, t.name, m.name)) FROM holdfast.records r
      LEFT JOIN items i ON r.record_table = 'items' AND i.id = r.id LEFT JOIN lists l ON r.record_table = 'lists' AND l.id = r.id
      LEFT JOIN tags t ON r.record_table = 'tags' AND t.id = r.id LEFT JOIN holdfast.members m ON r.record_table = 'members' AND m.id = r.id
      WHERE r.zone = '\(list)' ORDER BY r.seq
      """)
  }

  private func fill(_ count: Int, every nth: Int = 1) throws {
    let other = try alice.makeList("Other")
    try sql.run(
      """
      INSERT INTO items (list_id, title) SELECT CASE WHEN i % \(nth) = 0 THEN '\(list)' ELSE '\(other)' END, 'item ' || i
      FROM generate_series(1, \(count)) i
      """)
  }

  @Test("records made one after the other come by scans, each with its values, in the order of seq (I4, I5)")
  func scanned() throws {
    try fill(3000)
    try sql.run(
      "INSERT INTO tags (list_id, name) SELECT '\(list)', 'tag ' || i FROM generate_series(1, 200) i")
    try fill(3000)
    // Their ids are no more in the order of seq; some are gone.
    try sql.run("UPDATE items SET title = title || '!' WHERE right(title, 1) = '7'")
    try sql.run("DELETE FROM items WHERE right(title, 1) = '3'")
    try sql.run(
      "INSERT INTO items (list_id, title) SELECT '\(list)', 'last ' || i FROM generate_series(1, 1500) i")
    _ = statements.scans
    #expect(try changes() == stored())
    #expect(statements.scans > 3)
    #expect(try changes(by: 1500) == stored())
    #expect(try server.findings() == [])
  }

  @Test("where others have many records between them, each is looked up by its id") func spread() throws {
    try fill(30_000, every: 10)
    _ = statements.scans
    #expect(try changes() == stored())
    #expect(statements.scans == 1)
    try sql.run("UPDATE lists SET note = 'changed' WHERE id = '\(list)'")
    #expect(try changes() == stored())
    #expect(statements.scans == 0)
  }

  @Test("a record that the table lacks is left out, and the others come") func missing() throws {
    try fill(3000)
    try sql.run(
      """
      BEGIN; SET LOCAL holdfast.service = 'on';
      DELETE FROM items WHERE title = 'item 2000'; COMMIT
      """)
    let missing = try sql.texts(
      "SELECT id FROM holdfast.records r WHERE r.record_table = 'items' AND r.state = 0 AND NOT EXISTS (SELECT FROM items i WHERE i.id = r.id)"
    )
    #expect(missing.count == 1)
    #expect(try changes() == stored().filter { !$0.contains(missing[0]) })
  }
}
