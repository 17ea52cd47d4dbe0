import Foundation
import Holdfast
import HoldfastHTTP
import HoldfastServer
import Synchronization
import Testing

/// A server in this process, and a network to it that loses requests and answers while it storms.
final class StormyServer: Transport, @unchecked Sendable {
  // Proof: the server is used under the lock alone.
  private let server: InlineServer
  private let lock = NSLock()
  private let random: Mutex<SeededRandom>
  let isStormy = Mutex(true)
  let folder: URL
  let shared: SharedDatabase
  /// Called while an answer is under way.
  let meanwhile = Mutex<(@Sendable () async -> Void)?>(nil)

  init(_ schema: SyncSchema, seed: UInt64) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "holdfast-storm-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    shared = try SharedDatabase.make(in: folder)
    random = Mutex(SeededRandom(seed: seed))
    server = try InlineServer(
      shared.location, schema: schema,
      environment: ServerEnvironment(
        now: { StoreEnvironment.system.now() },
        random: { count in (0..<count).map { _ in .random(in: .min ... .max) } },
        passwords: PasswordHashing(hash: { $0 }, verify: { $0 == $1 }, decoy: "")))
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private func chance(_ share: UInt64) -> Bool {
    isStormy.withLock { $0 } && random.withLock { $0.next() } % share == 0
  }

  func send(_ request: TransportRequest) async throws -> TransportAnswer {
    let isAccount = request.path != "v1/sync"
    if !isAccount, chance(6) { throw URLError(.networkConnectionLost) }
    var headers = HTTPHeaders()
    headers.append(name: "Content-Type", value: "application/json")
    if let token = request.token { headers.append(name: "Authorization", value: "Bearer \(token)") }
    let message = HTTPRequest(
      method: request.method, target: "/" + request.path, headers: headers, body: request.body ?? [])
    let answer = lock.withLock { server.respond(to: message) }
    if !isAccount, chance(6) { throw URLError(.timedOut) }
    if !isAccount, chance(2), let work = meanwhile.withLock({ $0 }) { await work() }
    return TransportAnswer(status: answer.status, body: answer.body)
  }
}

/// A seed decides the edits and the losses; ids and times are real, so a failure may take more than one run to come again.
@Suite("Devices in a storm")
struct StormTests {
  private static func schema() throws -> SyncSchema {
    try SyncSchema(
      name: "storm",
      tables: [
        TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text, required: true)]),
        TableSchema(
          "items", zone: .parent("list_id"),
          columns: [
            ColumnSchema(
              "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade)),
            ColumnSchema("title", .text, required: true),
            ColumnSchema("after_id", .reference, reference: Reference(to: "items", onDelete: .setNull)),
          ], unique: [["title"]]),
        TableSchema(
          "parts", zone: .parent("item_id"),
          columns: [
            ColumnSchema(
              "item_id", .reference, required: true, reference: Reference(to: "items", onDelete: .cascade)),
            ColumnSchema("text", .text),
          ]),
        TableSchema("notes", zone: .user, columns: [ColumnSchema("text", .text)]),
      ])
  }

  /// One transaction of a few random edits; one that a local rule forbids is none.
  private static func edit(_ store: Store, _ random: inout SeededRandom) async {
    let dice = (0..<24).map { _ in random.next() }
    _ = try? await store.write { db in
      var rest = dice[...]
      func roll(_ count: Int) -> Int { Int((rest.popFirst() ?? 0) % UInt64(max(count, 1))) }
      func pick(_ table: String) throws -> String? {
        let ids = try db.fetch(String.self, "SELECT id FROM \(identifier: table) ORDER BY id")
        return ids.isEmpty ? nil : ids[roll(ids.count)]
      }
      for _ in 0...roll(3) {
        let list = try pick("lists")
        let item = try pick("items")
        switch roll(14) {
        case 0: try db.execute("INSERT INTO lists (title) VALUES ('list')")
        case 1 where roll(2) == 0: try db.execute("DELETE FROM lists WHERE id = ?", [.text(list ?? "")])
        case 2, 3, 4:
          if let list {
            try db.execute(
              "INSERT INTO items (list_id, title) VALUES (?, ?)", [.text(list), .text("t\(roll(30))")])
          }
        case 5:
          try db.execute(
            "UPDATE items SET title = ? WHERE id = ?", [.text("t\(roll(30))"), .text(item ?? "")])
        case 6, 7:
          if let list {
            try db.execute("UPDATE items SET list_id = ? WHERE id = ?", [.text(list), .text(item ?? "")])
          }
        case 8: try db.execute("DELETE FROM items WHERE id = ?", [.text(item ?? "")])
        case 9:
          try db.execute(
            "UPDATE items SET after_id = (SELECT id FROM items AS other WHERE other.list_id = items.list_id AND other.id <> items.id LIMIT 1) WHERE id = ?",
            [.text(item ?? "")])
        case 10:
          if let item { try db.execute("INSERT INTO parts (item_id, text) VALUES (?, 'p')", [.text(item)]) }
        case 11:
          try db.execute("INSERT OR REPLACE INTO notes (id, text) SELECT id, 'again' FROM notes LIMIT 1")
        case 12: try db.execute("INSERT INTO notes (text) VALUES ('note')")
        default:
          if roll(3) > 0, let list {
            try db.execute(
              "INSERT OR IGNORE INTO members (zone, name, role) VALUES (?, ?, 'editor')",
              [.text(list), .text(roll(2) == 0 ? "ann" : "bob")])
          } else {
            try db.execute(
              "DELETE FROM members WHERE name = 'bob' AND id = ?", [.text(try pick("members") ?? "")])
          }
        }
      }
    }
  }

  @Test(
    "edits, moves, deletions, refusals and lost answers end in agreement (I1, I3, I7, I8, I9, I12)",
    arguments: 1...12 as ClosedRange<UInt64>)
  func storm(seed: UInt64) async throws {
    let schema = try Self.schema()
    let server = try StormyServer(schema, seed: seed)
    let folder = server.folder.appendingPathComponent("devices")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var random = SeededRandom(seed: seed)
    var stores: [(user: String, path: String, store: Store, engine: SyncEngine)] = []
    for (name, user) in [("a1", "ann"), ("a2", "ann"), ("b", "bob")] {
      let path = folder.appendingPathComponent(name).path
      let store = try Store(path: path, schema: schema)
      let engine = SyncEngine(store: store, transport: server)
      await Self.edit(store, &random)
      if name == "a2" {
        try await engine.signIn(name: user, password: "correct horse", device: name)
      } else {
        try await engine.signUp(name: user, password: "correct horse", device: name)
      }
      stores.append((user, path, store, engine))
    }
    let inFlight = Mutex(SeededRandom(seed: seed &+ 1000))
    let all = stores.map(\.store)
    server.meanwhile.withLock {
      $0 = {
        var own = inFlight.withLock { random in SeededRandom(seed: random.next()) }
        await Self.edit(all[Int(own.next() % 3)], &own)
      }
    }
    for _ in 0..<60 {
      let device = stores[Int(random.next() % 3)]
      for _ in 0..<Int(random.next() % 4) { await Self.edit(device.store, &random) }
      if random.next() % 2 == 0 { _ = try? await device.engine.sync() }
      for membership in (try? await device.engine.pendingMemberships()) ?? [] {
        _ = try? await device.engine.accept(membership: membership.id)
      }
    }
    server.isStormy.withLock { $0 = false }
    for device in stores { try await device.engine.sync() }
    for device in stores {
      for membership in try await device.engine.pendingMemberships() {
        _ = try await device.engine.accept(membership: membership.id)
      }
    }
    for _ in 0..<4 { for device in stores { try await device.engine.sync() } }

    let truth = try server.shared.reader()
    for device in stores {
      let here = try SQLiteConnection(path: device.path, access: .readOnly)
      try Agreement.expectSound(here)
      #expect(try here.value("SELECT count(*) FROM holdfast_outbox") == .integer(0))
      #expect(try here.value("SELECT count(*) FROM holdfast_edits") == .integer(0))
      let user = try #require(try here.value("SELECT user FROM holdfast_local")?.text)
      for table in schema.tables where table.name != "conflicts" {
        let columns = (["id", "zone", "rev"] + table.columns.map(\.name)).map { "\"\($0)\"" }.joined(
          separator: ", ")
        let own = try here.rows("SELECT \(columns) FROM \"\(table.name)\" ORDER BY id")
        let expected = try truth.rows(
          """
          SELECT \(columns) FROM "\(table.name)" WHERE zone = '\(user)'
          OR zone IN (SELECT zone FROM members WHERE "user" = '\(user)' AND invited_by IS NULL) ORDER BY id
          """)
        #expect(own == expected, "seed \(seed), \(device.path), \(table.name)")
      }
    }
  }
}
