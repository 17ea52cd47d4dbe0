import Foundation
import Holdfast
import Testing

@Suite("Two server processes and one database file")
struct ServedFileProcessTests {
  @Test("a second process is refused by any path, and starts when the first was killed (I2)")
  func otherPath() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let (data, other) = (folder.appendingPathComponent("data"), folder.appendingPathComponent("other"))
    let server = try ServerProcess(folder: folder, schema: Scene.schema(), .directory(data))
    try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
    let file = other.appendingPathComponent("holdfast.db")
    try FileManager.default.linkItem(at: data.appendingPathComponent("holdfast.db"), to: file)
    let words = ["serve", "--data", other.path, "--listen", "127.0.0.1:0"]
    let refused = try Programs.run("holdfast", words)
    #expect(refused.status == 1)
    #expect(refused.errors.contains("Another server is using the file \(file.path), by another path."))
    #expect(try Programs.run("holdfast", ["users", "--data", data.path]).status == 0)
    server.kill()
    let linked = try Programs.run("holdfast", words)
    #expect(linked.status == 1)
    #expect(linked.errors.contains("has 2 names"))
    try FileManager.default.removeItem(at: file)
    try server.start()
    #expect(server.stop() == 0)
  }
}
