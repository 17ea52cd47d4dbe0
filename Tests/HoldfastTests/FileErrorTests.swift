import Foundation
import HoldfastSQLite
import Testing

@testable import Holdfast

@Suite("Errors of a device's file in words that say what to do")
struct FileErrorTests {
  @Test("a file that was made for UTF-16 is refused when it is opened")
  func encoding() async throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("utf16-\(UUID().uuidString).db")
      .path
    defer {
      for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }
    try SQLiteConnection(path: path).execute(
      "PRAGMA encoding = 'UTF-16le'; CREATE TABLE other (x); DROP TABLE other")
    let error = #expect(throws: StoreError.self) {
      _ = try Store(path: path, schema: try #require(Fixture.schema))
    }
    #expect(error?.code == .notAHoldfastDatabase)
    #expect(error?.description.contains("UTF-16le") == true)
  }

  @Test("who holds the file for writing is a reason of its own, and nothing is lost by it")
  func busy() async throws {
    let fixture = try Fixture()
    try await fixture.store.writer.perform { $0.busyTimeout = .milliseconds(1) }
    let other = try SQLiteConnection(path: fixture.path)
    try other.execute("BEGIN IMMEDIATE")
    let error = await #expect(throws: StoreError.self) { try await fixture.store.write { _ in } }
    #expect(error?.code == .busy)
    try other.execute("ROLLBACK")
    try await fixture.store.write { _ in }
  }

  @Test("what must not wait for another program's transaction has not begun, and is told so (I6)")
  func hurry() async throws {
    let fixture = try Fixture()
    let other = try SQLiteConnection(path: fixture.path)
    func begins() async throws -> Bool {
      try await fixture.store.writer.perform { local in
        try local.withoutWaiting { try local.transaction(.immediate) {} } != nil
      }
    }
    try other.execute("BEGIN IMMEDIATE")
    #expect(try await !begins())
    try other.execute("ROLLBACK")
    #expect(try await begins())
  }

  @Test("a refusal of Holdfast's own triggers says why, also where an error shows no values")
  func refusal() async throws {
    let fixture = try Fixture()
    let error = await #expect(throws: SQLiteError.self) {
      try await fixture.store.write { try $0.execute("INSERT INTO lists (id, title) VALUES ('é', 'x')") }
    }
    #expect(error?.description.contains("holdfast: an id is a text of 1 to 64") == true)
  }
}
