import Foundation
import Holdfast
import Testing

@Suite("A large first download")
struct DownloadTests {
  @Test(
    "killed in the middle it shows nothing half, and goes on where it was (I2, I4, I6)",
    .timeLimit(.minutes(5)))
  func killed() async throws {
    let scene = try Scene(schema: Scene.jotSchema())
    let phone = try await scene.signUp("ann", on: "phone")
    // Few enough to come in pages, and long enough for several.
    let count = 4800
    let list = try await phone.store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Everything')", [.text(id)])
      return id
    }
    for batch in 0..<(count / 1200) {
      try await phone.store.write { db in
        for number in 0..<1200 {
          let position = try db.position(after: nil, before: nil)
          let id = db.newID()
          try db.insert(Row(id: id, list_id: list, title: "item \(batch).\(number)", position: position))
          let note = String(repeating: "x", count: 2500)
          try db.execute("UPDATE items SET note = ? WHERE id = ?", [.text(note), .text(id)])
        }
      }
    }
    try await phone.engine.sync()

    let path = scene.folder.appendingPathComponent("tablet.db")
    _ = try await scene.signIn("ann", on: "tablet")
    let run = try JotRun.start(path, scene.server.address, ["sync"])
    run.waitForError("downloading")
    #expect(run.kill().status == SIGKILL)
    let connection = try SQLiteConnection(path: path.path)
    #expect(try connection.value("SELECT count(*) FROM items")?.integer == 0)
    let staged = try connection.value("SELECT count(*) FROM holdfast_pages")?.integer ?? 0
    #expect(staged > 0)

    let again = try scene.device("tablet")
    let summary = try await again.engine.sync()
    #expect(summary.received < count)
    #expect(try again.contents(scene.schema) == phone.contents(scene.schema))
    #expect(try FileManager.default.contentsOfDirectory(atPath: path.path + "-pages").isEmpty)
  }
}
