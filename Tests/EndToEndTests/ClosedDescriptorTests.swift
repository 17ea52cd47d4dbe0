import Foundation
import HoldfastSQLite
import Testing

@Suite("A program that is started without standard descriptors")
struct ClosedDescriptorTests {
  /// Runs a program of the build with all three closed.
  private static func run(_ name: String, _ words: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "exec \"$0\" \"$@\" <&- >&- 2>&-", Programs.path(name).path] + words
    try process.run()
    process.waitUntilExit()
  }

  @Test("writes its messages into no file that it has opened (I2)")
  func jot() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("app.db").path
    try Self.run("jot", ["new", "Home", "--db", file])
    try Self.run("jot", ["lists", "--db", file])
    #expect(try SQLiteConnection(path: file).value("SELECT title FROM lists")?.text == "Home")
    #expect(try SQLiteConnection(path: file).value("PRAGMA integrity_check")?.text == "ok")
  }

  @Test("a server that finds no place to listen says so to nobody, and leaves its lock file empty (I2)")
  func serve() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let data = folder.appendingPathComponent("data").path
    let schema = folder.appendingPathComponent("schema.json")
    let text =
      #"{"holdfast":1,"name":"test","tables":{"lists":{"zone":"root","columns":{"title":{"type":"text"}}}}}"#
    try Data(text.utf8).write(to: schema)
    try Self.run("holdfast", ["serve", "--schema", schema.path, "--data", data, "--listen", "203.0.113.1:1"])
    let lock = try Data(contentsOf: URL(fileURLWithPath: data + "/holdfast.lock"))
    #expect(lock.isEmpty)
    #expect(try SQLiteConnection(path: data + "/holdfast.db").value("PRAGMA integrity_check")?.text == "ok")
  }
}
