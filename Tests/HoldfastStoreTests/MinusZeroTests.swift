import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import ServerScenes
import Testing

/// PROTOCOL.md, section 1: minus zero, which SQLite does not keep in a column of numbers.
@Suite struct MinusZeroTests {
  @Test("is 0 in every answer, in either engine (I7)")
  func isZero() throws {
    let schema = try SyncSchema(
      name: "test",
      tables: [
        TableSchema(
          "lists", zone: .root, columns: [ColumnSchema("size", .real), ColumnSchema("more", .json)])
      ])
    let server = try TestServer(schema)
    let alice = try server.signUp("alice")
    let id = alice.newID()
    let text = "{\"id\":\"\(id)\",\"columns\":{\"size\":-0.0,\"more\":[-0.0]}}"
    let created = try server.respond(
      to: TestServer.request("POST", "/v1/tables/lists", Array(text.utf8), token: alice.token))
    #expect(created.status == 201)
    for path in ["/v1/tables/lists/\(id)", "/v1/zones/\(id)/changes"] {
      let answer = try server.respond(to: TestServer.request("GET", path, [], token: alice.token))
      let text = String(decoding: answer.body, as: UTF8.self)
      #expect(text.contains("\"size\":0"), "\(text)")
      #expect(!text.contains("\"size\":-"), "\(text)")
    }
  }
}
