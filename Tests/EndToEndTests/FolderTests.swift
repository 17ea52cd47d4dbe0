import Foundation
import Holdfast
import TemporaryPostgres
import Testing

/// A device with two databases, each with a server process of its own.
@Suite("A folder with two servers")
struct FolderTests {
  private let home: Scene
  private let school: Scene
  private let folder: StoreFolder
  private let engine: FolderEngine

  init() async throws {
    (home, school) = (try Scene(), try Scene())
    folder = try StoreFolder(path: home.folder.appendingPathComponent("folder").path, schema: home.schema)
    try await folder.add("school", server: school.server.address)
    engine = FolderEngine(folder: folder, server: home.server.address)
    for name in ["home", "school"] {
      try await #require(engine.engine(of: name)).signUp(name: "ann", password: "correct-horse", device: name)
    }
  }

  private func store(_ name: String) throws -> Store { try #require(folder.store(of: name)) }

  private func addList(_ title: String, to name: String) async throws {
    try await store(name).write { db in
      try db.execute("INSERT INTO lists (id, title) VALUES (?, ?)", [.text(db.newID()), .text(title)])
    }
  }

  private func titles(on scene: Scene) throws -> [String] {
    try scene.server.database().rows("SELECT title FROM lists ORDER BY title").map { $0[0].text ?? "" }
  }

  @Test("syncs each file with its own server, and another device of both has all of it (I7, I10)")
  func both() async throws {
    try await addList("mine", to: "home")
    try await addList("ours", to: "school")
    #expect(try await engine.sync().failures.isEmpty)
    #expect(try titles(on: home) == ["mine"])
    #expect(try titles(on: school) == ["ours"])
    let laptop = try StoreFolder(path: home.folder.appendingPathComponent("laptop").path, schema: home.schema)
    try await laptop.add("school", server: school.server.address)
    let other = FolderEngine(folder: laptop, server: home.server.address)
    for name in ["home", "school"] {
      try await #require(other.engine(of: name)).signIn(
        name: "ann", password: "correct-horse", device: "laptop")
    }
    #expect(try await other.sync().received > 0)
    let all = try await laptop.read { try $0.fetch(String.self, "SELECT title FROM lists ORDER BY title") }
    #expect(all == ["mine", "ours"])
    await laptop.close()
    await folder.close()
  }

  @Test(
    "goes on with one when the other is silent, and then lost; what waited is sent when it is back (I3, I12)")
  func silent() async throws {
    school.server.pause()
    let running = Task { [engine] in await engine.run() }
    try await addList("ours", to: "school")
    for number in 1...3 {
      try await addList("mine \(number)", to: "home")
      try await waitUntil { try await store("home").waitingOperations() == 0 }
    }
    #expect(try await store("school").waitingOperations() == 1)
    school.server.kill()
    for await status in engine.statuses where status.offline == ["school"] {
      #expect(status.waiting == 1)
      break
    }
    try school.server.start()
    await engine.networkIsReachable()
    try await waitUntil {
      await engine.networkIsReachable()
      return try await store("school").waitingOperations() == 0
    }
    running.cancel()
    await running.value
    #expect(try titles(on: home) == ["mine 1", "mine 2", "mine 3"])
    #expect(try titles(on: school) == ["ours"])
    await folder.close()
  }

  @Test("a sign-out with removal leaves neither a session nor a record of either (I10)")
  func signOut() async throws {
    try await addList("mine", to: "home")
    try await addList("ours", to: "school")
    await #expect(throws: StoreError.self) { try await engine.signOut(removingData: true) }
    #expect(try await engine.sync().failures.isEmpty)
    try await engine.signOut(removingData: true)
    #expect(folder.databases.map(\.name) == ["home"])
    #expect(try await folder.read { try $0.fetch(String.self, "SELECT title FROM lists") } == [])
    for scene in [home, school] {
      let sessions = try scene.server.database().value(
        "SELECT count(*) FROM holdfast_devices WHERE token_hash IS NOT NULL")
      #expect(sessions == 0)
    }
    await folder.close()
  }
}
