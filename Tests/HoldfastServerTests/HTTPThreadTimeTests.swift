import Foundation
import FoundationNetworking
import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastSystem
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// The HTTP threads, which all clients share.
@Suite("The time of the HTTP threads") struct HTTPThreadTimeTests {
  private let ann = Client.user("ann")
  private let bob = Client.user("bob")

  @Test(
    "a client that uses much of it has a tenth of a thread afterwards, and others have theirs (availability)")
  func allowance() {
    let clock = Locked(ContinuousClock.now)
    let time = HTTPThreadTime { clock.withLock { $0 } }
    func advance(_ duration: Duration) { clock.withLock { $0 += duration } }
    func use(_ duration: Duration, _ client: Client) { time.run(for: client) { advance(duration) } }
    for _ in 0..<3 {
      #expect(time.isLeft(for: ann))
      use(.milliseconds(30), ann)
    }
    #expect(!time.isLeft(for: ann))
    #expect(time.isLeft(for: bob))
    var used = 0
    for _ in 0..<1000 {
      if time.isLeft(for: ann) {
        use(.milliseconds(30), ann)
        used += 30
      }
      advance(.milliseconds(10))
    }
    #expect((900...1200).contains(used), "\(used) ms of 10 s")
    advance(.seconds(1))
    #expect(time.isLeft(for: ann))
  }

  @Test("quick requests cost nothing, however many there are")
  func quick() {
    let time = HTTPThreadTime()
    for _ in 0..<100_000 { time.charge(ann, .microseconds(900)) }
    #expect(time.isLeft(for: ann))
    #expect(time.count == 0)
  }

  @Test("clients without a debt are forgotten, and a thread that stood still locks nobody out (I11)")
  func bounded() {
    let clock = Locked(ContinuousClock.now)
    let time = HTTPThreadTime { clock.withLock { $0 } }
    for number in 0..<100_000 {
      time.charge(.user("\(number)"), .milliseconds(1))
      clock.withLock { $0 += .milliseconds(1) }
    }
    #expect(time.count <= 256)
    time.charge(ann, .seconds(86_400))
    clock.withLock { $0 += .seconds(10) }
    #expect(time.isLeft(for: ann))
  }

  @Test(
    "a client that has used up its time waits for its own reads, and nobody waits for it (availability)",
    .timeLimit(.minutes(1)))
  func dispatched() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "holdfast-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    var configuration = Configuration(
      schema: try MergeSchema.schema(), database: .directory(folder.path), log: { _ in })
    configuration.threads = 1
    configuration.trustedProxies = TrustedProxies([try #require(IPAddress.Range("127.0.0.1"))])
    let server = try Server(configuration)
    defer { server.stop() }
    let dispatcher = server.dispatcher
    let time = try #require(dispatcher.threadTime)
    let (greedy, other) = ("192.0.2.1", "192.0.2.2")
    // For longer than the test may take.
    for _ in 0..<100 { time.charge(.at(greedy), .seconds(1)) }
    // All that it may have under way.
    let (started, release) = (Door(), Door())
    defer { release.open() }
    let long: @Sendable () -> Void = {
      started.open()
      release.wait()
    }
    #expect(dispatcher.reading.enqueue(long, of: .at(greedy)))
    started.wait()
    let url = try #require(URL(string: "\(server.url)/v1/zones"))
    func status(_ address: String) async throws -> Int? {
      var request = URLRequest(url: url)
      request.setValue(address, forHTTPHeaderField: "X-Forwarded-For")
      return (try await URLSession.shared.data(for: request).1 as? HTTPURLResponse)?.statusCode
    }
    async let waiting = status(greedy)
    await waitUntil { dispatcher.reading.waitingCount > 0 || Task.isCancelled }
    #expect(try await status(other) == 401)
    #expect(dispatcher.reading.waitingCount == 1)
    release.open()
    #expect(try await waiting == 401)
  }
}
