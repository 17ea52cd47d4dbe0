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
    let count = 16000
    let list = try await phone.store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Everything')", [.text(id)])
      return id
    }
    for batch in 0..<(count / 4000) {
      try await phone.store.write { db in
        for number in 0..<4000 {
          let title = "item \(batch).\(number) " + String(repeating: "x", count: 450)
          try db.insert(
            Row(
              id: db.newID(), list_id: list, title: title, position: try db.position(after: nil, before: nil))
          )
        }
      }
    }
    try await phone.engine.sync()

    let path = scene.folder.appendingPathComponent("tablet.db")
    _ = try await scene.signIn("ann", on: "tablet")
    let run = try JotRun.start(path, scene.server.address, ["sync"])
    run.waitForError("downloading")
    #expect(run.kill().status == SIGKILL)
    let connection = try Connection(path: path.path)
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
