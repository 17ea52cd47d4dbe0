import Foundation
import Testing

@testable import Holdfast

@Suite("The status that an app shows")
struct StatusTests {
  private struct Answering: Transport {
    let answer: @Sendable (TransportRequest) async throws -> TransportAnswer
    func send(_ request: TransportRequest) async throws -> TransportAnswer { try await answer(request) }
  }

  private static let nothing = TransportAnswer(
    status: 200,
    body: Fixture.whole(#"{"clock":"0193aaaa00000000","confirmed":0,"chain":"0000000000000000"}"#))

  @MainActor
  @Test("a view has the status at once: what waits, and that a sign-in is needed (I3)")
  func first() async throws {
    let fixture = try Fixture()
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    let engine = SyncEngine(store: fixture.store, transport: Answering { _ in Self.nothing }, network: nil)
    let status = try LiveStatus(of: engine)
    #expect(status.value.needsSignIn)
    #expect(status.value.text == "Sign in: 1 change waits")
    #expect(status.value.lastSynced == nil)
    try await fixture.signIn()
    while status.value.needsSignIn { await Task.yield() }
    #expect(status.value.text == "1 change waits")
  }

  @Test("the status follows syncs, failures, refusals and the session")
  func follows() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer("\"resend\":false")
    let engine = SyncEngine(
      store: fixture.store, transport: Answering { _ in throw StoreError(.offline, "No network.") },
      network: nil)
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    var statuses = engine.statuses.makeAsyncIterator()
    func next(where isWanted: (SyncStatus) -> Bool) async throws -> SyncStatus {
      while let status = await statuses.next() { if isWanted(status) { return status } }
      throw CancellationError()
    }
    _ = try await next { $0.text == "1 change waits" }
    _ = try? await engine.sync()
    _ = try await next { $0.text == "Offline: 1 change waits" }
    try await fixture.confirm("\"resend\":false", refusing: try await fixture.first(1))
    let refused = try await next { $0.quarantined == 1 }
    #expect(refused.waiting == 0)
    let good = SyncEngine(store: fixture.store, transport: Answering { _ in Self.nothing }, network: nil)
    #expect(
      SyncStatus(nil, try await fixture.store.read { try SyncCounts($0) }).text == "1 change was refused")
    statuses = good.statuses.makeAsyncIterator()
    _ = try await next { $0.lastSynced != nil }
  }

  @Test("progress and texts follow the state")
  func texts() {
    var status = SyncStatus(
      state: .downloading(done: 1, total: 4), waiting: 0, quarantined: 0, questions: 0, lastSynced: nil)
    #expect(status.progress == 0.25)
    #expect(status.text == "Downloading: 1 of 4")
    status.state = .idle
    #expect(status.progress == nil)
    #expect(status.text == "Not synced yet")
    status.lastSynced = Date(timeIntervalSince1970: 1)
    #expect(status.text == "Synced")
    status.state = .waiting([WaitingZone(zone: IDs.list, until: "2026-11-26T12:00:00.000Z")])
    #expect(status.text == "Synced, but for 1 zone")
    (status.state, status.waiting) = (.signedOut, 3)
    #expect(status.text == "Sign in: 3 changes wait")
  }
}
