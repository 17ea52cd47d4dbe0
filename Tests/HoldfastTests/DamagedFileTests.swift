import Foundation
import Testing

@testable import Holdfast

@Suite("A device's file that is damaged")
struct DamagedFileTests {
  /// A signed-in device's file with many confirmed records, a refused edit and an unsent one; closed.
  private static func file() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    let changes = (0..<2000).map {
      #"{"table":"lists","id":"0193aaaa-0000-7000-8000-\#(String(format: "%012d", $0 + 100))","rev":1,"seq":\#($0 + 1),"columns":{"title":"\#(String(repeating: "t", count: 150))"}}"#
    }
    try await fixture.answer(IDs.part(([IDs.listChange] + changes).joined(separator: ",")))
    try await fixture.store.write { try $0.update(List.self, id: IDs.list) { $0.title = "Refused" } }
    try await fixture.refuse(1)
    try await fixture.store.write { try $0.insert(List(id: IDs.other, title: "Unsent")) }
    await fixture.store.close()
    return fixture
  }

  /// Writes over pages of one table or index of a file.
  private static func damage(_ path: String, _ name: String) throws {
    let connection = try SQLiteConnection(path: path, access: .readOnly)
    let root = try #require(
      try connection.value("SELECT rootpage FROM sqlite_schema WHERE name = ?", [.text(name)])?.integer)
    let size = try #require(try connection.value("PRAGMA page_size")?.integer)
    connection.close()
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.seek(toOffset: UInt64((root - 1) * size))
    try file.write(contentsOf: Data(repeating: 0xa5, count: Int(size)))
    try file.close()
  }

  @Test("is told with what to do, and no record that can't be read is a deletion to the server (I3, I8)")
  func table() async throws {
    let fixture = try await Self.file()
    try Self.damage(fixture.path, "lists")
    let store = try Store(path: fixture.path, schema: #require(Fixture.schema))
    var error = await #expect(throws: StoreError.self) {
      try await store.read { try $0.fetch(String.self, "SELECT title FROM lists") }
    }
    #expect(error?.code == .databaseIsBroken && error?.description.contains("rescue(from:)") == true)
    error = await #expect(throws: StoreError.self) {
      try await store.write { try $0.execute("DELETE FROM lists WHERE title = 'x'") }
    }
    #expect(error?.code == .databaseIsBroken)
    let request = try #require(
      try await store.writer.perform { try RequestPreparation(database: $0).prepare(changeSetLimit: 500) })
    let sets = try JSONValue(parsing: request.body)["change_sets"]?.elements?.flatMap { $0.elements ?? [] }
    #expect(sets?.map { $0["op"]?.stringValue } == ["create"])
    await store.close()
  }

  @Test("of an index that lacks rows is mended by repair, and nothing is sent as a deletion (I3)")
  func index() async throws {
    let fixture = try await Self.file()
    // As after a write of which the disk lost a part.
    let index = "holdfast_items_of_list_id"
    for (condition, sql) in [
      (" WHERE 0", "SELECT 1"),
      (
        "",
        "INSERT INTO items (id, list_id, title, zone) VALUES ('\(IDs.item)', '\(IDs.list)', 'Milk', '\(IDs.list)')"
      ),
    ] {
      let shell = try SQLiteConnection(path: fixture.path)
      try shell.execute("UPDATE holdfast_local SET applying = 1")
      try shell.execute(sql)
      try shell.execute("UPDATE holdfast_local SET applying = 0; PRAGMA writable_schema = ON")
      try shell.run(
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX \"\(index)\" ON \"items\" (\"list_id\")\(condition)' WHERE name = '\(index)'"
      )
      shell.close()
    }
    let store = try Store(path: fixture.path, schema: #require(Fixture.schema))
    #expect(try await store.repair().file.contains { $0.contains(index) })
    #expect(try await store.check().file.isEmpty)
    #expect(
      try await store.read {
        try $0.first(Int.self, "SELECT count(*) FROM items WHERE list_id = ?", [.text(IDs.list)])
      } == 1)
    #expect(try await store.waitingOperations() == 1)
    await store.close()
  }

  @Test("that ends too early, or has no head, is an error at the opening or later, and never ends the app")
  func truncated() async throws {
    let fixture = try await Self.file()
    let whole = try Data(contentsOf: URL(fileURLWithPath: fixture.path))
    for size in [0, 1, 99, 100, 512, 4096, 5000, whole.count / 2, whole.count - 4096, whole.count - 1] {
      try whole.prefix(size).write(to: URL(fileURLWithPath: fixture.path))
      for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: fixture.path + suffix) }
      do {
        let store = try Store(path: fixture.path, schema: #require(Fixture.schema))
        do {
          let count = try await store.read { try $0.first(Int.self, "SELECT count(*) FROM lists") }
          _ = try await store.writer.perform {
            try RequestPreparation(database: $0).prepare(changeSetLimit: 500)
          }
          // To SQLite it is empty then, and so it is new.
          #expect(count == 2002 || size <= 1, "\(size): \(count ?? -1)")
        } catch let error as StoreError { #expect(error.code == .databaseIsBroken, "\(size)") }
        await store.close()
      } catch let error as StoreError {
        #expect([.databaseIsBroken, .notAHoldfastDatabase].contains(error.code), "\(size): \(error)")
      }
    }
  }

  @Test(
    "is rescued: what was not sent, or was refused, is in the quarantine of a new file, and can be sent (I3)")
  func rescue() async throws {
    let fixture = try await Self.file()
    try Self.damage(fixture.path, "lists")
    try Self.damage(fixture.path, "items")
    let fresh = try Fixture()
    try await fresh.signIn()
    #expect(try await fresh.store.rescue(from: fixture.path) == 2)
    let sets = try await fresh.store.quarantined()
    #expect(sets.map { $0.operations.first?["title"] } == ["Refused", "Unsent"])
    #expect(sets.map(\.problem?.code) == [.changeSetUncertain, .changeSetUncertain])
    try await fresh.store.resend(sets[1].number)
    #expect(try await fresh.value("SELECT title FROM lists") == "Unsent")
    let error = await #expect(throws: StoreError.self) {
      try await fresh.store.rescue(from: fresh.path + "-none")
    }
    #expect(error?.code == .databaseIsBroken)
  }
}
