import Foundation
import Holdfast
import HoldfastServer
import TemporaryPostgres
import Testing

/// Users who are erased, over real HTTP and by the command. Invariants I2, I7 and I10.
@Suite("Erasure end to end")
struct ErasureTests {
  /// Runs `holdfast` on the scene's database.
  private func holdfast(_ arguments: [String], _ scene: Scene) throws -> Process {
    let process = Process()
    process.executableURL = Programs.path("holdfast")
    process.arguments = arguments + scene.server.shared.options
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    return process
  }

  private func write(_ title: String, on device: Device) async throws -> String {
    try await device.store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, ?)", [.text(id), .text(title)])
      return id
    }
  }

  private func count(_ table: String, on device: Device) async throws -> Int64? {
    try await device.store.read {
      try $0.rows("SELECT count(*) FROM \(identifier: table)").rows[0][0].integer
    }
  }

  @Test(
    "a device erases its account: a wrong password changes nothing, and the others go on (I7, I10)",
    .timeLimit(.minutes(5)))
  func device() async throws {
    let scene = try Scene()
    let (ann, bob) = (
      try await scene.signUp("ann", on: "phone"), try await scene.signUp("bob", on: "tablet")
    )
    let list = try await write("Shared", on: ann)
    try await ann.engine.sync()
    let invitation = try await ann.engine.invite(to: list, role: .editor)
    _ = try await bob.engine.accept(invitation: invitation.token)
    try await bob.engine.sync()
    let laptop = try await scene.signIn("ann", on: "laptop")
    let wrong = await #expect(throws: Problem.self) {
      try await ann.engine.eraseAccount(password: "wrong-horse")
    }
    #expect(wrong?.code == .credentialsWrong)
    try await ann.engine.sync()
    try await ann.engine.eraseAccount(password: "correct-horse")
    #expect(try await ann.store.account() == nil)
    #expect(try await count("lists", on: ann) == 0)
    await #expect(throws: StoreError.self) { try await laptop.engine.sync() }
    // The server begins at once; no pass is due for a minute.
    let administration = try Administration(scene.server.shared.location)
    try await waitUntil { try administration.users().rows.contains { $0[1] == "(erased)" } }
    try await bob.engine.sync()
    let roles = try await bob.store.read {
      try $0.rows("SELECT name, role FROM members WHERE zone = ?", [.text(list)])
    }
    #expect(roles.rows == [[.text("bob"), .text("owner")]])
    _ = try await write("Later", on: bob)
    try await bob.engine.sync()
    // The device is free for somebody else.
    try await ann.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    try await ann.engine.sync()
    #expect(try await count("lists", on: ann) == 0)
  }

  @Test(
    "an erasure whose command and whose server are killed in the middle goes on (I2)",
    .timeLimit(.minutes(10)))
  func killed() async throws {
    let seed = UInt64.random(in: 0..<1_000_000)
    print("erasure: seed \(seed)")
    var random = SeededRandom(seed: seed)
    let scene = try Scene()
    let bob = try await scene.signUp("bob", on: "tablet")
    var midway = 0
    for round in 0..<6 {
      let name = "ann-\(round)"
      let ann = try await scene.signUp(name, on: name)
      let (own, shared) = (try await write("Own", on: ann), try await write("Shared", on: ann))
      try await ann.store.write { db in
        let position = try db.position(after: nil, before: nil)
        for number in 0..<2000 {
          let list = number % 10 == 0 ? shared : own
          try db.execute(
            "INSERT INTO items (id, list_id, title, position) VALUES (?, ?, 'x', ?)",
            [.text(db.newID()), .text(list), .text(position)])
        }
      }
      try await ann.engine.sync()
      let invitation = try await ann.engine.invite(to: shared, role: .viewer)
      _ = try await bob.engine.accept(invitation: invitation.token)
      let erasure = try holdfast(["users", "erase", name, "--yes"], scene)
      // Not a wait for anything: the moment of the kill is what is random.
      usleep(UInt32(100_000 + random.next() % 400_000))
      kill(erasure.processIdentifier, SIGKILL)
      erasure.waitUntilExit()
      scene.server.kill()
      let administration = try Administration(scene.server.shared.location)
      let state = try administration.users().rows.first { $0[1] == name || $0[1] == "(being erased)" }?[1]
      if state == "(being erased)" { midway += 1 }
      try scene.server.start()
      let arguments = state == name ? ["users", "erase", name, "--yes"] : ["purge"]
      let rest = try holdfast(arguments, scene)
      rest.waitUntilExit()
      #expect(rest.terminationStatus == 0)
      #expect(
        try administration.users().rows.allSatisfy { [name, "(being erased)"].contains($0[1]) == false })
      #expect(try administration.zones().rows.first { $0[0] == own }?[4...5] == ["0", "0"])
      #expect(try administration.zones().rows.first { $0[0] == shared }?[4...5] == ["1", "201"])
      #expect(try administration.doctor().isEmpty)
    }
    print("erasure: \(midway) of 6 were killed midway")
    try await bob.engine.sync()
    #expect(try await count("items", on: bob) == 1200)
  }
}
