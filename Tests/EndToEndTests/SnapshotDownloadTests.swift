import Foundation
import Holdfast
import HoldfastSQLite
import Synchronization
import Testing

@Suite("A large zone that is new to a device", .serialized)
struct SnapshotDownloadTests {
  /// Passes requests on, and does something else with those of snapshots when told to.
  private final class Watched: Transport {
    private let transport: HTTPTransport
    private let seen = Mutex<[TransportRequest]>([])
    private let change: @Sendable (_ number: Int, TransportAnswer) throws -> TransportAnswer

    init(
      _ server: URL, _ change: @escaping @Sendable (Int, TransportAnswer) throws -> TransportAnswer = { $1 }
    ) {
      transport = HTTPTransport(server: server)
      self.change = change
    }

    /// The requests for snapshots.
    var snapshots: [TransportRequest] { seen.withLock { $0 } }

    func send(_ request: TransportRequest) async throws -> TransportAnswer {
      guard request.path.hasSuffix("/snapshot") else { return try await transport.send(request) }
      let number = seen.withLock { seen in
        seen.append(request)
        return seen.count
      }
      return try change(number, try await transport.send(request))
    }
  }

  /// Tells those who work beside a test that it ends.
  private final class End: Sendable {
    private let state = Mutex(false)
    var isReached: Bool { state.withLock { $0 } }
    func reach() { state.withLock { $0 = true } }
  }

  /// Few, as each is written by a device: their notes make a snapshot of two stretches of them.
  private static let count = 1500
  /// As many as an app takes as a snapshot that does not say otherwise.
  private static let many = 6000

  /// A server with a list of so many items, and ann's phone, which has them.
  private func scene(items count: Int = count) async throws -> (Scene, Device) {
    let scene = try Scene(schema: Scene.jotSchema())
    let phone = try await scene.signUp("ann", on: "phone")
    let list = try await phone.store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Everything')", [.text(id)])
      return id
    }
    for batch in 0..<6 {
      try await phone.store.write { db in
        for number in 0..<count / 6 {
          let title = "item \(batch).\(number)"
          let note = String(repeating: "note ", count: 1_900_000 / count)
          try db.execute(
            "INSERT INTO items (id, list_id, title, note, position) VALUES (?, ?, ?, ?, ?)",
            [
              .text(db.newID()), .text(list), .text(title), .text(note),
              .text(try db.position(after: nil, before: nil)),
            ])
        }
      }
    }
    try await phone.engine.sync()
    return (scene, phone)
  }

  private func tablet(_ scene: Scene, _ transport: Watched, name: String = "tablet") async throws -> Device {
    let device = try Device(
      name, in: scene.folder, transport: transport, schema: scene.schema, snapshotsFrom: Self.count / 2)
    if try await device.store.account() == nil {
      try await device.engine.signIn(name: "ann", password: "correct-horse", device: name)
    }
    return device
  }

  private func leftovers(_ device: Device) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: device.path + "-snapshots")) ?? []
  }

  @Test("comes as a snapshot, goes on after a break where it was, and then by changes (I2, I4, I6, I7)")
  func resumed() async throws {
    let (scene, phone) = try await scene()
    let broken = Watched(scene.server.address) { number, answer in
      if number == 2 { throw StoreError(.offline, "the train is in a tunnel") }
      return answer
    }
    let first = try await tablet(scene, broken)
    await #expect(throws: StoreError.self) { try await first.engine.sync() }
    #expect(try await first.store.read { try $0.rows("SELECT count(*) FROM items").rows } == [[.integer(0)]])
    #expect(leftovers(first).count == 2)
    let folder = URL(fileURLWithPath: first.path + "-snapshots")
    let copy = scene.folder.appendingPathComponent("half a snapshot")
    try FileManager.default.copyItem(at: folder, to: copy)
    // The zone moves on; the file that was begun is good all the same.
    try await phone.store.write { try $0.execute("DELETE FROM items WHERE title LIKE '%.7'") }
    try await phone.engine.sync()

    let watched = Watched(scene.server.address)
    let again = try await tablet(scene, watched)
    let summary = try await again.engine.sync()
    #expect(watched.snapshots.first?.headers["Range"]?.hasPrefix("bytes=8388608-") == true)
    #expect(watched.snapshots.first?.headers["If-Match"] != nil)
    #expect(summary.received >= Self.count)
    #expect(try again.contents(scene.schema) == phone.contents(scene.schema))
    #expect(leftovers(again).isEmpty)
    // Nothing is left to ask for.
    #expect(try await again.engine.sync().received == 0)
    // What a kill leaves that comes when all is applied goes with the next start.
    try FileManager.default.removeItem(at: folder)
    try FileManager.default.moveItem(at: copy, to: folder)
    #expect(leftovers(again).count == 2)
    #expect(leftovers(try await tablet(scene, watched)).isEmpty)
  }

  @Test("waits, and goes on where it was, when a proxy answers 401 in the server's place (I3, I7)")
  func foreign() async throws {
    let (scene, phone) = try await scene()
    let watched = Watched(scene.server.address) { number, answer in
      number == 2 ? TransportAnswer(status: 401, body: Array("<html>".utf8)) : answer
    }
    let device = try await tablet(scene, watched)
    let error = await #expect(throws: StoreError.self) { try await device.engine.sync() }
    #expect(error?.code == .offline)
    try await device.engine.sync()
    #expect(watched.snapshots.last?.headers["Range"]?.hasPrefix("bytes=8388608-") == true)
    #expect(try device.contents(scene.schema) == phone.contents(scene.schema))
  }

  @Test("comes in pages when there is no snapshot, or it is not what it should be (I6, I7)")
  func refused() async throws {
    let (scene, phone) = try await scene()
    for status in [404, 503, 206, 200] {
      let watched = Watched(scene.server.address) { _, answer in
        var body = answer.body
        // With 206 and 200: a byte is wrong, or the whole is sent as if there were no ranges.
        if status == 206, !body.isEmpty { body[body.count / 2] ^= 1 }
        return TransportAnswer(status: status, body: body, headers: answer.headers)
      }
      let device = try await tablet(scene, watched, name: "tablet\(status)")
      try await device.engine.sync()
      #expect(!watched.snapshots.isEmpty, "\(status)")
      #expect(try device.contents(scene.schema) == phone.contents(scene.schema), "\(status)")
      #expect(leftovers(device).isEmpty, "\(status)")
    }
  }

  @Test("that is resynced comes under the edits that were not sent, whatever they are (I3, I7)")
  func edited() async throws {
    let (scene, phone) = try await scene()
    let device = try await tablet(scene, Watched(scene.server.address))
    try await device.engine.sync()
    try await phone.store.write { db in
      try db.execute("UPDATE items SET title = 'renamed ' || title WHERE title LIKE 'item 3.%'")
      try db.execute("DELETE FROM items WHERE title LIKE 'item 4.1%'")
    }
    try await phone.engine.sync()
    try await device.store.write { db in
      try db.execute("UPDATE items SET done = 1 WHERE title = 'item 3.5'")
      try db.execute("UPDATE items SET done = 1 WHERE title = 'item 4.17'")
      try db.execute("DELETE FROM items WHERE title = 'item 5.5'")
      let list = try db.rows("SELECT id FROM lists").rows[0][0]
      try db.execute(
        "INSERT INTO items (id, list_id, title, position) VALUES (?, ?, 'new here', ?)",
        [.text(db.newID()), list, .text(try db.position(after: nil, before: nil))])
    }
    try await device.store.resetAll()
    let transport = Watched(scene.server.address)
    let engine = SyncEngine(
      store: device.store, transport: transport, snapshotsFrom: Self.count / 2)
    try await engine.sync()
    #expect(!transport.snapshots.isEmpty)
    try await phone.engine.sync()
    #expect(try device.contents(scene.schema) == phone.contents(scene.schema))
    let done = try await phone.store.read { try $0.rows("SELECT title FROM items WHERE done = 1").rows }
    #expect(done == [[.text("renamed item 3.5")]])
    #expect(
      try await phone.store.read { try $0.rows("SELECT count(*) FROM items WHERE title = 'new here'").rows }
        == [[.integer(1)]])
    #expect(try await device.store.waitingOperations() == 0)
    #expect(try await device.store.quarantined().isEmpty)
  }

  @Test(
    "triggers of the app see each record that comes, and edits are recorded afterwards (I3)",
    arguments: [false, true])
  func ownTriggers(bySnapshot: Bool) async throws {
    let (scene, phone) = try await scene()
    let watched = Watched(scene.server.address) { _, answer in
      bySnapshot ? answer : TransportAnswer(status: 404, body: [])
    }
    for isWatching in [false, true] {
      let device = try await tablet(scene, watched, name: isWatching ? "watching" : "plain")
      let file = try SQLiteConnection(path: device.path)
      try file.execute(
        """
        CREATE TABLE seen (id TEXT PRIMARY KEY);
        CREATE TRIGGER seeing AFTER INSERT ON items BEGIN INSERT INTO seen VALUES (NEW.id); END
        """)
      if !isWatching { try file.execute("DROP TRIGGER seeing") }
      try await device.engine.sync()
      #expect(try file.value("SELECT count(*) FROM items") == .integer(Int64(Self.count)))
      #expect(try file.value("SELECT count(*) FROM seen") == .integer(isWatching ? Int64(Self.count) : 0))
      try await device.store.write {
        try $0.execute(
          "UPDATE items SET title = 'changed' WHERE title = \(isWatching ? "item 1.1" : "item 1.2")")
      }
      #expect(try await device.store.waitingOperations() == 1)
      try await device.engine.sync()
      try await phone.engine.sync()
      #expect(try device.contents(scene.schema) == phone.contents(scene.schema))
    }
  }

  @Test(
    "killed at any moment shows nothing half, and is whole in the end (I2, I4, I6)", .timeLimit(.minutes(5)))
  func killed() async throws {
    let (scene, phone) = try await scene(items: Self.many)
    var random = SeededRandom(seed: 3)
    var round = 0
    let whole = try await microseconds {
      _ = try await tablet(scene, Watched(scene.server.address)).engine.sync()
    }
    _ = try await scene.signIn("ann", on: "laptop")
    let path = scene.folder.appendingPathComponent("laptop.db")
    var (nothing, all) = (0, 0)
    // Until it is whole, but for a few times: then there is nothing to break off.
    while round < 8, all < 2 {
      round += 1
      let run = try JotRun.start(path, scene.server.address, ["sync"])
      // Not a wait for anything: the moment of the kill is what is random.
      usleep(UInt32(random.next() % min(whole / 2, 5_000_000)))
      _ = run.kill()
      let count = try SQLiteConnection(path: path.path).value("SELECT count(*) FROM items")?.integer
      #expect(count == 0 || count == Int64(Self.many))
      if count == 0 { nothing += 1 } else { all += 1 }
    }
    print("snapshot: killed \(nothing) times before it was there, \(all) after")
    let laptop = try scene.device("laptop")
    try await laptop.engine.sync()
    #expect(try laptop.contents(scene.schema) == phone.contents(scene.schema))
    #expect(leftovers(laptop).isEmpty)
    try await killInstalling(scene, phone)
  }

  /// Ends processes while the snapshot becomes their database.
  private func killInstalling(_ scene: Scene, _ phone: Device) async throws {
    // What there is to see when the installation has begun, when pages are written, and when all is done.
    let moments: [(name: String, isReached: (URL, FileManager) -> Bool)] = [
      ("merging", { $1.fileExists(atPath: $0.path + "-journal") }),
      (
        "writing",
        { path, files in
          let attributes = try? files.attributesOfItem(atPath: path.path)
          return (attributes?[.size] as? NSNumber)?.intValue ?? 0 > 2 << 20
        }
      ),
      (
        "ending",
        { path, files in
          let names = try? files.contentsOfDirectory(atPath: path.path + "-snapshots")
          return names?.isEmpty == true
        }
      ),
    ]
    for (name, isReached) in moments {
      _ = try await scene.signIn("ann", on: name)
      let path = scene.folder.appendingPathComponent("\(name).db")
      let run = try JotRun.start(path, scene.server.address, ["sync"])
      while run.process.isRunning, !isReached(path, .default) {}
      let status = run.kill().status
      let device = try scene.device(name)
      let count = try await device.store.read { try $0.rows("SELECT count(*) FROM items").rows[0][0].integer }
      #expect(count == 0 || count == Int64(Self.many), "\(name)")
      print("snapshot: killed when \(name), status \(status), \(count ?? 0) items")
      #expect(try await device.store.check().isSound, "\(name)")
      try await device.engine.sync()
      #expect(try device.contents(scene.schema) == phone.contents(scene.schema), "\(name)")
      #expect(leftovers(device).isEmpty, "\(name)")
    }
  }

  @Test("is read and written while it comes, and nothing of that is lost (I3, I6, I7)")
  func busy() async throws {
    let (scene, phone) = try await scene()
    let device = try await tablet(scene, Watched(scene.server.address))
    let own = "0193aaaa-0000-7000-8000-000000000003"
    try await device.store.write { try $0.execute("INSERT INTO lists (id, title) VALUES (\(own), 'Mine')") }
    let end = End()
    let store = device.store
    async let written = { () async throws -> Int in
      var count = 0
      while !end.isReached {
        let number = count
        try await store.write { db in
          try db.execute(
            "INSERT INTO items (id, list_id, title, position) VALUES (?, ?, ?, ?)",
            [
              .text(db.newID()), .text(own), .text("mine \(number)"),
              .text(try db.position(after: nil, before: nil)),
            ])
        }
        count += 1
      }
      return count
    }()
    async let seen = { () async throws -> Set<Int64> in
      var seen: Set<Int64> = []
      while !end.isReached {
        let rows = try await store.read { db in
          try db.rows("SELECT count(*) FROM items WHERE list_id <> \(own)").rows
        }
        if case .integer(let count) = rows[0][0] {
          seen.insert(count)
          // A sync goes on for as long as there is something to send.
          if count > 0 { end.reach() }
        }
        await Task.yield()
      }
      return seen
    }()
    do { try await device.engine.sync() } catch { Issue.record(error) }
    end.reach()
    let count = try await written
    #expect(try await seen.subtracting([0, Int64(Self.count)]).isEmpty)
    try await device.engine.sync()
    try await phone.engine.sync()
    #expect(try device.contents(scene.schema) == phone.contents(scene.schema))
    let arrived = try await phone.store.read {
      try $0.rows("SELECT count(*) FROM items WHERE list_id = \(own)").rows
    }
    #expect(arrived == [[.integer(Int64(count))]])
  }

  private func microseconds(_ body: () async throws -> Void) async throws -> UInt64 {
    let start = ContinuousClock.now
    try await body()
    return UInt64((ContinuousClock.now - start) / .microseconds(1)) + 1
  }
}
