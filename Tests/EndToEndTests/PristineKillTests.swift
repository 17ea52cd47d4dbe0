import Foundation
import Holdfast
import Testing

@Suite("SIGKILL while a device begins from a seed, or again", .serialized)
struct PristineKillTests {
  /// A server with a list of so many items, and ann's phone, which has them.
  private func scene(items count: Int) async throws -> (Scene, Device, list: String) {
    let scene = try Scene(schema: Scene.jotSchema())
    let phone = try await scene.signUp("ann", on: "phone")
    let list = try await phone.store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Everything')", [.text(id)])
      return id
    }
    for batch in 0..<count / 2000 {
      try await phone.store.write { db in
        for number in 0..<2000 {
          let title = "item \(batch).\(number) " + String(repeating: "x", count: 400)
          try db.insert(
            Row(
              id: db.newID(), list_id: list, title: title, position: try db.position(after: nil, before: nil))
          )
        }
      }
    }
    try await phone.engine.sync()
    return (scene, phone, list)
  }

  @Test("leaves nothing or the whole seed, and the next start has all of it (I2)", .timeLimit(.minutes(5)))
  func seeding() async throws {
    let (scene, _, _) = try await scene(items: 8000)
    let seed = scene.folder.appendingPathComponent("seed.db")
    try scene.snapshot("--user", "ann", to: seed.path)
    let longest = try await microseconds {
      let path = scene.folder.appendingPathComponent("whole.db")
      _ = try JotRun.run(path, scene.server.address, ["--seed", seed.path, "lists"])
    }
    var random = SeededRandom(seed: 7)
    var killed = (before: 0, after: 0)
    for round in 0..<20 {
      let path = scene.folder.appendingPathComponent("round-\(round).db")
      let run = try JotRun.start(path, scene.server.address, ["--seed", seed.path, "lists"])
      // Not a wait for anything: the moment of the kill is what is random.
      usleep(UInt32(random.next() % longest))
      _ = run.kill()
      let isThere = FileManager.default.fileExists(atPath: path.path)
      if isThere { killed.after += 1 } else { killed.before += 1 }
      let store = try Store(path: path.path, schema: scene.schema, seed: seed)
      #expect(store.seeding == (isThere ? .notNeeded : .used))
      #expect(try await store.read { try $0.rows("SELECT count(*) FROM items").rows } == [[.integer(8000)]])
      try Agreement.expectSound(SQLiteConnection(path: path.path, access: .readOnly))
    }
    print("seeding: killed \(killed.before) times before the seed was there, \(killed.after) after")
  }

  @Test(
    "leaves the old copy or the new one, with every unsent edit, until it is done (I2, I3, I6)",
    .timeLimit(.minutes(5)))
  func resetting() async throws {
    let (scene, phone, list) = try await scene(items: 8000)
    let tablet = try await scene.signIn("ann", on: "tablet")
    let longest = try await microseconds { try await tablet.engine.sync() }
    try await phone.store.write {
      try $0.execute("UPDATE items SET note = 'new' WHERE list_id = ?", [.text(list)])
    }
    try await phone.engine.sync()
    let path = URL(fileURLWithPath: tablet.path)
    var random = SeededRandom(seed: 11)
    var states = (old: 0, new: 0)
    for round in 0..<15 {
      try await tablet.store.resetAll()
      try await tablet.store.write {
        try $0.execute("UPDATE items SET note = ? WHERE title LIKE 'item 0.7 %'", [.text("mine \(round)")])
      }
      let run = try JotRun.start(path, scene.server.address, ["sync"])
      // Not a wait for anything: the moment of the kill is what is random.
      usleep(UInt32(random.next() % (longest * 3 / 2)))
      _ = run.kill()
      let rows = try await tablet.store.read {
        try $0.rows(
          "SELECT count(*), sum(note IS 'new'), sum(note IS ?) FROM items", [.text("mine \(round)")]
        ).rows[0]
      }
      #expect(rows[0] == .integer(8000) && rows[2] == .integer(1))
      #expect(rows[1] == .integer(0) || rows[1] == .integer(7999))
      if rows[1] == .integer(0) { states.old += 1 } else { states.new += 1 }
    }
    print("resetting: killed \(states.old) times with the old copy, \(states.new) with the new one")
    try await tablet.engine.sync()
    try await phone.engine.sync()
    #expect(try tablet.contents(scene.schema) == phone.contents(scene.schema))
    let mine = try await phone.store.read { try $0.rows("SELECT note FROM items WHERE note <> 'new'").rows }
    #expect(mine == [[.text("mine 14")]])
    #expect(try await tablet.store.check().isSound)
  }

  /// How long something takes, so that kills come at all moments of it.
  private func microseconds(_ body: () async throws -> Void) async throws -> UInt64 {
    let start = ContinuousClock.now
    try await body()
    return UInt64((ContinuousClock.now - start) / .microseconds(1)) + 1
  }
}
