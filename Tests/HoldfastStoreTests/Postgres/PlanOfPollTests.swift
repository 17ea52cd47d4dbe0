import HoldfastCore
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// What the changes of a zone cost PostgreSQL, by the statements that it gets.
@Suite struct PlanOfPollTests {
  private final class Statements: Sendable {
    let texts = Mutex<[String]>([])
  }

  @Test(
    "a poll of a zone that has not changed asks for the device and its zones alone, and a change is seen (I7)"
  )
  func unchanged() throws {
    let statements = Statements()
    let server = try TestServer(
      location: { _ in
        var location = PostgresLocation(try TemporaryPostgres.shared.makeDatabase())
        location.onStatement = { text in statements.texts.withLock { $0.append(text) } }
        return .postgres(location)
      })
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    let client = RestClient(anna)
    let path = "/v1/zones/\(list)/changes"
    let first = try client.get(path)
    let token = try #require(first.json["to"]?.stringValue)
    let tag = try #require(first.headers["ETag"])
    statements.texts.withLock { $0 = [] }
    #expect(try client.get("\(path)?since=\(token)", ["If-None-Match": tag]).status == 304)
    let asked = statements.texts.withLock { $0 }
    // The history, the device and its zones; or the state of the database alone, and the rest if somebody has written.
    #expect([1, 3, 4].contains(asked.count), "\(asked)")
    #expect(asked.allSatisfy { !$0.contains("holdfast.records") }, "\(asked)")
    try anna.sync([.update("lists", list, ["title": "Market"])])
    let second = try client.get("\(path)?since=\(token)", ["If-None-Match": tag])
    #expect(second.status == 200)
    #expect(second.json["changes"]?.elements?.count == 1)
  }
}
