import Foundation
import Holdfast
import HoldfastCore
import HoldfastServer
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Real servers, real files: what a device makes by itself, and what a snapshot gives it.
@Suite("A snapshot beside a device's own download", .serialized)
struct SnapshotTests {
  @Test("has the same tables, indexes, triggers and rows, and the same tokens (I7)")
  func layout() async throws {
    let scene = try Scene(schema: Scene.jotSchema())
    let phone = try await scene.signUp("ann", on: "phone")
    let list = try await phone.store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Things')", [.text(id)])
      for number in 0..<50 {
        let position = try db.position(after: nil, before: nil)
        try db.insert(
          Row(
            id: db.newID(), list_id: id, title: "é \(number) \"\\\u{7f}", done: number % 2 == 0,
            position: position))
      }
      return id
    }
    try await phone.engine.sync()
    try await phone.store.write { try $0.execute("DELETE FROM items WHERE title LIKE '%9%'") }
    try await phone.engine.sync()

    let path = scene.folder.appendingPathComponent("snapshot.db").path
    try scene.snapshot("--user", "ann", to: path)
    let tablet = try await scene.signIn("ann", on: "tablet")
    try await tablet.store.follow("catalogue")
    try await tablet.engine.sync()

    let (own, made) = (
      try SQLiteConnection(path: tablet.path), try SQLiteConnection(path: path, access: .readOnly)
    )
    for sql in [
      "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 1, 2",
      "SELECT zone, role, token, ack FROM holdfast_zones ORDER BY zone", "PRAGMA application_id",
      "PRAGMA user_version",
      "SELECT schema FROM holdfast_local",
    ] { #expect(try own.rows(sql) == made.rows(sql)) }
    for table in scene.schema.tables {
      let sql = "SELECT * FROM \"\(table.name)\" ORDER BY id"
      #expect(try own.rows(sql) == made.rows(sql))
    }
    #expect(try made.value("SELECT count(*) FROM items WHERE zone = ?", [.text(list)])?.integer == 45)
    try Agreement.expectSound(made)
    #expect(
      try made.rows("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sqlite_stat%'") == [[.integer(0)]])
  }

  @Test(
    "of an older catalogue, shipped as a seed, needs one delta, and equals a fresh copy (I4, I7)",
    .timeLimit(.minutes(5)))
  func catalogue() async throws {
    let folder = URL(fileURLWithPath: "/usr/share/iso-codes/json")
    let scene = try Scene(schema: Scene.jotSchema())
    let editor = scene.folder.appendingPathComponent("editor.db")
    func jot(_ words: String...) throws {
      let run = try JotRun.runUntilServed(editor, scene.server.address, words)
      try #require(run.status == 0, "\(run.errors)")
    }
    try jot("sign-up", "ann")
    try Administration(scene.server.shared.location).grant(zone: "catalogue", name: "ann", role: .editor)
    let older = scene.folder.appendingPathComponent("older")
    try Self.makeOlder(folder, in: older)
    try jot("catalogue", "import", older.path)
    let seed = scene.folder.appendingPathComponent("seed.db")
    try scene.snapshot("--public", to: seed.path)
    try jot("catalogue", "import", folder.path)

    let path = scene.folder.appendingPathComponent("phone.db").path
    let store = try Store(path: path, schema: scene.schema, seed: seed)
    #expect(store.seeding == .used)
    let before = try await store.read {
      try $0.rows("SELECT count(*) FROM languages").rows[0][0].integer ?? 0
    }
    #expect(before > 7000)
    let engine = SyncEngine(store: store, server: scene.server.address)
    try await engine.signUp(name: "bob", password: "correct-horse", device: "phone")
    let summary = try await engine.sync()
    let fresh = try await scene.signIn("bob", on: "fresh")
    try await fresh.store.follow("catalogue")
    let all = try await fresh.engine.sync()
    #expect(summary.received > 100 && summary.received * 10 < all.received)
    let seeded = try SQLiteConnection(path: path, access: .readOnly)
    try Agreement.expectSound(seeded)
    #expect(try Agreement.contents(seeded, schema: scene.schema) == fresh.contents(scene.schema))
    #expect(try fresh.contents(scene.schema) == scene.server.database().contents(scene.schema))
  }

  /// Files as an earlier release could have had them: some entries are missing, some are named otherwise, and one is there that went.
  private static func makeOlder(_ folder: URL, in older: URL) throws {
    try FileManager.default.createDirectory(at: older, withIntermediateDirectories: true)
    for name in ["iso_3166-1", "iso_3166-2", "iso_639-3", "iso_4217"] {
      let data = try Data(contentsOf: folder.appendingPathComponent("\(name).json"))
      let key = String(name.dropFirst(4))
      var file = try #require(JSONSerialization.jsonObject(with: data) as? [String: [[String: Any]]])
      var entries = try #require(file[key])
      for index in entries.indices where index % 50 == 7 { entries[index]["name"] = "Formerly \(index)" }
      if name == "iso_639-3" {
        entries = entries.enumerated().filter { $0.offset % 60 != 5 }.map(\.element)
        entries.append(["alpha_3": "zz9", "name": "Gone", "scope": "I", "type": "L"])
      }
      file[key] = entries
      try JSONSerialization.data(withJSONObject: file).write(to: older.appendingPathComponent("\(name).json"))
    }
  }

  @Test("is sent by the server in parts that make the file, compressed as well")
  func parts() async throws {
    let scene = try Scene(schema: Scene.jotSchema())
    let phone = try await scene.signUp("ann", on: "phone")
    let list = try await phone.store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Things')", [.text(id)])
      return id
    }
    try await phone.engine.sync()
    let token = try SQLiteConnection(path: phone.path).value("SELECT token FROM holdfast_local")?.text ?? ""
    let address = scene.server.address.appendingPathComponent("v1/zones/\(list)/snapshot")
    @Sendable func get(_ headers: [String: String], method: String = "GET") async throws -> (
      Data, HTTPURLResponse
    ) {
      var request = URLRequest(url: address)
      request.httpMethod = method
      request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
      request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
      for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
      let (data, response) = try await URLSession.shared.data(for: request)
      return (data, try #require(response as? HTTPURLResponse))
    }
    // Several at once, while there is none yet.
    let answers = try await withThrowingTaskGroup(of: Data.self) { group in
      for _ in 0..<6 { group.addTask { try await get([:]).0 } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    let whole = try #require(answers.first)
    #expect(answers.count == 1)
    var parts = Data()
    while parts.count < whole.count {
      let (part, answer) = try await get(["Range": "bytes=\(parts.count)-\(parts.count + 99_999)"])
      #expect(answer.statusCode == 206)
      parts += part
    }
    #expect(parts == whole)
    let (nothing, head) = try await get([:], method: "HEAD")
    #expect(nothing.isEmpty && head.value(forHTTPHeaderField: "Content-Length") == String(whole.count))
    let path = scene.folder.appendingPathComponent("down.db")
    try whole.write(to: path)
    try Agreement.expectSound(SQLiteConnection(path: path.path, access: .readOnly))
  }
}

extension Scene {
  /// Runs `holdfast snapshot`.
  func snapshot(_ options: String..., to path: String) throws {
    try operate(["snapshot", "--output", path] + options)
  }

  /// Runs a command of the operator on the server's database.
  func operate(_ arguments: [String]) throws {
    let process = Process()
    process.executableURL = Programs.path("holdfast")
    process.arguments = arguments + server.shared.options
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
  }
}
