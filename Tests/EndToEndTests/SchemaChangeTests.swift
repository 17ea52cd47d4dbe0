import Foundation
import Holdfast
import HoldfastServer
import Testing

/// An old and a new app over one server, whose schema changes in between: docs/SCHEMA-CHANGES.md.
@Suite("An old and a new app over one server")
struct SchemaChangeTests {
  private static let list = ColumnSchema(
    "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade))

  /// What was `items` with `title` and `note`.
  private static func before() throws -> SyncSchema {
    try SyncSchema(
      name: "test",
      tables: [
        TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text)]),
        TableSchema(
          "items", zone: .parent("list_id"),
          columns: [
            list, ColumnSchema("title", .text, policy: .server), ColumnSchema("note", .text),
            ColumnSchema("done", .boolean),
          ]),
      ])
  }

  /// Is now `entries` with `heading`, without `note`, and with `due`.
  private static func after() throws -> SyncSchema {
    try SyncSchema(
      name: "test",
      tables: [
        TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text)]),
        TableSchema(
          "entries", zone: .parent("list_id"),
          columns: [
            list, ColumnSchema("heading", .text, policy: .server, was: ["title"]),
            ColumnSchema("done", .boolean),
            ColumnSchema("due", .text),
          ], was: ["items"]),
      ])
  }

  private static func value(_ device: Device, _ sql: String) async throws -> SQLiteValue? {
    try await device.store.read { try $0.rows(sql).rows.first?.first }
  }

  @Test("edits go both ways, by the names that each app has; what waits over the update arrives (I3, I7)")
  func bothWays() async throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let shared = try SharedDatabase.make(in: folder)
    var server = try ServerProcess(folder: folder, schema: Self.before(), shared)
    let old = try Device("old", in: folder, server: server.address, schema: Self.before())
    try await old.engine.signUp(name: "ann", password: "correct-horse", device: "old")
    let (list, item) = ("0193aaaa-0000-7000-8000-000000000001", "0193aaaa-0000-7000-8000-000000000011")
    try await old.store.write { db in
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Home')", [.text(list)])
      try db.execute(
        "INSERT INTO items (id, list_id, title, note) VALUES (?, ?, 'Milk', 'n')", [.text(item), .text(list)])
    }
    try await old.engine.sync()
    // A device that is to be updated, with edits that wait.
    let phonePath = folder
    do {
      let phone = try Device("phone", in: phonePath, server: server.address, schema: Self.before())
      try await phone.engine.signIn(name: "ann", password: "correct-horse", device: "phone")
      try await phone.engine.sync()
      try await phone.store.write { try $0.execute("UPDATE items SET done = 1") }
      try await phone.store.write { try $0.execute("UPDATE items SET note = 'unsent'") }
      try await phone.store.write { try $0.execute("UPDATE items SET title = 'Soy'") }
    }
    #expect(server.stop() == 0)
    server = try ServerProcess(folder: folder, schema: Self.after(), shared, options: ["--allow-removals"])

    let phone = try Device("phone", in: phonePath, server: server.address, schema: Self.after())
    #expect(try await Self.value(phone, "SELECT heading FROM entries") == .text("Soy"))
    #expect(try await phone.store.waitingOperations() == 3)
    try await phone.engine.sync()
    #expect(try await phone.store.waitingOperations() == 0)
    let refused = try await phone.store.quarantined()
    #expect(refused.map(\.problem?.code) == [.unknownColumn])
    #expect(refused.first?.operations.first?["note"] == "unsent")
    try await phone.store.write { try $0.execute("UPDATE entries SET due = 'today'") }
    try await phone.engine.sync()

    // The old app, on the address that the server has now.
    let older = try Device("old", in: folder, server: server.address, schema: Self.before())
    try await older.engine.sync()
    #expect(try await Self.value(older, "SELECT title FROM items") == .text("Soy"))
    #expect(try await Self.value(older, "SELECT done FROM items") == .integer(1))
    try await older.store.write { try $0.execute("UPDATE items SET title = 'Rice', done = 0") }
    try await older.engine.sync()
    try await phone.engine.sync()
    #expect(try await Self.value(phone, "SELECT heading FROM entries") == .text("Rice"))
    #expect(try await Self.value(phone, "SELECT due FROM entries") == .text("today"))

    // Two edits that did not know of each other: each app reads of it in its own names.
    try await phone.store.write { try $0.execute("UPDATE entries SET heading = 'Tea'") }
    try await older.store.write { try $0.execute("UPDATE items SET title = 'Cocoa'") }
    for device in [phone, older, phone, older] { try await device.engine.sync() }
    let theirs = try #require(try await older.store.read { try $0.conflicts().first })
    #expect(theirs.recordTable == "items" && theirs.column == "title")
    let ours = try #require(try await phone.store.read { try $0.conflicts().first })
    #expect(ours.recordTable == "entries" && ours.column == "heading")
    try await older.store.write { db in try db.resolve(theirs, taking: .loser) }
    try await older.store.write {
      try $0.execute("INSERT INTO items (list_id, title) VALUES (?, 'Nut')", [.text(list)])
    }
    for device in [older, phone] { try await device.engine.sync() }
    #expect(try await Self.value(phone, "SELECT heading FROM entries WHERE id = '\(item)'") == .text("Cocoa"))
    #expect(try await Self.value(phone, "SELECT count(*) FROM entries") == .integer(2))
    try await older.store.write { try $0.execute("DELETE FROM items WHERE id = ?", [.text(item)]) }
    for device in [older, phone] { try await device.engine.sync() }
    #expect(try await Self.value(phone, "SELECT count(*) FROM entries") == .integer(1))
    #expect(try await older.store.quarantined().isEmpty)
  }
}
