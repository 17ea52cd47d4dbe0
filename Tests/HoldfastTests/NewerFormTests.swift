import Foundation
import HoldfastSQLite
import Testing

@testable import Holdfast

@Suite("A file that another process brings to a newer schema")
struct NewerFormTests {
  /// The schema with a column more.
  private static func larger(_ schema: SyncSchema, version: Int64 = 0) throws -> SyncSchema {
    try SyncSchema(
      name: schema.name,
      tables: schema.tables.filter { !$0.isBuiltIn }.map { table in
        var table = table
        if table.name == "lists" { table.columns.append(ColumnSchema("color", .text)) }
        return table
      }, version: version)
  }

  @Test("the process of before neither writes on it, nor reads, nor takes answers, and says why (I3, I4)")
  func refused() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange))
    let request = try #require(
      try await fixture.store.writer.perform {
        try RequestPreparation(database: $0).prepare(changeSetLimit: 500)
      })
    let newer = try Store(path: fixture.path, schema: try Self.larger(fixture.store.schema))
    try await newer.write { try $0.execute("UPDATE lists SET color = 'red'") }

    let write = await #expect(throws: StoreError.self) {
      try await fixture.store.write { try $0.insert(List(id: IDs.other, title: "Old")) }
    }
    #expect(write?.code == .databaseIsNewer)
    let read = await #expect(throws: StoreError.self) { try await fixture.value("SELECT 1") }
    #expect(read?.code == .databaseIsNewer)
    let body = Fixture.whole(
      "{\"clock\":\"0193aaaa00000000\",\"confirmed\":0,\"chain\":\"0000000000000000\",\"lost\":[\"\(IDs.list)\"]}"
    )
    let applied = await #expect(throws: StoreError.self) {
      try await fixture.store.writer.perform {
        _ = try AnswerApplying(
          database: $0, answer: try SyncAnswer(body: body), body: body, request: request
        ).run()
      }
    }
    #expect(applied?.code == .databaseIsNewer)
    let asked = await #expect(throws: StoreError.self) {
      try await fixture.store.writer.perform {
        _ = try RequestPreparation(database: $0).prepare(changeSetLimit: 500)
      }
    }
    #expect(asked?.code == .databaseIsNewer)

    #expect(try await newer.waitingOperations() == 1)
    let color = try await newer.read { try $0.rows("SELECT color FROM lists").rows.first?.first }
    #expect(color == .text("red"))
  }

  @Test("a form's version that another program has set back is put right at the next opening")
  func versionSetBack() async throws {
    let fixture = try Fixture()
    let shell = try SQLiteConnection(path: fixture.path)
    for version in [0, -1] {
      try shell.execute("PRAGMA user_version = \(version)")
      let store = try Store(path: fixture.path, schema: fixture.store.schema)
      // A form that is another than at the opening is looked at again.
      try shell.execute("CREATE TABLE other\(-version) (x)")
      try await store.write { try $0.insert(List(id: $0.newID(), title: "Home")) }
    }
  }

  @Test("what another process changes of the file, but for its schema, stops nobody")
  func unchanged() async throws {
    let fixture = try Fixture()
    let shell = try SQLiteConnection(path: fixture.path)
    try shell.execute("CREATE INDEX team_titles ON lists (title); ANALYZE; VACUUM")
    _ = try Store(path: fixture.path, schema: fixture.store.schema)
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    #expect(try await fixture.value("SELECT count(*) FROM lists") == .integer(1))
  }

  @Test("an app of an earlier version of the schema does not open the file, and takes no column from it (I3)")
  func olderApp() async throws {
    let fixture = try Fixture()
    let newer = try Store(path: fixture.path, schema: try Self.larger(fixture.store.schema, version: 2))
    try await newer.write { try $0.execute("INSERT INTO lists (title, color) VALUES ('Home', 'red')") }
    let error = #expect(throws: StoreError.self) {
      try Store(path: fixture.path, schema: fixture.store.schema)
    }
    #expect(error?.code == .databaseIsNewer)
    let color = try await newer.read { try $0.rows("SELECT color FROM lists").rows.first?.first }
    #expect(color == .text("red"))
  }

  @Test("a store that is closed leaves one whole file, and says that it was closed (I2)")
  func closed() async throws {
    let fixture = try Fixture()
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    let live = fixture.store.live(List.self, "SELECT * FROM lists")
    for try await lists in live {
      #expect(lists.count == 1)
      break
    }
    await fixture.store.close()
    #expect(!FileManager.default.fileExists(atPath: fixture.path + "-wal"))
    let copy = try SQLiteConnection(path: fixture.path, access: .readOnly)
    #expect(try copy.value("SELECT title FROM lists") == "Home")
    let error = await #expect(throws: StoreError.self) { try await fixture.value("SELECT 1") }
    #expect(error?.code == .closed)
    let engine = SyncEngine(store: fixture.store, server: URL(filePath: "/"))
    let sync = await #expect(throws: StoreError.self) { try await engine.sync() }
    #expect(sync?.code == .closed)
    await fixture.store.close()
  }
}
