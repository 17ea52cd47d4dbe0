import Foundation
import HoldfastSQLite
import Testing

@testable import Holdfast

@Suite("A device's file, or its log, that goes while a store has it open")
struct ReplacedFileTests {
  private static func remove(_ suffixes: [String], of fixture: Fixture) throws {
    for suffix in suffixes { try FileManager.default.removeItem(atPath: fixture.path + suffix) }
  }

  private static func titles(_ path: String) throws -> [String?] {
    try SQLiteConnection(path: path).rows("SELECT title FROM lists ORDER BY title").map { $0[0].text }
  }

  private static func add(_ title: String, to fixture: Fixture) async throws {
    try await fixture.store.write { try $0.execute("INSERT INTO lists (title) VALUES (?)", [.text(title)]) }
  }

  private static func expectRefusal(_ fixture: Fixture) async {
    let write = await #expect(throws: StoreError.self) { try await add("after", to: fixture) }
    #expect(write?.code == .fileReplaced)
    let read = await #expect(throws: StoreError.self) {
      try await fixture.store.read { try $0.fetch(String.self, "SELECT title FROM lists") }
    }
    #expect(read?.code == .fileReplaced)
  }

  @Test(
    "no write returns once the log is deleted, and what had returned before is in the file (I2)",
    arguments: [["-wal"], ["-wal", "-shm"]])
  func logDeleted(_ suffixes: [String]) async throws {
    let fixture = try Fixture()
    try await Self.add("before", to: fixture)
    try Self.remove(suffixes, of: fixture)
    await Self.expectRefusal(fixture)
    // As a process that is killed leaves it: nothing but the file.
    let copy = fixture.path + "-copy"
    try FileManager.default.copyItem(atPath: fixture.path, toPath: copy)
    defer { try? FileManager.default.removeItem(atPath: copy) }
    #expect(try Self.titles(copy) == ["before"])
    await fixture.store.close()
    let again = try Store(path: fixture.path, schema: try #require(Fixture.schema))
    #expect(try await again.read { try $0.fetch(String.self, "SELECT title FROM lists") } == ["before"])
  }

  @Test(
    "what another program writes after it has made the log anew is not overwritten when the store is closed (I2)",
    arguments: [true, false])
  func logReplaced(isNoticed: Bool) async throws {
    let program = try #require(ForeignProgram.here.first { $0 != .strict })
    let fixture = try Fixture()
    try await Self.add("before", to: fixture)
    try await fixture.store.writer.perform { try $0.connection.checkpoint() }
    try await Self.add("in the old log", to: fixture)
    try Self.remove(["-wal", "-shm"], of: fixture)
    try program.run("INSERT INTO lists (title) VALUES ('theirs')", on: fixture.path)
    if isNoticed { await Self.expectRefusal(fixture) }
    await fixture.store.close()
    #expect(try Self.titles(fixture.path).contains("theirs"))
    #expect(try SQLiteConnection(path: fixture.path).value("PRAGMA integrity_check") == .text("ok"))
  }

  @Test("no write returns once another file is in the place of the store's (I2)")
  func fileReplaced() async throws {
    let fixture = try Fixture()
    try await Self.add("before", to: fixture)
    let older = fixture.path + "-older"
    try SQLiteConnection(path: fixture.path).execute("VACUUM INTO '\(older)'")
    #expect(rename(older, fixture.path) == 0)
    await Self.expectRefusal(fixture)
    await fixture.store.close()
    #expect(try Self.titles(fixture.path) == ["before"])
  }
}
