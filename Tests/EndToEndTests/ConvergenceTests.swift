import Foundation
import Holdfast
import Testing

@Suite("Devices and the server over real HTTP")
struct ConvergenceTests {
  /// Random edits of one device's copy: adds, renames, checks, deletes, moves.
  private func edit(_ device: Device, list: String, seed: UInt64, count: Int) async throws -> Int {
    var random = SeededRandom(seed: seed)
    var added = 0
    for number in 0..<count {
      let (kind, choice, other) = (random.next() % 10, random.next(), random.next())
      added += try await device.store.write { db in
        let rows = try db.fetch(
          Row.self, "SELECT * FROM items WHERE list_id = ? ORDER BY position, id", [.text(list)])
        func place() throws -> String {
          let index = Int(other % UInt64(rows.count + 1))
          return try db.position(
            after: index > 0 ? rows[index - 1].position : nil,
            before: index < rows.count ? rows[index].position : nil)
        }
        guard kind > 3, let row = rows.isEmpty ? nil : rows[Int(choice % UInt64(rows.count))] else {
          try db.insert(
            Row(id: db.newID(), list_id: list, title: "item \(seed).\(number)", position: try place()))
          return 1
        }
        switch kind {
        case 4, 5: try db.update(Row.self, id: row.id) { $0.title = "renamed by \(seed).\(number)" }
        case 6: try db.update(Row.self, id: row.id) { $0.done.toggle() }
        case 7: try db.delete(Row.self, id: row.id)
        default: let position = try place(); try db.update(Row.self, id: row.id) { $0.position = position }
        }
        return 0
      }
    }
    return added
  }

  @Test(
    "three devices edit the same list offline, sync, and hold the same as the server (I1, I3, I6, I7, I9)",
    arguments: [1, 2, 3])
  func converge(seed: UInt64) async throws {
    let scene = try Scene()
    let devices = [
      try await scene.signUp("ann", on: "phone"), try await scene.signIn("ann", on: "laptop"),
      try await scene.signUp("bob", on: "tablet"),
    ]
    let list = try await devices[0].store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Things we need')", [.text(id)])
      try db.execute("INSERT INTO members (zone, name, role) VALUES (?, 'bob', 'editor')", [.text(id)])
      return id
    }
    for device in devices { try await device.engine.sync() }
    try await devices[2].acceptAll()
    for device in devices { try await device.engine.sync() }
    for round in 0..<3 {
      for (number, device) in devices.enumerated() {
        _ = try await edit(device, list: list, seed: seed * 100 + UInt64(round * 10 + number), count: 25)
      }
      for device in devices.shuffled(seed: seed + UInt64(round)) { try await device.engine.sync() }
    }
    for device in devices { try await device.engine.sync() }
    let database = try scene.server.database()
    try database.expectSound()
    let truth = try database.contents(scene.schema)
    #expect(truth["items"]?.isEmpty == false)
    for device in devices {
      #expect(try device.contents(scene.schema) == truth)
      #expect(try await device.store.waitingOperations() == 0)
      #expect(try await device.store.quarantined().isEmpty)
    }
    #expect(scene.server.stop() == 0)
  }

  @Test("a live query yields the change that another device made")
  func live() async throws {
    let scene = try Scene()
    let phone = try await scene.signUp("ann", on: "phone")
    let laptop = try await scene.signIn("ann", on: "laptop")
    var titles = laptop.store.live(String.self, "SELECT title FROM lists ORDER BY id").makeAsyncIterator()
    #expect(try await titles.next() == [])
    try await phone.store.write { try $0.execute("INSERT INTO lists (title) VALUES ('Home')") }
    try await phone.engine.sync()
    try await laptop.engine.sync()
    #expect(try await titles.next() == ["Home"])
  }

  @Test(
    "a running engine sends a local edit by itself, and one that the server was down for when it is back (I7)"
  )
  func running() async throws {
    let scene = try Scene()
    let phone = try await scene.signUp("ann", on: "phone")
    let engine = Task { await phone.engine.run() }
    var states = await phone.engine.states.makeAsyncIterator()
    func wait(for reached: (SyncState) -> Bool) async {
      while let state = await states.next(), !reached(state) {}
    }
    try await phone.store.write { try $0.execute("INSERT INTO lists (title) VALUES ('Home')") }
    await wait { if case .uploading = $0 { true } else { false } }
    await wait { $0 == .idle }
    #expect(try scene.server.database().value("SELECT count(*) FROM lists")?.integer == 1)

    scene.server.kill()
    try await phone.store.write { try $0.execute("INSERT INTO lists (title) VALUES ('Work')") }
    await wait { if case .offline = $0 { true } else { false } }
    try scene.server.start()
    await phone.engine.networkIsReachable()
    await wait { $0 == .idle }
    #expect(try scene.server.database().value("SELECT count(*) FROM lists")?.integer == 2)
    engine.cancel()
    await engine.value
  }

  @Test("an expired session keeps every edit, and signing in again sends them (I3)")
  func expiredSession() async throws {
    let scene = try Scene()
    let phone = try await scene.signUp("ann", on: "phone")
    try await phone.engine.sync()
    try SQLiteConnection(path: phone.path).execute("UPDATE holdfast_local SET token = 'expired'")
    try await phone.store.write { try $0.execute("INSERT INTO lists (title) VALUES ('Home')") }
    let again = SyncEngine(store: phone.store, server: scene.server.address)
    let error = await #expect(throws: StoreError.self) { try await again.sync() }
    #expect(error?.code == .signedOut)
    #expect(try await phone.store.waitingOperations() == 1)
    try await again.signIn(name: "ann", password: "correct-horse", device: "phone")
    try await again.sync()
    #expect(try scene.server.database().value("SELECT count(*) FROM lists")?.integer == 1)
    #expect(try scene.server.database().value("SELECT count(*) FROM holdfast_devices")?.integer == 1)
  }

  @Test("a copied device gets an identity of its own; edits of both arrive once (I1, I3)")
  func copiedDevice() async throws {
    let scene = try Scene()
    let phone = try await scene.signUp("ann", on: "phone")
    try await phone.engine.sync()
    try await phone.store.write { try $0.execute("INSERT INTO lists (title) VALUES ('both')") }
    try SQLiteConnection(path: phone.path).backup(to: scene.folder.appendingPathComponent("copy.db").path)
    let copy = try scene.device("copy")
    try await phone.store.write { try $0.execute("INSERT INTO lists (title) VALUES ('phone')") }
    try await phone.engine.sync()
    try await copy.store.write { try $0.execute("INSERT INTO lists (title) VALUES ('copy')") }
    for device in [copy, phone, copy] { try await device.engine.sync() }
    let database = try scene.server.database()
    let titles = try database.rows("SELECT title FROM lists ORDER BY title").map { $0[0].text }
    #expect(titles == ["both", "copy", "phone"])
    #expect(try database.value("SELECT count(*) FROM holdfast_devices")?.integer == 2)
    #expect(try copy.contents(scene.schema) == phone.contents(scene.schema))
  }

  @Test("two engines on one file send nothing twice (I1)")
  func twoEngines() async throws {
    let scene = try Scene()
    let app = try await scene.signUp("ann", on: "phone")
    let widget = try scene.device("phone")
    for number in 0..<20 {
      async let first: Void = app.store.write {
        try $0.execute("INSERT INTO lists (title) VALUES (?)", [.text("app \(number)")])
      }
      async let second: Void = widget.store.write {
        try $0.execute("INSERT INTO lists (title) VALUES (?)", [.text("widget \(number)")])
      }
      _ = try await (first, second)
      async let up = app.engine.sync()
      async let down = widget.engine.sync()
      _ = try await (up, down)
    }
    #expect(try await app.store.waitingOperations() == 0)
    let database = try scene.server.database()
    #expect(try database.value("SELECT count(*) FROM lists")?.integer == 40)
    #expect(try database.contents(scene.schema) == app.contents(scene.schema))
  }
}
