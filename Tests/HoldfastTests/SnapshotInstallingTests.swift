import Dispatch
import Foundation
import HoldfastCore
import HoldfastSQLite
import Testing

@testable import Holdfast

/// A device with unsent edits, on which a zone begins that its server has a snapshot of.
final class SnapshotFixture: Sendable {
  static let count = 16_000
  static let device = "0193aaaa-0000-7000-8000-00000000000d"
  static let zone = IDs.list
  static let mine = "0193aaaa-0000-7000-8000-000000000003"
  /// How the ids of records begin that the device has in another zone, and of those that are new.
  static let moved = "0193bbbb-0000-7000-8000-"
  static let new = "0193cccc-0000-7000-8000-"

  /// A record of the snapshot.
  static func id(_ number: Int) -> String { new + String(format: "%012d", number) }

  let folder: URL
  let schema: SyncSchema

  init() async throws {
    schema = try #require(Fixture.schema)
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let store = try open("app")
    try await edit(store)
    await store.close()
    let progress = SnapshotProgress(tag: "\"tag\"", digest: "", total: 0)
    try files("app").begin(Self.zone, progress)
    try makeSnapshot(at: files("app").file(Self.zone).path)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func path(_ name: String) -> String { folder.appendingPathComponent("\(name)/app.db").path }

  func files(_ name: String) -> SnapshotDownloads { SnapshotDownloads(database: path(name)) }

  /// Opens a database that always has the same time and chance.
  func open(_ name: String) throws -> Store {
    try FileManager.default.createDirectory(
      at: folder.appendingPathComponent(name), withIntermediateDirectories: true)
    let environment = StoreEnvironment(
      now: { 1_800_000_000_000 }, random: { 42 }, sleep: { try await Task.sleep(for: $0) })
    return try Store(path: path(name), schema: schema, environment: environment)
  }

  /// Copies all files of a database, as a kill would leave them.
  func copy(_ name: String, to copy: String) throws {
    try FileManager.default.copyItem(
      at: folder.appendingPathComponent(name), to: folder.appendingPathComponent(copy))
  }

  /// What is in all tables of a database, without the numbers of rows.
  func content(_ name: String) throws -> [String] {
    let connection = try SQLiteConnection(path: path(name))
    let tables = try connection.rows(
      "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
    ).compactMap { $0[0].text }
    return try tables.flatMap { table in
      try connection.rows("SELECT * FROM \"\(table)\"").map { "\(table) \($0)" }.sorted()
    }
  }

  func value(_ name: String, _ sql: String) throws -> SQLiteValue? {
    try SQLiteConnection(path: path(name)).value(sql)
  }

  func prepare(_ name: String, _ store: Store) async throws -> SnapshotInstalling? {
    let files = files(name)
    return try await store.writer.perform {
      try SnapshotInstalling(of: Self.zone, for: $0, files: files, device: Self.device)
    }
  }

  func apply(_ name: String, _ store: Store) async throws -> Int? {
    let file = files(name).file(Self.zone).path
    return try await store.writer.perform {
      try SnapshotApplying(database: $0).apply(snapshot: file, of: Self.zone, device: Self.device)
    }
  }

  /// Edits that were not sent, of all kinds; those of a set that was refused; and records that the snapshot has in another zone.
  private func edit(_ store: Store) async throws {
    let body =
      #"{"user":{"id":"0193aaaa-0000-7000-8000-00000000000a","name":"ann"},"device":{"id":"\#(Self.device)","name":"phone"},"token":"t"}"#
    let session = try #require(Session(body: Array(body.utf8)))
    try await store.writer.perform { local in
      try SessionStart(database: local).adopt(session)
      for zone in [IDs.other, Self.zone] { try Zones(database: local).take(zone) }
      try local.connection.transaction {
        try local.whileApplying {
          try local.connection.execute(
            """
            INSERT INTO lists (id, zone, rev, title) VALUES ('\(IDs.other)', '\(IDs.other)', 1, 'Others');
            INSERT INTO items (id, zone, rev, list_id, title) SELECT printf('\(Self.moved)%012d', value), '\(IDs.other)',
            CASE value WHEN 2 THEN 9 ELSE 2 END, '\(IDs.other)', 'moved ' || value FROM json_each('[1, 2, 3, 4, 5]');
            """)
        }
        try ZoneStates(database: local).change(IDs.other) { $0?.becomeWhole(bySnapshot: "0000000a.1") }
      }
    }
    try await store.write {
      try $0.execute("INSERT INTO lists (id, title) VALUES (\(IDs.item), 'refused')")
    }
    let (first, chain) = try await store.writer.perform { local in
      let row = try local.connection.row("SELECT first, chain FROM holdfast_outbox") ?? []
      return (row[0].integer ?? 0, row[1].text ?? "")
    }
    let answer = Fixture.whole(
      #"{"clock":"0193aaaa00000000","confirmed":\#(first),"chain":"\#(chain)","refused":[{"first":\#(first),"last":\#(first),"operation":\#(first),"problem":{"code":"role-insufficient"}}]}"#
    )
    try await store.writer.perform { local in
      let request = try #require(try RequestPreparation(database: local).prepare(changeSetLimit: 500))
      _ = try AnswerApplying(
        database: local, answer: try SyncAnswer(body: answer), body: answer, request: request
      ).run()
    }
    try await store.write { db in
      try db.execute("INSERT INTO lists (id, title) VALUES (\(Self.mine), 'Mine')")
      try db.execute("INSERT INTO items (id, list_id, title) VALUES (\(Self.mine), \(Self.mine), 'mine')")
      try db.execute("UPDATE items SET done = 1 WHERE title IN ('moved 1', 'moved 2')")
    }
    try await store.write { try $0.execute("DELETE FROM items WHERE title = 'moved 3'") }
    // By another program, and in no change set.
    try SQLiteConnection(path: path("app")).execute("UPDATE items SET price = 2 WHERE title = 'moved 4'")
  }

  private func makeSnapshot(at path: String) throws {
    let connection = try SQLiteConnection(path: path)
    try connection.execute(
      """
      PRAGMA synchronous = OFF; BEGIN; \(DeviceTables.own) \(DeviceTables(schema: schema).all())
      PRAGMA application_id = \(DeviceTables.applicationID); PRAGMA user_version = \(DeviceTables.formatVersion);
      """)
    try connection.run(
      "INSERT INTO holdfast_local (one, schema, replica, applying) VALUES (1, ?, '', 1)",
      [.text(String(decoding: schema.json.bytes, as: UTF8.self))])
    try connection.withoutTriggers {
      try connection.execute(
        """
        INSERT INTO lists (id, zone, rev, title) VALUES ('\(Self.zone)', '\(Self.zone)', 1, 'Home');
        INSERT INTO items (id, zone, rev, list_id, title) SELECT printf('\(Self.moved)%012d', value), '\(Self.zone)', 5, '\(Self.zone)',
        'now here ' || value FROM json_each('[1, 2, 3, 4, 5]');
        WITH RECURSIVE number (n) AS (SELECT 6 UNION ALL SELECT n + 1 FROM number WHERE n < \(Self.count))
        INSERT INTO items (id, zone, rev, list_id, title) SELECT printf('\(Self.new)%012d', n), '\(Self.zone)', 1, '\(Self.zone)',
        printf('%.*c%d', 150, 'n', n) FROM number;
        INSERT INTO holdfast_zones (zone, token, ack) VALUES ('\(Self.zone)', '0000000a.7', '0000000a.7');
        UPDATE holdfast_local SET applying = 0; COMMIT;
        """)
    }
  }
}

@Suite("A snapshot that becomes the database")
struct SnapshotInstallingTests {
  private struct Killed: Error {}

  @Test("brings what copying its records brings, under the same edits (I3, I4, I7)")
  func same() async throws {
    let fixture = try await SnapshotFixture()
    try fixture.copy("app", to: "copied")
    let (store, copied) = (try fixture.open("app"), try fixture.open("copied"))
    let statement: @Sendable (Database) throws -> [[SQLiteValue]] = {
      try $0.rows("SELECT count(*) FROM items WHERE title LIKE 'nn%'").rows
    }
    #expect(try await store.read(statement) == [[.integer(0)]])
    let installing = try #require(try await fixture.prepare("app", store))
    #expect(try await store.install(installing) == SnapshotFixture.count + 1)
    #expect(try await fixture.apply("copied", copied) != nil)
    #expect(try await store.read(statement) == [[.integer(Int64(SnapshotFixture.count - 5))]])
    #expect(try await store.check().isSound)
    #expect(try fixture.content("app") == fixture.content("copied"))
    for pragma in ["application_id", "user_version", "page_size", "auto_vacuum", "encoding", "journal_mode"] {
      #expect(
        try fixture.value("app", "PRAGMA \(pragma)") == fixture.value("copied", "PRAGMA \(pragma)"))
    }
    #expect(
      try fixture.value("app", "SELECT ack FROM holdfast_zones WHERE zone = '\(IDs.list)'")?.text
        == "0000000a.7")
    // Edits are recorded as ever.
    let waiting = try await store.waitingOperations()
    try await store.write {
      try $0.execute("UPDATE items SET done = 1 WHERE id = \(SnapshotFixture.id(6))")
    }
    #expect(try await store.waitingOperations() == waiting + 1)
    #expect(try await store.undo().undone.count == 1)
  }

  @Test(
    "and is killed at any step is the database of before or the new one, with all edits (I2, I3, I4)",
    arguments: SnapshotInstalling.Step.allCases)
  func killed(_ step: SnapshotInstalling.Step) async throws {
    let fixture = try await SnapshotFixture()
    let store = try fixture.open("app")
    let edits = "SELECT json_group_array(record_table || id || kind || column_name) FROM holdfast_edits"
    let before = try fixture.value("app", edits)
    var installing = try #require(try await fixture.prepare("app", store))
    installing.after = {
      guard $0 == step else { return }
      try fixture.copy("app", to: "killed")
      throw Killed()
    }
    let prepared = installing
    await #expect(throws: Killed.self) { _ = try await store.install(prepared) }
    await store.close()
    if step == .copying {
      #expect(FileManager.default.fileExists(atPath: fixture.path("killed") + "-journal"))
    }
    for name in ["app", "killed"] {
      let again = try fixture.open(name)
      let isNew = step == .copied
      #expect(try await again.check().isSound)
      #expect(try fixture.value(name, "PRAGMA journal_mode")?.text == "wal")
      #expect(
        try fixture.value(name, "SELECT ack FROM holdfast_zones WHERE zone = '\(IDs.list)'")?.text
          == (isNew ? "0000000a.7" : ""))
      #expect(
        try fixture.value(name, "SELECT count(*) FROM items WHERE id LIKE '\(SnapshotFixture.new)%'")
          == .integer(isNew ? Int64(SnapshotFixture.count - 5) : 0))
      #expect(try await again.waitingOperations() >= 5)
      if !isNew { #expect(try fixture.value(name, edits) == before) }
      // None that was changed is taken for a snapshot.
      #expect((fixture.files(name).progress(IDs.list) != nil) == (step == .locked), "\(name)")
    }
  }

  @Test(
    "keeps what this and another program have written since it came, and lets nobody write meanwhile (I3)")
  func between() async throws {
    let fixture = try await SnapshotFixture()
    let store = try fixture.open("app")
    let path = fixture.path("app")
    var installing = try #require(try await fixture.prepare("app", store))
    installing.after = { _ in
      let other = try SQLiteConnection(path: path, busyTimeout: .zero)
      #expect(throws: SQLiteError.self) { try other.execute("UPDATE lists SET title = 'lost'") }
    }
    try await store.write {
      try $0.execute("UPDATE lists SET title = 'here' WHERE id = \(SnapshotFixture.mine)")
    }
    try SQLiteConnection(path: path).execute(
      "UPDATE items SET title = 'there' WHERE id = '\(SnapshotFixture.mine)'")
    #expect(try await store.install(installing) != nil)
    let rows = try await store.read { db in
      try db.rows(
        "SELECT title FROM lists WHERE id = \(SnapshotFixture.mine) UNION ALL SELECT title FROM items WHERE id = \(SnapshotFixture.mine)"
      ).rows
    }
    #expect(rows == [[.text("here")], [.text("there")]])
    let set = try SQLiteConnection(path: path).value("SELECT count(*) FROM holdfast_outbox")
    #expect(set == .integer(5))
  }

  @Test(
    "leaves all as it was where it can't, and its records are copied",
    arguments: ["another connection", "a reader", "an answer", "a table", "an index", "little more"])
  func declined(_ kind: String) async throws {
    let fixture = try await SnapshotFixture()
    let store = try fixture.open("app")
    let installing = try await fixture.prepare("app", store)
    let other = try SQLiteConnection(path: fixture.path("app"))
    let (isReading, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    switch kind {
    case "another connection": _ = try other.value("SELECT count(*) FROM items")
    case "a reader":
      store.readers[0].enqueue { _ in
        isReading.signal()
        mayEnd.wait()
      }
      isReading.wait()
    case "an answer":
      try await store.writer.perform { local in
        try local.connection.transaction {
          try ZoneStates(database: local).change(IDs.list) { $0?.receive(upTo: "0000000a.3", as: "owner") }
        }
      }
    case "a table": try other.execute("CREATE TABLE own (id)")
    case "an index": try other.execute("CREATE INDEX own ON items (price)")
    default:
      try other.execute(
        "CREATE TABLE own AS SELECT zeroblob(4000) FROM json_each('[\(String(repeating: "1,", count: 2000))1]')"
      )
    }
    if kind != "another connection" { other.close() }
    #expect(try await store.install(#require(installing)) == nil)
    mayEnd.signal()
    if kind == "another connection" || kind == "a reader" {
      #expect(fixture.files("app").progress(IDs.list) != nil)
    } else {
      #expect(try await fixture.prepare("app", store) == nil)
    }
    if kind != "an answer" { #expect(try await fixture.apply("app", store) != nil) }
    #expect(try await store.check().isSound)
  }

  @Test(
    "is none when it has what this app does not know (I10)",
    arguments: ["a trigger", "an index", "another zone"])
  func foreign(_ kind: String) async throws {
    let fixture = try await SnapshotFixture()
    let file = fixture.files("app").file(IDs.list).path
    let connection = try SQLiteConnection(path: file)
    switch kind {
    case "a trigger":
      try connection.execute(
        "CREATE TRIGGER own AFTER INSERT ON items BEGIN DELETE FROM holdfast_outbox; END")
    case "an index": try connection.execute("CREATE UNIQUE INDEX own ON items (id)")
    default:
      try connection.withoutTriggers {
        try connection.execute(
          "UPDATE items SET zone = '\(IDs.other)' WHERE id = '\(SnapshotFixture.id(9))'")
      }
    }
    connection.close()
    let store = try fixture.open("app")
    #expect(try await fixture.prepare("app", store) == nil)
  }

  @Test(
    "leaves all as it was when one of its pages is damaged (I3)",
    arguments: [
      "name = 'items'", "name IN (SELECT name FROM sqlite_schema WHERE tbl_name = 'items' AND sql <> '')",
    ])
  func damaged(_ pages: String) async throws {
    let fixture = try await SnapshotFixture()
    let file = fixture.files("app").file(IDs.list)
    let page = try SQLiteConnection(path: file.path).value(
      "SELECT pageno FROM dbstat WHERE pagetype = 'leaf' AND \(pages) ORDER BY pageno LIMIT 1 OFFSET 20")
    let handle = try FileHandle(forUpdating: file)
    try handle.seek(toOffset: UInt64(#require(page?.integer) - 1) * 4096)
    try handle.write(contentsOf: Data(repeating: 0xff, count: 4096))
    try handle.close()
    let store = try fixture.open("app")
    let before = try fixture.content("app")
    await #expect(throws: SnapshotFile.Unfit.self) {
      _ = try await store.install(#require(try await fixture.prepare("app", store)))
    }
    #expect(try fixture.content("app") == before)
    #expect(try await store.check().isSound)
  }

  @Test("reaches live queries, as does what is written behind it (I7)", .timeLimit(.minutes(1)))
  func live() async throws {
    let fixture = try await SnapshotFixture()
    let store = try fixture.open("app")
    let installing = try #require(try await fixture.prepare("app", store))
    let counts = store.live { try $0.count(Item.all) }
    var iterator = counts.makeAsyncIterator()
    #expect(try await iterator.next() == 5)
    // Not while the query is being read.
    while try await store.install(installing) == nil {}
    while let value = try await iterator.next(), value != SnapshotFixture.count {}
    // By another connection, whose write is noticed as the new log is watched.
    try SQLiteConnection(path: fixture.path("app")).execute(
      "INSERT INTO items (list_id, title) VALUES ('\(SnapshotFixture.mine)', 'one more')")
    while let value = try await iterator.next(), value != SnapshotFixture.count + 1 {}
  }
}
