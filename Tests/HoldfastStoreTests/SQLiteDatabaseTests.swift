import Foundation
import HoldfastCore
import HoldfastSQLite
import HoldfastServer
import ServerScenes
import Testing

/// Opening a data directory: what is ours, what is refused without a trace.
@Suite struct SQLiteDatabaseTests {
  @Test("a database of another program is refused and not written to")
  func notOurs() throws {
    let server = try TestServer()
    server.inline = nil
    try FileManager.default.removeItem(atPath: server.database)
    try SQLiteConnection(path: server.database).execute("CREATE TABLE theirs (x)")
    let before = try Data(contentsOf: URL(fileURLWithPath: server.database))
    #expect(code { try server.reopen(TestServer.schema()) } == .notOurs)
    #expect(try Data(contentsOf: URL(fileURLWithPath: server.database)) == before)
    try Data("no database at all, only some text that is long enough".utf8).write(
      to: URL(fileURLWithPath: server.database))
    #expect(code { try server.reopen(TestServer.schema()) } == .notOurs)
  }

  @Test("a database of a newer version is refused")
  func newer() throws {
    let server = try TestServer()
    server.inline = nil
    try SQLiteConnection(path: server.database).execute("PRAGMA user_version = 99")
    #expect(code { try server.reopen(TestServer.schema()) } == .newer)
  }

  @Test("a damaged database, or one that can't be read, is refused with its path")
  func unusable() throws {
    let server = try TestServer()
    server.inline = nil
    let file = URL(fileURLWithPath: server.database)
    try Data(contentsOf: file).prefix(20000).write(to: file)
    #expect(code { try server.reopen() } == .damaged)
    try FileManager.default.removeItem(at: file)
    try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
    #expect(code { try server.reopen() } == .unreachable)
  }

  @Test("a restore that can't move the database of before aside counts for nothing (I2)")
  func restoreRefused() throws {
    let server = try TestServer()
    let alice = try server.signUp("alice")
    let backup = try server.backUp()
    let list = try alice.makeList()
    server.inline = nil
    let folder = (server.database as NSString).deletingLastPathComponent
    try Data().write(to: URL(fileURLWithPath: folder + "/replaced-1"))
    #expect(throws: ServerError.self) {
      try Restore(server.location, environment: server.world.environment).run(backup, replacing: true)
    }
    #expect(!FileManager.default.fileExists(atPath: server.database + ".whole"))
    try server.reopen()
    try alice.pull()
    #expect(alice.has("lists", list))
  }

  @Test(
    "a restored file keeps a write-ahead log: its first opening changes no mode that a kill could cut in two (I2)"
  )
  func restoredMode() throws {
    let restored = try TestServer().restored()
    restored.inline = nil
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "holdfast-mode-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let location = try Engine.used.makeLocation(in: folder)
    _ = try Restore(location, environment: restored.world.environment).run(restored.backUp())
    let header = try Data(contentsOf: folder.appendingPathComponent("holdfast.db")).prefix(20)
    // The versions of the format to write and to read: 2 is that of a write-ahead log.
    #expect(Array(header.suffix(2)) == [2, 2])
  }

  @Test("a second server on the same directory is refused")
  func locked() throws {
    let server = try TestServer()
    #expect(
      code {
        _ = try InlineServer(server.location, schema: nil, environment: server.world.environment)
      } == .inUse)
  }

  private func code(_ body: () throws -> Void) -> ServerError.Code? {
    do { try body() } catch let error as ServerError { return error.code } catch { Issue.record(error) }
    return nil
  }
}
