import Foundation
import HoldfastSQLite
import Testing

@Suite("The end of a program that has a device's file open")
struct CleanExitTests {
  /// Runs jot on a file; gives its status.
  @discardableResult
  private static func jot(_ file: String, _ words: String...) throws -> Int32 {
    let process = try start(file, words)
    process.waitUntilExit()
    return process.terminationStatus
  }

  private static func start(_ file: String, _ words: [String], _ output: Pipe? = nil) throws -> Process {
    let process = Process()
    process.executableURL = Programs.path("jot")
    process.arguments = words + ["--db", file]
    process.standardOutput = output ?? FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  /// How many lists a copy of the file alone has.
  private static func listsInCopy(of file: String) throws -> Int64? {
    let copy = file + "-copy-\(UUID().uuidString)"
    try FileManager.default.copyItem(atPath: file, toPath: copy)
    return try SQLiteConnection(path: copy, access: .readOnly).value("SELECT count(*) FROM lists")?.integer
  }

  @Test("a copy of the file alone has all that was written, after success and failure (I2)")
  func ended() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("app.db").path
    #expect(try Self.jot(file, "new", "Home") == 0)
    #expect(try Self.listsInCopy(of: file) == 1)
    #expect(try Self.jot(file, "items", "No such list") != 0)
    #expect(try Self.jot(file, "sync", "--server", "http://127.0.0.1:1") != 0)
    #expect(try Self.listsInCopy(of: file) == 1)
    #expect(!FileManager.default.fileExists(atPath: file + "-wal"))
  }

  @Test("the same when a signal ends it", arguments: [SIGINT, SIGTERM])
  func signalled(_ number: Int32) throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("app.db").path
    try Self.jot(file, "new", "Home")
    let output = Pipe()
    let watch = try Self.start(file, ["watch", "Home"], output)
    // It has the file open by the time that it shows something.
    #expect(!output.fileHandleForReading.availableData.isEmpty)
    try Self.jot(file, "new", "Work")
    kill(watch.processIdentifier, number)
    watch.waitUntilExit()
    #expect(watch.terminationStatus == 0)
    #expect(try Self.listsInCopy(of: file) == 2)
    #expect(!FileManager.default.fileExists(atPath: file + "-wal"))
  }
}
