import Foundation
import HoldfastCore
import Synchronization
import Testing

@testable import Holdfast

/// PROTOCOL.md, section 6.2: requests on a slow network.
@Suite("The size of requests")
struct RequestSizeTests {
  @Test("it halves with each large request that gets no answer, and doubles after several that do (I3)")
  func halves() {
    var size = RequestSize()
    size.lose(RequestSize.least)
    #expect(size.limit == 1 << 20)
    size.lose(600 << 10)
    #expect(size.limit == 300 << 10)
    for _ in 0..<10 { size.lose(size.limit + 1000) }
    #expect(size.limit == RequestSize.least)
    // A small request says nothing.
    for _ in 0..<100 { size.arrive(100) }
    #expect(size.limit == RequestSize.least)
    for _ in 0..<3 { size.arrive(size.limit) }
    #expect(size.limit == RequestSize.least)
    size.arrive(size.limit)
    #expect(size.limit == 2 * RequestSize.least)
    for _ in 0..<100 { size.arrive(size.limit) }
    #expect(size.limit == RequestSize.most)
  }

  /// A network on which only requests of a size arrive whole.
  private final class SlowNetwork: Transport {
    let sizes = Mutex<[Int]>([])
    let isCut: Bool

    init(isCut: Bool) { self.isCut = isCut }

    func send(_ request: TransportRequest) async throws -> TransportAnswer {
      sizes.withLock { $0.append(request.body?.count ?? 0) }
      if isCut { throw StoreError(.offline, "The connection was cut.") }
      return TransportAnswer(status: 408, body: Problem(.requestTimeout).document)
    }
  }

  @Test(
    "a backlog that is too large for the network is sent in smaller and smaller parts (I3)",
    arguments: [true, false])
  func backlog(isCut: Bool) async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer("\"resend\":false")
    for batch in 0..<400 {
      try await fixture.store.write { db in
        for number in 0..<10 {
          let id = Identifier.make(milliseconds: 1, random: (UInt64(batch), UInt64(number)))
          try db.insert(List(id: id, title: String(repeating: "x", count: 200)))
        }
      }
    }
    let network = SlowNetwork(isCut: isCut)
    let engine = SyncEngine(store: fixture.store, transport: network, network: nil)
    for _ in 0..<9 { await #expect(throws: StoreError.self) { try await engine.sync() } }
    let sizes = network.sizes.withLock { $0 }
    #expect(sizes[0] > 900 << 10)
    for (before, next) in zip(sizes, sizes.dropFirst()) where before > 40 << 10 {
      #expect(next < before * 6 / 10)
    }
    #expect(sizes[8] < 24 << 10)
    #expect(try await fixture.outbox().count == 400)
  }
}
