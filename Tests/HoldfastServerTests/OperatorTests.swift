import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import ServerScenes
import Testing

@testable import HoldfastServer

/// What an operator, or a program of theirs, does to the database under a running server.
@Suite("Hands on the database under a running server") struct OperatorTests {
  let server: TestServer
  let anna: TestDevice
  let bob: TestDevice
  let list: String
  let item: String

  init() throws {
    server = try TestServer()
    anna = try server.signUp("anna")
    bob = try server.signUp("bob")
    list = try anna.makeList()
    item = try anna.makeItem(list)
    try anna.pull()
  }

  private func patch(_ rest: RestClient) throws -> Int {
    try rest.send("PATCH", "/v1/tables/items/\(item)", ["rev": 1, "columns": ["title": "Oat milk"]]).status
  }

  @Test("a zone whose row was deleted fails alone: others are written, and the server is ready (I12)")
  func zoneRow() throws {
    try server.change(
      sqlite: "DELETE FROM holdfast_zones WHERE zone = '\(list)'",
      postgres: "DELETE FROM holdfast.zones WHERE zone = '\(list)'")
    #expect(try patch(RestClient(anna)) >= 400)
    _ = try bob.makeList("Bob's")
    #expect(try RestClient(bob).get("/readyz").status == 200)
  }

  @Test(
    "a limit on statements that ends a write before it began makes it wait (I12)",
    .enabled(if: Engine.used == .postgres))
  func statementTimeout() throws {
    guard case .postgres(let location) = server.location else { return }
    let operators = try PostgresConnection(location.direct ?? location.url)
    let name = try operators.query("SELECT current_database()").text(0, 0)
    try operators.execute("ALTER DATABASE \"\(name)\" SET statement_timeout = '200ms'")
    try server.reopen(readTimeLimit: .milliseconds(200))
    try operators.execute("BEGIN; LOCK TABLE holdfast.zones IN ACCESS EXCLUSIVE MODE")
    let reply = try RestClient(anna).send(
      "PATCH", "/v1/tables/items/\(item)", ["columns": ["title": "Oat milk"]])
    #expect(reply.status == 503 && reply.headers["Retry-After"] != nil)
    try operators.execute("ROLLBACK")
    #expect(try patch(RestClient(anna)) == 200)
  }

  @Test(
    "what was changed behind the triggers is said by doctor, whatever its length, and repaired (I4)",
    .enabled(if: Engine.used == .postgres))
  func behind() throws {
    try server.change(
      sqlite: "",
      postgres: """
        BEGIN; SET LOCAL holdfast.service = 'on'; UPDATE items SET title = 'Kiwi' WHERE id = '\(item)'; COMMIT
        """)
    let administration = try Administration(server.location)
    let doubts = try administration.doubts()
    #expect(doubts.count == 1 && doubts.allSatisfy { $0.text.contains(item) && $0.text.contains("--repair") })
    _ = try DatabaseRepair(server.location).run()
    #expect(try administration.doubts() == [])
    try anna.pull()
    #expect(anna.column("items", item, "title") == "Kiwi")
  }
}
