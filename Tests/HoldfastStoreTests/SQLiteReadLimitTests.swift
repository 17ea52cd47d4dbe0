import HoldfastCore
import HoldfastHTTP
import HoldfastSQLite
import ServerScenes
import Testing

@testable import HoldfastSQLiteStore
@testable import HoldfastServer

/// How long one request may read from SQLite.
@Suite struct SQLiteReadLimitTests {
  let server: TestServer
  let alice: TestDevice

  init() throws {
    server = try TestServer(engine: .sqlite)
    alice = try server.signUp("alice")
  }

  @Test("reading that takes longer than its limit is answered with 503 and Retry-After, and the next as ever")
  func limit() throws {
    let list = try alice.makeList()
    for _ in 0..<5 {
      let items = (0..<1000).map { _ in
        [Sent.create("items", alice.newID(), ["list_id": .string(list), "title": "Milk"])]
      }
      #expect(try alice.apply(server.respond(to: alice.request(items))).refused.isEmpty)
    }
    let request = TestServer.request(
      "GET", "/v1/tables/items?count=true&limit=1&order=-title", [], token: alice.token)
    let late = try ReadLimit.$current.withValue(.long(.zero)) { try server.respond(to: request) }
    #expect(late.status == 503)
    #expect(late.headers.contains { $0.name == "Retry-After" })
    #expect(try server.respond(to: request).status == 200)
  }

  @Test("a request that would keep others waiting begins again elsewhere, and is answered there")
  func brief() throws {
    let api = try #require(server.inline).api
    let isInterrupted = ReadLimit.$current.withValue(.brief) {
      do {
        try api.database.read { reader in
          let connection = try #require(reader as? SQLiteReader).connection
          _ = try connection.rows(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
        }
        return false
      } catch { return api.database.isInterrupted(error) }
    }
    #expect(isInterrupted)
    let request = TestServer.request("GET", "/v1/zones", [], token: alice.token)
    #expect(try server.respond(to: request).status == 200)
  }
}
