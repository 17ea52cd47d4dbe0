import Foundation
import HoldfastCore
import HoldfastSQLite
import Testing

@testable import Holdfast

/// A snapshot as the server would make it, and a place for a database.
final class SeedFixture: Sendable {
  let folder: URL
  var seed: URL { folder.appendingPathComponent("seed.db") }
  var path: String { folder.appendingPathComponent("app.db").path }
  static let ann = "0193aaaa-0000-7000-8000-00000000000a"
  static let bob = "0193aaaa-0000-7000-8000-00000000000b"

  init(schema: SyncSchema? = nil, user: String? = nil) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let schema = try schema ?? Self.schema()
    try change { connection in
      try connection.execute(
        """
        \(DeviceTables.own) \(DeviceTables(schema: schema).all())
        PRAGMA application_id = \(DeviceTables.applicationID); PRAGMA user_version = \(DeviceTables.formatVersion);
        """)
      try connection.run(
        "INSERT INTO holdfast_local (one, schema, replica, applying, user, name) VALUES (1, ?, '', 1, ?, ?)",
        [
          .text(String(decoding: schema.json.bytes, as: UTF8.self)), user.map { .text($0) } ?? .null,
          user == nil ? .null : .text("ann"),
        ])
      try connection.execute(
        """
        INSERT INTO lists (id, zone, rev, title) VALUES ('\(IDs.list)', '\(IDs.list)', 1, 'Home');
        INSERT INTO notes (id, zone, rev, text) VALUES ('\(IDs.other)', '\(Self.ann)', 1, 'secret');
        INSERT INTO words (id, zone, rev, text) VALUES ('\(IDs.item)', 'dictionary', 1, 'tea');
        INSERT INTO holdfast_zones (zone, token, ack) VALUES ('\(IDs.list)', '0000000a.1', '0000000a.1'),
        ('\(Self.ann)', '0000000a.1', '0000000a.1'), ('dictionary', '0000000a.1', '0000000a.1');
        UPDATE holdfast_local SET applying = 0;
        """)
    }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  static func schema(_ more: [ColumnSchema] = []) throws -> SyncSchema {
    try SyncSchema(
      name: "seeds",
      tables: [
        TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text, required: true)] + more),
        TableSchema("notes", zone: .user, columns: [ColumnSchema("text", .text)]),
        TableSchema("words", zone: .public("dictionary"), columns: [ColumnSchema("text", .text)]),
      ])
  }

  func change(_ body: (SQLiteConnection) throws -> Void) throws {
    try body(SQLiteConnection(path: seed.path))
  }

  func open(_ schema: SyncSchema? = nil) throws -> Store {
    try Store(path: path, schema: schema ?? Self.schema(), seed: seed)
  }

  func session(_ user: String, _ name: String) throws -> Session {
    let body =
      #"{"user":{"id":"\#(user)","name":"\#(name)"},"device":{"id":"0193aaaa-0000-7000-8000-00000000000d","name":"phone"},"token":"t"}"#
    return try #require(Session(body: Array(body.utf8)))
  }
}

@Suite("A store with a seed")
struct SeedTests {
  @Test("has its records at once, and asks for what changed since with all its acks (I4)")
  func used() async throws {
    let fixture = try SeedFixture()
    let store = try fixture.open()
    #expect(store.seeding == .used)
    #expect(try await store.read { try $0.rows("SELECT text FROM words").rows } == [[.text("tea")]])
    try await store.write { try $0.execute("UPDATE words SET text = 'coffee'") }
    let session = try fixture.session(SeedFixture.ann, "ann")
    let request = try await store.writer.perform { local in
      try SessionStart(database: local).adopt(session)
      return try RequestPreparation(database: local).prepare(changeSetLimit: 10)
    }
    let acks = try #require(request).acks.map { "\($0.zone) \($0.token ?? "")" }
    #expect(acks == [IDs.list, SeedFixture.ann, "dictionary"].sorted().map { "\($0) 0000000a.1" })
    #expect(try await store.writer.perform { try $0.state().replica } != "")
    #expect(try await store.waitingOperations() == 1)
  }

  @Test("is opened as it is when there is a database, whatever the seed says")
  func notNeeded() async throws {
    let fixture = try SeedFixture()
    try await fixture.open().write { try $0.execute("DELETE FROM words") }
    let again = try fixture.open()
    #expect(again.seeding == .notNeeded)
    #expect(try await again.read { try $0.rows("SELECT text FROM words").rows.isEmpty })
  }

  @Test("of an older schema is extended, and what is new is fetched")
  func older() async throws {
    let fixture = try SeedFixture()
    let store = try fixture.open(SeedFixture.schema([ColumnSchema("color", .text)]))
    #expect(store.seeding == .used)
    #expect(
      try await store.read { try $0.rows("SELECT title, color FROM lists").rows } == [[.text("Home"), .null]])
    #expect(
      try await store.read { try $0.rows("SELECT DISTINCT ack FROM holdfast_zones").rows } == [[.text("")]])
  }

  @Test(
    "that is of no use is passed over, and the app starts empty",
    arguments: [
      "newer schema", "newer form", "cut", "torn", "text", "missing", "a device's", "in use", "other",
      "a view",
    ])
  func ignored(_ kind: String) async throws {
    let fixture = try SeedFixture(
      schema: kind == "newer schema" ? SeedFixture.schema([ColumnSchema("color", .text)]) : nil)
    switch kind {
    case "newer form": try fixture.change { try $0.execute("PRAGMA user_version = 99") }
    case "other": try fixture.change { try $0.execute("PRAGMA application_id = 7") }
    case "a device's": try fixture.change { try $0.execute("UPDATE holdfast_local SET device = 'd'") }
    case "a view":
      try fixture.change {
        try $0.execute(
          "DROP TABLE words; CREATE VIEW words AS SELECT id, zone, rev, title AS text FROM lists")
      }
    case "in use": try fixture.change { _ = try $0.row("PRAGMA journal_mode = WAL") }
    case "cut":
      let bytes = try Data(contentsOf: fixture.seed)
      try bytes.prefix(bytes.count / 2).write(to: fixture.seed)
    case "torn":
      var bytes = try Data(contentsOf: fixture.seed)
      for page in 2..<bytes.count / 4096 {
        bytes.replaceSubrange(page * 4096..<page * 4096 + 64, with: Data(repeating: 0xFF, count: 64))
      }
      try bytes.write(to: fixture.seed)
    case "text": try Data("no database".utf8).write(to: fixture.seed)
    case "missing": try FileManager.default.removeItem(at: fixture.seed)
    default: break
    }
    let store = try fixture.open()
    guard case .ignored(let reason) = store.seeding else {
      Issue.record("\(store.seeding)")
      return
    }
    #expect(reason.contains(fixture.seed.path))
    #expect(try await store.read { try $0.rows("SELECT * FROM words").rows.isEmpty })
    try await store.write { try $0.execute("INSERT INTO lists (title) VALUES ('new')") }
    let left = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path)
    #expect(!left.contains("app.db-seed"))
  }

  @Test(
    "that is killed after any step of seeding has nothing or the whole seed (I2)",
    arguments: Seed.Step.allCases)
  func killed(_ step: Seed.Step) async throws {
    struct Killed: Error {}
    let fixture = try SeedFixture()
    // What SQLite would take for the new database's, of one that is no more.
    try Data("log".utf8).write(to: URL(fileURLWithPath: fixture.path + "-wal"))
    var seed = Seed(file: fixture.seed, path: fixture.path, schema: try SeedFixture.schema())
    seed.after = { if $0 == step { throw Killed() } }
    #expect(throws: Killed.self) { try seed.plant() }
    let isThere = FileManager.default.fileExists(atPath: fixture.path)
    #expect(isThere == ![.copied, .checked].contains(step))
    let store = try fixture.open()
    #expect(store.seeding == (isThere ? .notNeeded : .used))
    #expect(try await store.read { try $0.rows("SELECT text FROM words").rows } == [[.text("tea")]])
    #expect(!FileManager.default.fileExists(atPath: fixture.path + "-seed"))
  }

  @Test("that many open at once is seeded once")
  func together() async throws {
    let fixture = try SeedFixture()
    let outcomes = try await withThrowingTaskGroup(of: Seeding.self) { group in
      for _ in 0..<8 {
        group.addTask {
          try Seed(file: fixture.seed, path: fixture.path, schema: SeedFixture.schema()).plant()
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.filter { $0 == .used }.count == 1)
    #expect(try fixture.open().seeding == .notNeeded)
  }
}

@Suite("A seed for a user")
struct UserSeedTests {
  @Test("is that user's after the sign-in")
  func own() async throws {
    let fixture = try SeedFixture(user: SeedFixture.ann)
    let store = try fixture.open()
    let session = try fixture.session(SeedFixture.ann, "ann")
    try await store.writer.perform { try SessionStart(database: $0).adopt(session) }
    #expect(try await store.read { try $0.rows("SELECT text FROM notes").rows } == [[.text("secret")]])
    #expect(try await store.account()?.name == "ann")
  }

  @Test("shows another user nothing, and keeps what was written before the sign-in (I3, I10)")
  func other() async throws {
    let fixture = try SeedFixture(user: SeedFixture.ann)
    let store = try fixture.open()
    #expect(try await store.account() == nil)
    try await store.write { db in
      try db.execute("INSERT INTO notes (text) VALUES ('bob''s')")
      try db.execute("UPDATE notes SET text = 'changed' WHERE text = 'secret'")
      try db.execute("INSERT INTO lists (title) VALUES ('bob''s list')")
    }
    let session = try fixture.session(SeedFixture.bob, "bob")
    let request = try await store.writer.perform { local in
      _ = try SessionRequests(database: local).request("v1/sessions", name: "bob", password: "p", device: "d")
      try SessionStart(database: local).adopt(session)
      return try RequestPreparation(database: local).prepare(changeSetLimit: 10)
    }
    #expect(
      try await store.read { try $0.rows("SELECT text, zone FROM notes").rows } == [
        [.text("bob's"), .text(SeedFixture.bob)]
      ])
    #expect(try await store.read { try $0.rows("SELECT title FROM lists").rows } == [[.text("bob's list")]])
    #expect(try await store.read { try $0.rows("SELECT text FROM words").rows } == [[.text("tea")]])
    #expect(try #require(request).acks.map(\.zone) == ["dictionary"])
    #expect(try await store.waitingOperations() == 3)
    #expect(try await store.check().isSound)
    // From now on it is bob's.
    await #expect(throws: StoreError.self) {
      try await store.writer.perform {
        try SessionRequests(database: $0).request("v1/sessions", name: "ann", password: "p", device: "d")
      }
    }
  }
}
