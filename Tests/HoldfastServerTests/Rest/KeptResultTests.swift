import HoldfastHTTP
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

/// Results of queries that are stored for their next pages.
@Suite struct KeptResultTests {
  @Test("ids of a result whose write finds no place in the queue count no more (I11, I12)")
  func dropped() throws {
    let server = try TestServer()
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    for _ in 0..<3 { _ = try alice.makeItem(list) }
    let api = try #require(server.inline).api
    let request = TestServer.request("GET", "/v1/tables/items?limit=1", [], token: alice.token)
    func waiting() -> Int { api.waitingIDs.load(ordering: .relaxed) }
    func begin() throws {
      var step = api.handle(request)
      while case .look(_, let work) = step { step = work() }
      guard case .write(.keepResult, let answer) = step else { throw NotStored() }
      withExtendedLifetime(answer) { #expect(waiting() == 3) }
    }
    try begin()
    #expect(waiting() == 0)
  }

  private struct NotStored: Error {}
}
