import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

/// How much of a transaction one request takes. Invariants I1, I6, I12.
@Suite struct ShareTests {
  let server: TestServer
  let alice: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
  }

  @Test(
    "a request with more change sets than its share is confirmed in parts, each set once and whole (I1, I6)")
  func parts() throws {
    server.world.changeSetBudget.withLock { $0 = 2 }
    try server.reopen()
    let lists = (0..<5).map { _ in alice.newID() }
    let request = alice.request(lists.map { [.create("lists", $0, ["title": "One"])] })
    #expect(try SyncAnswer(body: server.respond(to: request).body).confirmed == 2)
    // The same bytes again, as after a lost answer: what is done is passed over.
    #expect(try SyncAnswer(body: server.respond(to: request).body).confirmed == 4)
    #expect(try alice.apply(server.respond(to: request)).confirmed == 5)
    #expect(lists.allSatisfy { alice.records["lists \($0)"]?.rev == 1 })
    #expect(try server.findings().isEmpty)
  }

  @Test("commands that a transaction had no time for wait for another one, and have their effect once (I1)")
  func leftCommands() throws {
    let bob = try server.signUp("bob")
    server.world.slowness.withLock { $0 = 1000 }
    let requests = [alice, bob].map { $0.request([[.create("lists", $0.newID(), ["title": "One"])]]) }
    let answers = try #require(server.inline).respond(to: requests)
    #expect(try answers.map { try SyncAnswer(body: $0.body).confirmed } == [1, 1])
    #expect(try server.findings().isEmpty)
  }
}
