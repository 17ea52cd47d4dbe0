import Foundation
import Holdfast
import HoldfastPostgres
import HoldfastServer
import Testing

@Suite("A server restored from a backup, end to end")
struct RestoreTests {
  /// The server is lost with its database, and restored from a backup.
  private func loseAndRestore(_ scene: Scene, _ backup: String) throws {
    scene.server.kill()
    switch scene.server.shared {
    case .directory(let folder): try FileManager.default.removeItem(at: folder)
    case .postgres:
      try scene.server.shared.connection().execute(
        "DROP SCHEMA holdfast CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    }
    _ = try Restore(scene.server.shared.location).run(backup)
    try scene.server.start()
  }

  private func settle(_ devices: [Device]) async throws {
    for _ in 0..<4 { for device in devices { _ = try await device.engine.sync() } }
  }

  @Test("a day's creates, edits and deletions of three devices come back from them (I2, I3, I7, I8)")
  func lostDay() async throws {
    let scene = try Scene()
    let phone = try await scene.signUp("anna", on: "phone")
    let laptop = try await scene.signIn("anna", on: "laptop")
    let tablet = try await scene.signUp("bert", on: "tablet")
    let list = try await phone.makeList("Groceries")
    var items: [String] = []
    for number in 1...30 {
      items.append(try await phone.insert(list, "Item \(number)"))
    }
    try await phone.store.write {
      try $0.execute("INSERT INTO members (zone, name, role) VALUES (?, 'bert', 'editor')", [.text(list)])
    }
    try await phone.engine.sync()
    try await tablet.acceptAll()
    try await settle([phone, laptop, tablet])

    let backup = scene.folder.appendingPathComponent("yesterday").path
    _ = try Backup(scene.server.shared.location).write(to: backup)
    // The day: all of it reaches the server.
    for index in 0..<5 { try await phone.rename(items[index], "Edited \(index)") }
    for index in 5..<10 { try await laptop.remove(items[index]) }
    for number in 1...20 { _ = try await tablet.insert(list, "New \(number)") }
    let own = try await laptop.makeList("Made today")
    _ = try await laptop.insert(own, "In it")
    try await settle([phone, laptop, tablet])
    let before = try phone.contents(scene.schema)
    // Not sent any more.
    try await phone.rename(items[0], "Unsent")
    _ = try await tablet.insert(list, "Unsent")

    try loseAndRestore(scene, backup)
    try await settle([phone, laptop, tablet])
    #expect(try await phone.store.quarantined().isEmpty)
    #expect(try await laptop.store.quarantined().isEmpty)
    #expect(try await tablet.store.quarantined().isEmpty)
    let server = try scene.server.database()
    try server.expectSound()
    func titles(_ rows: [[SQLiteValue]]) -> Set<String> {
      Set(rows.flatMap { $0 }.compactMap { if case .text(let text) = $0 { text } else { nil } })
    }
    let after = titles(try server.rows("SELECT title FROM items"))
    var expected = titles(before["items"] ?? []).filter { $0.contains(" ") || $0 == "Unsent" }
    expected.remove("Edited 0")
    expected.insert("Unsent")
    #expect(after == expected)
    // 30 of before, 5 of them removed, 20 new ones, the one of the new list, and the one that was not sent.
    #expect(try server.value("SELECT count(*) FROM items") == .integer(47))
    #expect(try server.value("SELECT count(*) FROM lists") == .integer(2))
    let contents = try server.contents(scene.schema)
    #expect(try phone.contents(scene.schema) == contents)
    #expect(try laptop.contents(scene.schema) == contents)
  }

  @Test(
    "the records of an account that the backup lacks go on in another file, with what was not sent (I2, I3)")
  func lostAccount() async throws {
    let scene = try Scene()
    let phone = try await scene.signUp("anna", on: "phone")
    let list = try await phone.makeList("Anna's")
    try await phone.engine.sync()
    let backup = scene.folder.appendingPathComponent("yesterday").path
    _ = try Backup(scene.server.shared.location).write(to: backup)
    let old = try await scene.signUp("cy", on: "old")
    let own = try await old.makeList("Cy's")
    let item = try await old.insert(own, "Sent")
    let share = { (role: String) in
      try await phone.store.write {
        try $0.execute(
          "INSERT INTO members (zone, name, role) VALUES (?, 'cy', ?)", [.text(list), .text(role)])
      }
      try await phone.engine.sync()
    }
    try await old.engine.sync()
    try await share("editor")
    try await old.acceptAll()
    _ = try await old.insert(own, "Unsent")
    _ = try await old.insert(list, "Unsent, Anna's")

    try loseAndRestore(scene, backup)
    for attempt in ["sync", "sign up"] {
      let error = await #expect(throws: StoreError.self) {
        if attempt == "sync" {
          try await old.engine.sync()
        } else {
          try await old.engine.signUp(name: "cy", password: "correct-horse", device: "old")
        }
      }
      #expect(error?.code == (attempt == "sync" ? .signedOut : .otherUser))
    }
    // Nothing was asked of the server: the name is free.
    let new = try await scene.signUp("cy", on: "new")
    let report = try await new.store.importRecords(from: old.path, namespace: "cy")
    #expect(report.created == 3 && report.problems.count == 2 && report.ignored.isEmpty)
    try await new.engine.sync()
    #expect(try await new.store.quarantined().isEmpty)
    #expect(try await new.store.read { try $0.find(Row.self, id: item) }?.list_id == own)

    // What was written into a list of somebody else comes when it is shared again.
    try await phone.engine.sync()
    try await share("editor")
    try await new.acceptAll()
    let rest = try await new.store.importRecords(from: old.path, namespace: "cy")
    #expect(rest.created == 1 && rest.kept == 4 && rest.problems.isEmpty)
    try await new.engine.sync()
    #expect(try await new.store.quarantined().isEmpty)
    let titles = try scene.server.database().rows("SELECT title FROM items ORDER BY title")
    #expect(titles == [["Sent"], ["Unsent"], ["Unsent, Anna's"]])
  }
}

extension Device {
  fileprivate func insert(_ list: String, _ title: String) async throws -> String {
    let id = UUID().uuidString.lowercased()
    try await store.write {
      try $0.insert([Row(id: id, list_id: list, title: title, position: "")], at: .last)
    }
    return id
  }

  fileprivate func makeList(_ title: String) async throws -> String {
    let id = UUID().uuidString.lowercased()
    try await store.write {
      try $0.execute("INSERT INTO lists (id, title) VALUES (?, ?)", [.text(id), .text(title)])
    }
    return id
  }

  fileprivate func rename(_ id: String, _ title: String) async throws {
    try await store.write {
      try $0.execute("UPDATE items SET title = ? WHERE id = ?", [.text(title), .text(id)])
    }
  }

  fileprivate func remove(_ id: String) async throws {
    try await store.write { try $0.execute("DELETE FROM items WHERE id = ?", [.text(id)]) }
  }
}
