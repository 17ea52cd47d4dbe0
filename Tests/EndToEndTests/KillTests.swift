import Foundation
import Holdfast
import Testing

/// Real processes, real files, real SIGKILLs. `HOLDFAST_KILLS` says how many syncs are run; 40 unless set.
@Suite("SIGKILL at random moments")
struct KillTests {
  /// What must be on the server in the end, as the edits were made.
  private struct Expected {
    var titles: [String: String] = [:]
    var revs: [String: Int64] = [:]
  }

  @Test(
    "of a device or of the server leaves no operation lost or doubled (I1, I2, I3, I6)",
    .timeLimit(.minutes(30)))
  func kills() async throws {
    let count = ProcessInfo.processInfo.environment["HOLDFAST_KILLS"].flatMap { Int($0) } ?? 40
    let seed = UInt64.random(in: 0..<1_000_000)
    print("kills: seed \(seed), \(count) syncs")
    var random = SeededRandom(seed: seed)
    let scene = try Scene(schema: Scene.jotSchema())
    let (server, schema) = (scene.server, scene.schema)
    let devices = try ["phone", "laptop", "tablet"].map { try scene.device($0) }
    for (number, device) in devices.enumerated() {
      let result = try JotRun.run(
        URL(fileURLWithPath: device.path), server.address, [number == 0 ? "sign-up" : "sign-in", "ann"])
      try #require(result.status == 0, "\(result.errors)")
    }
    let list = try await devices[0].store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Things we need')", [.text(id)])
      return id
    }
    for device in devices {
      let file = URL(fileURLWithPath: device.path)
      try #require(try JotRun.runUntilServed(file, server.address).status == 0)
    }

    var expected = Expected()
    var own = [[String]](repeating: [], count: devices.count)
    var killed = (devices: 0, servers: 0)
    for round in 0..<count {
      let which = Int(random.next() % UInt64(devices.count))
      for number in 0..<(1 + Int(random.next() % 30)) {
        try await edit(devices[which], list, &own[which], &expected, "\(round).\(number)", &random)
      }
      let victim = random.next() % 3
      let run = try JotRun.start(URL(fileURLWithPath: devices[which].path), server.address, ["sync"])
      // Not a wait for anything: the moment of the kill is what is random.
      usleep(UInt32(random.next() % 60000))
      if victim == 0 {
        if run.kill().status == SIGKILL { killed.devices += 1 }
      } else if victim == 1 {
        server.kill()
        killed.servers += 1
        _ = run.wait()
        try server.start()
      } else {
        var result = run.wait()
        if result.status == 69 {
          let file = URL(fileURLWithPath: devices[which].path)
          result = try JotRun.runUntilServed(file, server.address)
        }
        #expect(result.status == 0, "\(result.errors)")
      }
    }
    print(
      "kills: \(killed.devices) of devices, \(killed.servers) of the server; \(expected.titles.count) items")

    for _ in 0..<2 {
      for device in devices {
        let file = URL(fileURLWithPath: device.path)
        let result = try JotRun.runUntilServed(file, server.address)
        #expect(result.status == 0, "\(result.errors)")
      }
    }
    let database = try server.database()
    try database.expectSound()
    let truth = try database.contents(schema)
    let rows = try database.rows("SELECT id, title, rev FROM items")
    #expect(
      Dictionary(uniqueKeysWithValues: rows.map { ($0[0].text ?? "", $0[1].text ?? "") }) == expected.titles)
    #expect(
      Dictionary(uniqueKeysWithValues: rows.map { ($0[0].text ?? "", $0[2].integer ?? 0) }) == expected.revs)
    #expect(try database.value("SELECT count(*) FROM conflicts")?.integer == 0)
    for device in devices {
      #expect(try device.contents(schema) == truth)
      #expect(try await device.store.quarantined().isEmpty)
    }
    #expect(server.stop() == 0)
  }

  /// Adds, renames or deletes one of the device's own items, so that what must come out is known.
  private func edit(
    _ device: Device, _ list: String, _ own: inout [String], _ expected: inout Expected, _ name: String,
    _ random: inout SeededRandom
  ) async throws {
    let kind = random.next() % 10
    if kind < 6 || own.isEmpty {
      let id = try await device.store.write { db in
        let row = Row(
          id: db.newID(), list_id: list, title: "item \(name)",
          position: try db.position(after: nil, before: nil))
        try db.insert(row)
        return row.id
      }
      own.append(id)
      expected.titles[id] = "item \(name)"
      expected.revs[id] = 1
      return
    }
    let index = Int(random.next() % UInt64(own.count))
    let id = own[index]
    if kind < 9 {
      try await device.store.write { try $0.update(Row.self, id: id) { $0.title = "renamed \(name)" } }
      expected.titles[id] = "renamed \(name)"
      expected.revs[id, default: 0] += 1
    } else {
      try await device.store.write { try $0.delete(Row.self, id: id) }
      own.remove(at: index)
      expected.titles[id] = nil
      expected.revs[id] = nil
    }
  }
}
