import Foundation
import Holdfast
import HoldfastServer
import Testing

/// Commands whose files find no room.
@Suite("Disks without room")
struct FullDiskTests {
  private let folder: URL

  init() throws { folder = try Programs.makeFolder() }

  private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  private func names(in name: String = ".") throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path(name)).sorted()
  }

  /// Runs `holdfast`.
  ///
  /// - Parameter kilobytes: no file grows beyond this size; a write then fails with the system's EFBIG.
  private func run(_ words: [String], limit kilobytes: Int? = nil) throws -> ProgramRun {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    let limit = kilobytes.map { "trap '' XFSZ; ulimit -f \($0 * 2); " } ?? ""
    process.arguments = ["-c", limit + "exec \"$0\" \"$@\"", Programs.path("holdfast").path] + words
    let (output, errors) = (Pipe(), Pipe())
    (process.standardOutput, process.standardError) = (output, errors)
    try process.run()
    return ProgramRun(of: process, output, errors)
  }

  /// Runs a command without room, which fails, and then with room.
  ///
  /// - Parameter file: the file that the error names.
  private func fail(_ words: [String], limit kilobytes: Int, file: String) throws {
    let before = try names()
    let run = try run(words, limit: kilobytes)
    #expect(run.status == 1)
    #expect(run.errors.contains("\(file) can't be written: "), "\(run.errors)")
    #expect(run.errors.contains("ree some space"), "\(run.errors)")
    #expect(try names() == before)
    let again = try self.run(words)
    #expect(again.status == 0, "\(again.errors)")
  }

  @Test("an example schema is written whole, or not at all")
  func example() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try fail(["init", path("holdfast.json")], limit: 0, file: path("holdfast.json"))
  }

  @Test("a backup and a restore name the file, and leave nothing that keeps the next ones from it")
  func backup() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let data = ["--data", path("data")]
    _ = try InlineServer(.directory(path("data")), schema: try Scene.schema(), environment: .system)
    try fail(["backup", path("a.backup")] + data, limit: 64, file: path("a.backup.copy"))
    try FileManager.default.createDirectory(atPath: path("kept"), withIntermediateDirectories: false)
    try fail(["backup", "--folder", path("kept")] + data, limit: 64, file: ".backup.copy")
    #expect(try names(in: "kept").count == 1)
    try FileManager.default.createDirectory(atPath: path("new"), withIntermediateDirectories: false)
    try fail(
      ["restore", path("a.backup"), "--data", path("new")], limit: 64,
      file: path("new/holdfast.db.partial"))
  }

  @Test("an export is there whole, or not at all", .timeLimit(.minutes(5)))
  func export() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let scene = try Scene()
    let ann = try await scene.signUp("ann", on: "phone")
    try await ann.store.write { db in
      for _ in 0..<400 {
        try db.execute(
          "INSERT INTO lists (id, title) VALUES (?, ?)",
          [.text(db.newID()), .text(String(repeating: "x", count: 190))])
      }
    }
    try await ann.engine.sync()
    #expect(scene.server.stop() == 0)
    let words = ["users", "export", "ann", path("out/")] + scene.server.shared.options
    try fail(words, limit: 64, file: "account.jsonl")
    #expect(try names(in: "out") == ["account.jsonl"])
    // One that is there is not written over.
    let again = try run(words)
    #expect(again.status == 1 && again.errors.contains("name another folder"), "\(again.errors)")
    #expect(try names() == ["out"])
  }
}
