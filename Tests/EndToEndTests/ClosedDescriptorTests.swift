import Foundation
import HoldfastSQLite
import TemporaryPostgres
import Testing

@Suite("A program that is started without standard descriptors")
struct ClosedDescriptorTests {
  /// Starts a program of the build with all three closed.
  private static func start(_ name: String, _ words: [String]) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "exec \"$0\" \"$@\" <&- >&- 2>&-", Programs.path(name).path] + words
    try process.run()
    return process
  }

  @Test("writes its messages into no file that it has opened (I2)")
  func jot() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("app.db").path
    for words in [["new", "Home"], ["lists"]] {
      try Self.start("jot", words + ["--db", file]).waitUntilExit()
    }
    #expect(try SQLiteConnection(path: file).value("SELECT title FROM lists")?.text == "Home")
    #expect(try SQLiteConnection(path: file).value("PRAGMA integrity_check")?.text == "ok")
  }

  @Test("a server does so, too, and leaves its lock file empty (I2)")
  func serve() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let data = folder.appendingPathComponent("data").path
    let schema = folder.appendingPathComponent("schema.json")
    let text =
      #"{"holdfast":1,"name":"test","tables":{"lists":{"zone":"root","columns":{"title":{"type":"text"}}}}}"#
    try Data(text.utf8).write(to: schema)
    let server = try Self.start(
      "holdfast", ["serve", "--schema", schema.path, "--data", data, "--listen", "127.0.0.1:0"])
    try blockUntil {
      try #require(server.isRunning)
      return FileManager.default.fileExists(atPath: data + "/holdfast.db")
    }
    // It hears that when it has begun, and says both.
    server.terminate()
    server.waitUntilExit()
    #expect(server.terminationStatus == 0)
    let lock = try Data(contentsOf: URL(fileURLWithPath: data + "/holdfast.lock"))
    #expect(lock.isEmpty)
    #expect(try SQLiteConnection(path: data + "/holdfast.db").value("PRAGMA integrity_check")?.text == "ok")
  }
}
