import Foundation
import Testing

@testable import Holdfast

@Suite("A newer schema on an older database")
struct SchemaChangeTests {
  private func schema(_ columns: [Column], and tables: [Table] = []) throws -> Schema {
    try Schema(
      name: "test",
      tables: [Table("lists", zone: .root, columns: [Column("title", .text)] + columns)] + tables)
  }

  @Test(
    "gets the new columns and tables, and keeps records and unsent edits, also those of a foreign writer (I3)"
  )
  func additions() async throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent(
      "holdfast-\(UUID().uuidString).db"
    ).path
    defer {
      for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
    }
    _ = try Store(path: path, schema: try schema([]))
    try Connection(path: path).execute("INSERT INTO lists (title) VALUES ('from the shell')")
    let newer = try schema(
      [
        Column("color", .text, default: .text("red")),
        Column("note_id", .reference, reference: Reference(to: "notes")),
      ],
      and: [Table("notes", zone: .user, columns: [Column("text", .text)])])
    let store = try Store(path: path, schema: newer)
    #expect(try await store.waitingOperations() == 1)
    let rows = try await store.read { try $0.rows("SELECT title, color FROM lists").rows }
    #expect(rows == [[.text("from the shell"), .text("red")]])
    try await store.write { try $0.execute("UPDATE lists SET color = 'blue'") }
    #expect(try await store.waitingOperations() == 2)
  }

  @Test("is refused where it is no addition, and the database stays as it was")
  func refused() async throws {
    let fixture = try Fixture()
    let error = #expect(throws: StoreError.self) { try Store(path: fixture.path, schema: try schema([])) }
    #expect(error?.code == .schemaCannotChange)
    #expect(error?.description.contains("tables.items") == true)
    #expect(try await fixture.value("SELECT count(*) FROM items") == .integer(0))
  }
}
