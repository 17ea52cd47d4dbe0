import Foundation
import HoldfastServer
import Synchronization
import Testing

@testable import Holdfast

@Suite("Push, over real sockets")
struct PushTests {
  /// The real transport, which says when a stream was asked for, and when it brought its first bytes.
  private final class WatchedTransport: EventTransport {
    enum Sighting: Equatable { case asked(lastEventID: String?), began }

    private let transport: HTTPTransport
    private let visible: AsyncStream<Sighting>.Continuation
    let sights: AsyncStream<Sighting>

    init(server: URL) {
      transport = HTTPTransport(server: server)
      (sights, visible) = AsyncStream.makeStream()
    }

    func send(_ request: TransportRequest) async throws -> TransportAnswer {
      try await transport.send(request)
    }

    func events(token: String, lastEventID: String?) -> AsyncThrowingStream<[UInt8], any Error> {
      visible.yield(.asked(lastEventID: lastEventID))
      let bytes = transport.events(token: token, lastEventID: lastEventID)
      return AsyncThrowingStream { continuation in
        let task = Task { [visible] in
          var isFirst = true
          do {
            for try await piece in bytes {
              if isFirst { visible.yield(.began) }
              isFirst = false
              continuation.yield(piece)
            }
            continuation.finish()
          } catch { continuation.finish(throwing: error) }
        }
        continuation.onTermination = { _ in task.cancel() }
      }
    }
  }

  /// A device whose engine runs until the test ends.
  private final class RunningDevice {
    let store: Store
    let engine: SyncEngine
    var sights: AsyncStream<WatchedTransport.Sighting>.Iterator
    private let run: Task<Void, Never>

    init(_ scene: Scene, user: String, environment: StoreEnvironment) async throws {
      store = try Store(
        path: scene.folder.appendingPathComponent("listener.db").path, schema: scene.schema,
        environment: environment)
      let transport = WatchedTransport(server: scene.server.address)
      engine = SyncEngine(store: store, transport: transport)
      sights = transport.sights.makeAsyncIterator()
      try await engine.signIn(name: user, password: "correct-horse", device: "listener")
      run = Task { [engine] in await engine.run() }
    }

    deinit { run.cancel() }

    /// Waits until a stream has brought something.
    func waitForStream() async { while let visible = await sights.next(), visible != .began {} }

    /// Waits until a list of this title is here.
    func waitFor(_ title: String) async throws {
      for try await rows in store.live(
        String.self, "SELECT title FROM lists WHERE title = ?", [.text(title)])
      where !rows.isEmpty { return }
    }
  }

  private func add(_ title: String, on device: Device) async throws {
    try await device.store.write { db in
      try db.execute("INSERT INTO lists (id, title) VALUES (?, ?)", [.text(db.newID()), .text(title)])
    }
    try await device.engine.sync()
  }

  /// The system's, but that nothing which is more than ten seconds away ever comes.
  private static let withoutPolls = StoreEnvironment(
    now: StoreEnvironment.system.now, random: StoreEnvironment.system.random,
    sleep: { wait in
      if wait > .seconds(10) {
        let (never, _) = AsyncStream.makeStream(of: Void.self)
        for await _ in never {}
        try Task.checkCancellation()
      }
      try await StoreEnvironment.system.sleep(wait)
    })

  @Test("a running device learns of what another one writes though its next poll never comes (I7)")
  func push() async throws {
    let scene = try Scene()
    let writer = try await scene.signUp("ann", on: "writer")
    let listener = try await RunningDevice(scene, user: "ann", environment: Self.withoutPolls)
    await listener.waitForStream()
    // The launch and the opening of the stream pull by themselves, but not so often.
    for number in 0..<8 {
      try await add("list \(number)", on: writer)
      try await listener.waitFor("list \(number)")
    }
  }

  @Test("a membership reaches a device of the new member by push, and so does what follows in the zone (I7)")
  func membership() async throws {
    let scene = try Scene()
    let owner = try await scene.signUp("ann", on: "owner")
    let other = try await scene.signUp("ben", on: "other")
    let listener = try await RunningDevice(scene, user: "ben", environment: Self.withoutPolls)
    await listener.waitForStream()
    for number in 0..<6 {
      try await add("shared \(number)", on: owner)
      try await owner.store.write { db in
        let list = try db.first(
          String.self, "SELECT id FROM lists WHERE title = ?", [.text("shared \(number)")])
        try db.execute(
          "INSERT INTO members (id, zone, name, role) VALUES (?, ?, 'ben', 'editor')",
          [.text(db.newID()), .text(list ?? "")])
      }
      try await owner.engine.sync()
      // With the first they know each other.
      if number == 0 { try await other.acceptAll() }
      try await listener.waitFor("shared \(number)")
      try await owner.store.write {
        try $0.execute(
          "UPDATE lists SET title = ? WHERE title = ?",
          [.text("renamed \(number)"), .text("shared \(number)")])
      }
      try await owner.engine.sync()
      try await listener.waitFor("renamed \(number)")
    }
  }

  @Test("a device whose server was killed opens a stream to the next one, and has what it missed (I7)")
  func killed() async throws {
    let scene = try Scene()
    let writer = try await scene.signUp("ann", on: "writer")
    let listener = try await RunningDevice(scene, user: "ann", environment: .system)
    await listener.waitForStream()
    scene.server.kill()
    try scene.server.start()
    try await add("missed", on: writer)
    await listener.waitForStream()
    try await listener.waitFor("missed")
    try await add("told", on: writer)
    try await listener.waitFor("told")
  }

  @Test("a stream that is silently dead is noticed, and another one opened (I7)")
  func silent() async throws {
    let scene = try Scene(options: ["--heartbeat", "0.2"])
    let writer = try await scene.signUp("ann", on: "writer")
    let listener = try await RunningDevice(scene, user: "ann", environment: .system)
    await listener.waitForStream()
    scene.server.pause()
    // Nothing comes, and the connection stands: only the silence tells.
    guard case .asked(let lastEventID)? = await listener.sights.next() else {
      Issue.record("no other stream was asked for")
      return
    }
    #expect(lastEventID != nil)
    scene.server.resume()
    try await add("afterwards", on: writer)
    try await listener.waitFor("afterwards")
  }

  @Test(
    "a node has only so many streams; the others are told when to come back, and requests are still served")
  func limit() async throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    var configuration = Configuration(
      schema: try Scene.schema(), database: .directory(folder.appendingPathComponent("data").path),
      log: { _ in })
    configuration.eventStreamLimit = 2
    let server = try Server(configuration)
    defer { server.stop() }
    let url = try #require(URL(string: server.url))
    let transport = HTTPTransport(server: url)
    var held: [AsyncThrowingStream<[UInt8], any Error>.Iterator] = []
    var tokens: [String] = []
    for name in ["ann", "ben", "cid"] {
      let store = try Store(path: folder.appendingPathComponent("\(name).db").path, schema: Scene.schema())
      let engine = SyncEngine(store: store, server: url)
      try await engine.signUp(name: name, password: "correct-horse", device: name)
      tokens.append(try #require(try await store.writer.perform { try $0.sessionToken() }))
    }
    for token in tokens.prefix(2) {
      var stream = transport.events(token: token, lastEventID: nil).makeAsyncIterator()
      #expect(try await stream.next() != nil)
      held.append(stream)
    }
    var refused = transport.events(token: tokens[2], lastEventID: nil).makeAsyncIterator()
    let refusal = await #expect(throws: EventStreamRefusal.self) { try await refused.next() }
    #expect(refusal?.status == 503)
    #expect((refusal?.retryAfter ?? 0) > 0)
    var wrong = transport.events(token: "wrong", lastEventID: nil).makeAsyncIterator()
    let unknown = await #expect(throws: EventStreamRefusal.self) { try await wrong.next() }
    #expect(unknown?.status == 401)
    let health = try await transport.send(TransportRequest(method: "GET", path: "healthz"))
    #expect(health.status == 200)
    // One goes, and there is room for another.
    held.removeLast()
    while true {
      var next = transport.events(token: tokens[2], lastEventID: nil).makeAsyncIterator()
      if (try? await next.next()) != nil { break }
    }
  }
}
