import Foundation
import HoldfastCore
import HoldfastHTTP
import HoldfastSQLite
import ServerScenes
import Testing

@testable import HoldfastSQLiteStore
@testable import HoldfastServer

/// Failures below the rules: a full disk, a statement that can't run. Invariants I2, I6, I12.
@Suite struct SQLiteFailureTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
  }

  private func note(_ device: TestDevice, _ id: String) -> HTTPRequest {
    device.request([[.create("notes", id, ["text": .string(String(repeating: "x", count: 9000))])]])
  }

  @Test(
    "a full disk answers 507 to all of the batch, writes nothing, and is over when there is space (disk full)"
  )
  func full() throws {
    let inline = try #require(server.inline)
    let connection = try server.connection
    let pages = try #require(try connection.value("PRAGMA page_count")?.integer)
    try connection.execute("PRAGMA max_page_count = \(pages)")
    let ids = (0..<2).map { _ in alice.newID() }
    let answers = inline.respond(to: [note(alice, ids[0]), note(bob, ids[1])])
    #expect(answers.map(\.status) == [507, 507])
    #expect(answers.allSatisfy { Problem(document: $0.body)?.retryAfter != nil })
    #expect(inline.respond(to: alice.request([])).status == 200)
    #expect(try connection.value("SELECT count(*) FROM notes")?.integer == 0)
    try connection.execute("PRAGMA max_page_count = 1000000")
    _ = try alice.apply(inline.respond(to: note(alice, ids[0])))
    #expect(alice.has("notes", ids[0]))
    #expect(try Administration(server.location).doctor().isEmpty)
  }

  @Test("the log of writes that follow each other at once is moved into the database, and stays short (I2)")
  func shortLog() throws {
    let inline = try #require(server.inline)
    let page = 4096 + 24
    var longest = 0
    var written = 0
    while written < 3 * SQLiteStore.longLog * page {
      let text = JSONValue.string(String(repeating: "x", count: 9000))
      let set = (0..<80).map { _ in Sent.create("notes", alice.newID(), ["text": text]) }
      let answer = try alice.apply(inline.respond(to: alice.request([set])))
      #expect(answer.refused.isEmpty)
      written += 80 * 9000
      let log = try FileManager.default.attributesOfItem(atPath: server.database + "-wal")
      longest = max(longest, (log[.size] as? Int) ?? 0)
    }
    // One change set more than what is long.
    #expect(longest < (SQLiteStore.longLog + 500) * page)
    let count = try server.connection.value("SELECT count(*) FROM notes")?.integer
    #expect(count == Int64(written / 9000))
  }

  @Test("room that a disk lacks is a full disk, what it has is not, and no file stays")
  func room() throws {
    guard case .directory(let folder) = server.location else { return }
    let files = FileManager.default
    let before = try files.contentsOfDirectory(atPath: folder).sorted()
    let error = #expect(throws: SQLiteError.self) {
      try DiskSpace.check(beside: folder + "/holdfast.db", bytes: .max / 2)
    }
    #expect(error?.code.primary == .full)
    try DiskSpace.check(beside: folder + "/holdfast.db")
    #expect(throws: SQLiteError.self) { try DiskSpace.check(beside: folder + "/missing/holdfast.db") }
    #expect(try files.contentsOfDirectory(atPath: folder).sorted() == before)
  }

  @Test("a command that fails unexpectedly fails alone (I12)")
  func alone() throws {
    let inline = try #require(server.inline)
    try alice.pull()
    let list = bob.newID()
    try server.connection.execute(
      """
      CREATE TRIGGER broken BEFORE UPDATE ON holdfast_devices WHEN NEW.id = '\(alice.id)'
      BEGIN SELECT RAISE(ABORT, 'broken'); END
      """)
    let broken = alice.request([[.create("lists", alice.newID(), ["title": "x"])]])
    let answers = inline.respond(to: [broken, bob.request([[.create("lists", list, ["title": "Bob's"])]])])
    #expect(answers.map(\.status) == [500, 200])
    _ = try bob.apply(answers[1])
    #expect(bob.has("lists", list))
    #expect(try alice.sync().confirmed == 0)
  }

  @Test("what a trigger of the team's own forbids is refused, and blocks nothing (I12)")
  func trigger() throws {
    try server.connection.execute(
      "CREATE TRIGGER ours BEFORE INSERT ON notes WHEN NEW.text = 'x' BEGIN SELECT RAISE(ABORT, 'no x'); END")
    let note = alice.newID()
    let answer = try alice.sync(
      [.create("notes", alice.newID(), ["text": "x"])], [.create("notes", note, ["text": "y"])])
    #expect(answer.refused.map(\.first) == [1])
    #expect(answer.confirmed == 2)
    #expect(alice.has("notes", note))
  }

  @Test(
    "whatever way a trigger of the team's own fails, it is that change set alone that is refused (I6, I12)",
    arguments: [
      "SELECT RAISE(ABORT, 'no')", "SELECT RAISE(FAIL, 'no')", "SELECT RAISE(ROLLBACK, 'no')",
      "SELECT json('{')", "SELECT abs(-9223372036854775808)", "SELECT zeroblob(2147483647)",
      "INSERT OR ROLLBACK INTO lists (id) VALUES (NULL)",
    ])
  func manners(statement: String) throws {
    try server.connection.execute(
      "CREATE TRIGGER ours AFTER INSERT ON notes WHEN NEW.text = 'x' BEGIN \(statement); END")
    let inline = try #require(server.inline)
    let ids = (0..<4).map { _ in alice.newID() }
    func set(_ id: String, _ text: String) -> Sent { .create("notes", id, ["text": .string(text)]) }
    let answers = inline.respond(to: [
      alice.request([
        [set(ids[0], "first")], [set(alice.newID(), "beside"), set(alice.newID(), "x")], [set(ids[1], "y")],
        [set(alice.newID(), "x")], [set(ids[2], "last")],
      ]), bob.request([[set(ids[3], "Bob's")]]),
    ])
    let answer = try alice.apply(answers[0])
    #expect(answer.refused.map(\.first) == [2, 5] && answer.confirmed == 6)
    #expect(answer.refused.map(\.operation) == [3, 5])
    _ = try bob.apply(answers[1])
    #expect(ids.prefix(3).allSatisfy { alice.has("notes", $0) } && bob.has("notes", ids[3]))
    #expect(try server.connection.value("SELECT count(*) FROM notes")?.integer == 4)
    #expect(try Administration(server.location).doctor().isEmpty)
  }

  @Test("the conflict clause of a trigger of the team's own holds for many new records as for one (I12)")
  func clause() throws {
    try server.connection.execute(
      """
      CREATE TABLE words (word TEXT PRIMARY KEY);
      CREATE TRIGGER ours AFTER INSERT ON tags BEGIN INSERT OR IGNORE INTO words VALUES ('tag'); END
      """)
    let inline = try #require(server.inline)
    let (list, first) = (alice.newID(), alice.newID())
    func tag(_ id: String, _ name: String) -> Sent {
      .create("tags", id, ["list_id": .string(list), "name": .string(name)])
    }
    let start = [Sent.create("lists", list, ["title": "List"]), tag(first, "a")]
    _ = try alice.apply(inline.respond(to: alice.request([start])))
    // The first tag leaves its name to another one at the end: until then nothing can be written alone.
    let set =
      [tag(alice.newID(), "a")] + (0..<20).map { tag(alice.newID(), "tag \($0)") }
      + [Sent.update("tags", first, ["name": "b"], base: ["name": "a"])]
    let answer = try alice.apply(inline.respond(to: alice.request([set])))
    #expect(answer.refused.isEmpty && answer.confirmed == 24)
    #expect(try server.connection.value("SELECT count(*) FROM words")?.integer == 1)
  }

  @Test("a read that meets no writer answers from the moment before an open transaction (I6)")
  func snapshot() throws {
    let inline = try #require(server.inline)
    // A session's first request is written.
    try alice.pull()
    let connection = try SQLiteConnection(path: server.database)
    try connection.execute("BEGIN IMMEDIATE; DELETE FROM members")
    #expect(inline.respond(to: alice.request([])).status == 200)
    try connection.execute("ROLLBACK")
  }
}

/// A damaged file is said, and never served as deletions or kept as a backup: I2.
@Suite("A damaged SQLite database", .enabled(if: Engine.used == .sqlite))
struct SQLiteDamageTests {
  let server: TestServer
  let anna: TestDevice
  let list: String
  let items: [String]

  init() throws {
    server = try TestServer()
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    self.anna = anna
    self.list = list
    items = try (0..<200).map { try anna.makeItem(list, "Item \($0)") }
    try anna.pull()
    try server.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  /// Writes over the second half of the pages of the table of items.
  private func scramble() throws {
    let connection = try SQLiteConnection(path: server.database, access: .readOnly)
    let size = Int(try connection.value("PRAGMA page_size")?.integer ?? 0)
    let root = Int(
      try connection.value("SELECT rootpage FROM sqlite_schema WHERE name = 'items'")?.integer ?? 0)
    connection.close()
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: server.database))
    defer { try? file.close() }
    try file.seek(toOffset: UInt64((root - 1) * size + size / 2))
    try file.write(contentsOf: Data((0..<size / 2).map { UInt8(truncatingIfNeeded: $0 &* 37) }))
  }

  private func refuses(_ body: () throws -> Void) {
    do {
      try body()
      Issue.record("It is taken for good.")
    } catch {
      #expect((error as? ServerError)?.code == .damaged, "\(error)")
    }
  }

  @Test("a server does not start on it, and no backup is made of it")
  func atTheStart() throws {
    server.inline = nil
    try scramble()
    refuses { try server.reopen() }
    let backup = server.path + ".backup"
    refuses { _ = try Backup(server.location, environment: server.world.environment).write(to: backup) }
    #expect(!FileManager.default.fileExists(atPath: backup))
  }

  @Test("damage that a reader meets ends writing, whoever writes, until another start has looked (I2)")
  func whileItRuns() throws {
    let bob = try server.signUp("bob")
    func ready() throws -> Int { try RestClient(anna).get("/readyz").status }
    #expect(try ready() == 200)
    try scramble()
    #expect(try RestClient(anna).get("/v1/tables/items").status == 500)
    #expect(try ready() == 503)
    let note = bob.request([[.create("notes", bob.newID(), ["text": "x"])]])
    let answer = try server.respond(to: note)
    #expect(answer.status == 503 && Problem(document: answer.body)?.retryAfter != nil)
    #expect(try RestClient(anna).get("/healthz").status == 200)
    #expect(try server.connection.value("SELECT count(*) FROM notes")?.integer == 0)
  }
}

/// Files that are taken away from under a running server: I2.
@Suite("An SQLite database whose files go while it is served", .enabled(if: Engine.used == .sqlite))
struct SQLitePlaceTests {
  let server: TestServer
  let anna: TestDevice
  let list: String

  init() throws {
    server = try TestServer()
    anna = try server.signUp("anna")
    list = try anna.makeList()
  }

  private func write() throws -> Int {
    try server.respond(
      to: anna.request([[.create("items", anna.newID(), ["list_id": .string(list), "title": "x"])]])
    ).status
  }

  @Test(
    "without its file, its log or the log's index nothing is confirmed any more, and the server is not ready",
    arguments: ["", "-wal", "-shm"])
  func gone(ending: String) throws {
    #expect(try write() == 200)
    try FileManager.default.removeItem(atPath: server.database + ending)
    #expect(try write() == 503)
    #expect(try RestClient(anna).get("/readyz").status == 503)
  }

  @Test("nor where another program has made a log in the place of the one that went")
  func replaced() throws {
    for ending in ["-wal", "-shm"] {
      try FileManager.default.removeItem(atPath: server.database + ending)
    }
    let other = try SQLiteConnection(path: server.database)
    try other.execute("CREATE TABLE other (id)")
    #expect(FileManager.default.fileExists(atPath: server.database + "-wal"))
    #expect(try write() == 503)
  }

  @Test(
    "what was confirmed before its log was deleted is in the file, though the server is killed afterwards")
  func kept() throws {
    let item = try anna.makeItem(list, "confirmed")
    try FileManager.default.removeItem(atPath: server.database + "-wal")
    #expect(try write() == 503)
    // Of a server that is killed, only what is in the folder remains.
    let copy = server.path + "-copy.db"
    defer { try? FileManager.default.removeItem(atPath: copy) }
    try FileManager.default.copyItem(atPath: server.database, toPath: copy)
    let left = try SQLiteConnection(path: copy)
    #expect(try left.value("SELECT count(*) FROM items WHERE id = '\(item)'")?.integer == 1)
    #expect(try left.value("PRAGMA integrity_check")?.text == "ok")
  }
}
