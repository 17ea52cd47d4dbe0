import Foundation
import HoldfastSystem
import Testing

@testable import Holdfast

@Suite("The life of an app")
struct LifeTests {
  /// A server that answers when the test says so.
  private final class Waiting: Transport {
    private let (requests, request) = AsyncStream.makeStream(of: Void.self)
    private let (endings, ending) = AsyncStream.makeStream(of: Void.self)
    private let answer: @Sendable () async throws -> TransportAnswer

    init(_ answer: @escaping @Sendable () async throws -> TransportAnswer) { self.answer = answer }

    func send(_ request: TransportRequest) async throws -> TransportAnswer {
      self.request.yield()
      defer { ending.yield() }
      return try await answer()
    }
    /// Waits for the next request.
    func asked() async { for await _ in requests { return } }
    /// Waits for the end of a request.
    func ended() async { for await _ in endings { return } }
  }

  /// What the test says of the network.
  private final class Network: NetworkMonitor {
    let changes: AsyncStream<Bool>
    private let change: AsyncStream<Bool>.Continuation

    init() { (changes, change) = AsyncStream.makeStream(of: Bool.self) }
    func say(_ isThere: Bool) { change.yield(isThere) }
  }

  private static let nothing = TransportAnswer(
    status: 200,
    body: Fixture.whole(#"{"clock":"0193aaaa00000000","confirmed":0,"chain":"0000000000000000"}"#))

  /// Ends when its task is cancelled.
  private static func never() async throws -> TransportAnswer {
    let (never, _) = AsyncStream.makeStream(of: Void.self)
    for await _ in never {}
    throw CancellationError()
  }

  @Test("a sync that is cancelled ends at once, with the request that nobody waits for")
  func cancelled() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let transport = Waiting { try await Self.never() }
    let engine = SyncEngine(store: fixture.store, transport: transport)
    let sync = Task { try await engine.sync() }
    await transport.asked()
    sync.cancel()
    await #expect(throws: CancellationError.self) { try await sync.value }
    await transport.ended()
    let late = Task { try await engine.sync() }
    late.cancel()
    await #expect(throws: CancellationError.self) { try await late.value }
  }

  @Test("of two callers the one that is cancelled leaves, and the other is answered")
  func oneOfTwo() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let transport = Waiting {
      for await _ in gate { break }
      return Self.nothing
    }
    let engine = SyncEngine(store: fixture.store, transport: transport)
    let (first, second) = (Task { try await engine.sync() }, Task { try await engine.sync() })
    await transport.asked()
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    open.finish()
    _ = try await second.value
  }

  @Test("when the network is back the engine asks at once, however long it had to wait (I7)")
  func network() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let isThere = Locked(false)
    let transport = Waiting {
      guard isThere.withLock({ $0 }) else { throw StoreError(.offline, "No network.") }
      return Self.nothing
    }
    let network = Network()
    // No timer ever fires.
    let environment = StoreEnvironment(
      now: StoreEnvironment.system.now, random: StoreEnvironment.system.random,
      sleep: { _ in _ = try await Self.never() })
    let store = try Store(path: fixture.path, schema: fixture.store.schema, environment: environment)
    let engine = SyncEngine(store: store, transport: transport, network: network)
    let states = await engine.states
    let running = Task { await engine.run() }
    network.say(true)
    for await state in states { if case .offline = state { break } }
    await transport.asked()
    network.say(false)
    isThere.withLock { $0 = true }
    network.say(true)
    await transport.asked()
    for await state in await engine.states where state == .idle { break }
    running.cancel()
    await running.value
  }

  @Test("a suspended store holds neither a lock nor a descriptor of the file, and goes on after that (I2)")
  func suspended() async throws {
    let fixture = try Fixture()
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    var titles = fixture.store.live(List.order(by: \.title)).makeAsyncIterator()
    #expect(try await titles.next()?.count == 1)
    await fixture.store.suspend()
    for number in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
      let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
      #expect(target?.hasPrefix(fixture.path) != true)
    }
    let error = await #expect(throws: StoreError.self) {
      try await fixture.store.read { try $0.count(List.all) }
    }
    #expect(error?.code == .suspended)
    let other = try SQLiteConnection(path: fixture.path, access: .readWrite)
    try other.execute(
      "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; INSERT INTO lists (title) VALUES ('b'); COMMIT")
    other.close()
    try await fixture.store.resume()
    #expect(try await titles.next()?.count == 2)
    try await fixture.store.write { try $0.insert(List(id: IDs.other, title: "c")) }
    #expect(try await titles.next()?.count == 3)
  }

  @Test("what is under way when the grace ends is rolled back whole, and says so (I6)")
  func interrupted() async throws {
    let fixture = try Fixture()
    let (starts, start) = AsyncStream.makeStream(of: Void.self)
    let write = Task {
      try await fixture.store.write { db in
        try db.insert(List(id: IDs.list, title: "half"))
        start.yield()
        try db.execute(
          "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) UPDATE lists SET title = (SELECT max(i) FROM n)"
        )
      }
    }
    for await _ in starts { break }
    await fixture.store.suspend(within: .milliseconds(1))
    let error = await #expect(throws: StoreError.self) { try await write.value }
    #expect(error?.code == .suspended)
    try await fixture.store.resume()
    #expect(try await fixture.store.read { try $0.count(List.all) } == 0)
  }

  @Test(
    "a transaction that is between two statements when the grace ends is rolled back at the next one (I6)")
  func interruptedBetween() async throws {
    let fixture = try Fixture()
    let (pauses, isInterrupted) = (Locked(0), DispatchSemaphore(value: 0))
    let environment = StoreEnvironment(
      now: StoreEnvironment.system.now, random: StoreEnvironment.system.random,
      sleep: { _ in
        // The first pause is the grace.
        if pauses.withLock({
          $0 += 1; return $0
        }) == 2 {
          isInterrupted.signal()
        }
        await Task.yield()
        try Task.checkCancellation()
      })
    let store = try Store(path: fixture.path, schema: fixture.store.schema, environment: environment)
    let (starts, start) = AsyncStream.makeStream(of: Void.self)
    // On the queue's own thread, as it waits for tasks.
    let write = Task {
      try await store.writer.perform { local in
        try AppTransaction(database: local).write(environment) { db in
          try db.insert(List(id: IDs.list, title: "half"))
          start.yield()
          isInterrupted.wait()
          try db.execute(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) UPDATE lists SET title = (SELECT max(i) FROM n)"
          )
        }
      }
    }
    for await _ in starts { break }
    await store.suspend()
    let error = await #expect(throws: StoreError.self) { try await write.value }
    #expect(error?.code == .suspended)
    #expect(try await fixture.store.read { try $0.count(List.all) } == 0)
  }

  @Test("an engine that is suspended while it syncs goes on when it is resumed (I7)")
  func suspendedEngine() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let isAnswering = Locked(false)
    let transport = Waiting { isAnswering.withLock { $0 } ? Self.nothing : try await Self.never() }
    let engine = SyncEngine(store: fixture.store, transport: transport, network: nil)
    let running = Task { await engine.run() }
    let sync = Task { try await engine.sync() }
    await transport.asked()
    await engine.suspend()
    let error = await #expect(throws: StoreError.self) { try await sync.value }
    #expect(error?.code == .suspended)
    isAnswering.withLock { $0 = true }
    try await engine.resume()
    for await state in await engine.states where state == .idle { break }
    try await engine.sync()
    await engine.suspend()
    // As in a task that the system grants.
    try await engine.syncInBackground()
    await #expect(throws: StoreError.self) { try await fixture.store.read { try $0.count(List.all) } }
    try await engine.resume()
    running.cancel()
    await running.value
  }

  /// An engine whose requests wait until the test lets them go.
  private struct Gated {
    let engine: SyncEngine
    let transport: Waiting
    let open: AsyncStream<Void>.Continuation

    init(_ fixture: Fixture) async throws {
      try await fixture.signIn()
      let (gate, open) = AsyncStream.makeStream(of: Void.self)
      let transport = Waiting {
        for await _ in gate { break }
        return LifeTests.nothing
      }
      (self.open, self.transport) = (open, transport)
      engine = SyncEngine(store: fixture.store, transport: transport, network: nil)
    }
  }

  @Test("an app that is opened during a sync in the background keeps its store (I12)")
  func openedMeanwhile() async throws {
    let fixture = try Fixture()
    let gated = try await Gated(fixture)
    await gated.engine.suspend()
    let sync = Task { try await gated.engine.syncInBackground() }
    await gated.transport.asked()
    try await gated.engine.resume()
    gated.open.finish()
    _ = try await sync.value
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
  }

  @Test("of two syncs in the background the last one suspends the store, and none does it to the other")
  func twoInBackground() async throws {
    let fixture = try Fixture()
    let gated = try await Gated(fixture)
    await gated.engine.suspend()
    let first = Task { try await gated.engine.syncInBackground() }
    await gated.transport.asked()
    let second = try #require(fixture.store.suspension.visit())
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    #expect(try await fixture.store.read { try $0.count(List.all) } == 0)
    #expect(fixture.store.suspension.leave(second))
    gated.open.finish()
    try await gated.engine.syncInBackground()
    #expect(fixture.store.suspension.isOn)
  }

  @Test("a suspension ends a sync in the background, whose end leaves a store that is resumed alone (I12)")
  func suspendedMeanwhile() async throws {
    let fixture = try Fixture()
    let gated = try await Gated(fixture)
    await gated.engine.suspend()
    let sync = Task { try await gated.engine.syncInBackground() }
    await gated.transport.asked()
    await gated.engine.suspend()
    let error = await #expect(throws: StoreError.self) { try await sync.value }
    #expect(error?.code == .suspended)
    #expect(fixture.store.suspension.isOn)
    try await gated.engine.resume()
    #expect(try await fixture.store.read { try $0.count(List.all) } == 0)
  }

  @Test("a store that is resumed before its suspension is over is open after both (I12)")
  func resumedMeanwhile() async throws {
    let fixture = try Fixture()
    let (starts, start) = AsyncStream.makeStream(of: Void.self)
    let end = DispatchSemaphore(value: 0)
    let store = fixture.store
    let read = Task {
      try await store.readers[0].perform { _ in
        start.yield()
        end.wait()
      }
    }
    for await _ in starts { break }
    let suspending = Task { await store.suspend() }
    while !store.suspension.isOn { await Task.yield() }
    let resuming = Task { try await store.resume() }
    while store.suspension.isDue { await Task.yield() }
    end.signal()
    try await read.value
    await suspending.value
    try await resuming.value
    try await store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    for reader in store.readers {
      #expect(try await reader.perform { try $0.count("SELECT count(*) FROM lists") } == 1)
    }
  }

  @Test("an engine that runs for two windows goes on when one of them is closed (I7)")
  func twoRuns() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let environment = StoreEnvironment(
      now: StoreEnvironment.system.now, random: StoreEnvironment.system.random,
      sleep: { _ in
        await Task.yield()
        try Task.checkCancellation()
      })
    let store = try Store(path: fixture.path, schema: fixture.store.schema, environment: environment)
    let isThere = Locked(false)
    let transport = Waiting {
      guard isThere.withLock({ $0 }) else { throw StoreError(.offline, "No network.") }
      return Self.nothing
    }
    let engine = SyncEngine(store: store, transport: transport, network: nil)
    let windows = [Task { await engine.run() }, Task { await engine.run() }]
    await transport.asked()
    while await engine.runs < 2 { await Task.yield() }
    windows[0].cancel()
    await windows[0].value
    #expect(await engine.isRunning)
    isThere.withLock { $0 = true }
    // The next request comes by a timer.
    for await state in await engine.states where state == .idle { break }
    windows[1].cancel()
    await windows[1].value
    #expect(await !engine.isRunning)
  }

  @MainActor
  @Test("a live query that is made while the store is suspended is read when it is resumed; a sync says so")
  func suspendedQuery() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    let engine = SyncEngine(store: fixture.store, transport: Waiting { Self.nothing }, network: nil)
    await engine.suspend()
    let query = fixture.store.liveQuery(List.all)
    #expect(query.value.isEmpty && query.error == nil)
    let error = await #expect(throws: StoreError.self) { try await engine.sync() }
    #expect(error?.code == .suspended)
    try await engine.resume()
    while query.value.isEmpty { await Task.yield() }
    #expect(query.error == nil)
  }
}
