import HoldfastCore
import HoldfastPostgres
import ServerScenes
import Testing

@testable import HoldfastPostgresStore
@testable import HoldfastServer

@Suite("A new epoch")
struct EpochTests {
  private func begin(_ server: TestServer, after current: String?) throws -> Bool {
    let database = try #require(server.inline).api.database
    return try database.administration().store.beginEpoch(
      NewEpoch(server.world.environment, because: .otherDatabase, isForkKnown: true), after: current)
  }

  @Test("that begins while a server runs, over another connection, is that of its next write and answer (I4)")
  func whileServing() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    try anna.pull()
    let before = try #require(anna.acks[list].flatMap { ChangeToken($0) })
    #expect(try begin(server, after: before.epoch))
    #expect(try anna.sync().mustResend)
    let answer = try anna.sync(complete: true)
    #expect(answer.parts.allSatisfy { !$0.isReset })
    let after = try #require(anna.acks[list].flatMap { ChangeToken($0) })
    #expect(after.epoch != before.epoch)
    #expect(server.inline?.api.database.history.previous == before.epoch)
    let item = try anna.makeItem(list)
    try anna.pull()
    #expect(anna.has("items", item))
    #expect(try server.findings().isEmpty)
  }

  @Test("no ETag of the history before is one of the new, though the revs are the same (I4)")
  func tags() throws {
    let server = try TestServer(RestSchema.make())
    let rest = RestClient(try server.signUp("anna"))
    let list = try rest.create("lists", ["title": "Groceries"])
    let path = "/v1/tables/lists/\(list)"
    let old = try #require(try rest.get(path).headers["ETag"])
    #expect(try begin(server, after: nil))
    let known = try rest.send("GET", path, nil, ["If-None-Match": old])
    #expect(known.status == 200 && known.rev == 1)
    #expect(try rest.send("PATCH", path, ["columns": ["title": "Food"]], ["If-Match": old]).status == 412)
    let new = try #require(known.headers["ETag"])
    #expect(try rest.send("GET", path, nil, ["If-None-Match": new]).status == 304)
    func replace(_ tag: String) throws -> RestClient.Reply {
      let content = tag.filter { $0 != "\"" }
      return try rest.batch([
        [
          "op": "update", "table": "lists", "id": .string(list), "if_match": .string(content),
          "columns": ["title": "Food"],
        ]
      ])
    }
    #expect(try replace(old).status == 412)
    #expect(try replace(new).status == 200)
    #expect(try rest.send("PATCH", path, ["columns": ["title": "Food"]], ["If-Match": new]).status == 412)
  }

  @Test("begins once, whoever else says that it is to begin after the same one")
  func once() throws {
    let server = try TestServer()
    let first = try #require(server.inline).api.database.epoch
    #expect(try begin(server, after: first))
    #expect(try !begin(server, after: first))
    let second = try #require(server.inline).api.database.administration().store
    _ = try second.begin([])
    #expect(second.history.earlier == [first])
    second.rollBack()
    #expect(try begin(server, after: nil))
    _ = try second.begin([])
    #expect(second.history.earlier.count == 2)
    #expect(second.history.earlier.last == first)
    second.rollBack()
  }

  @Test(
    "waits on PostgreSQL for each transaction of the service that is in the one before",
    .enabled(if: Engine.used != .sqlite))
  func waits() throws {
    let server = try TestServer()
    guard case .postgres(let location) = server.location else { return }
    let store = try #require(server.inline).service.work.store
    _ = try store.begin([])
    let other = try PostgresConnection(location.direct ?? location.url)
    let isFree = PostgresStatement("SELECT pg_try_advisory_xact_lock(\(PostgresLock.epoch.rawValue))")
    #expect(try !other.query(isFree).bool(0, 0))
    store.rollBack()
    #expect(try other.query(isFree).bool(0, 0))
  }
}
