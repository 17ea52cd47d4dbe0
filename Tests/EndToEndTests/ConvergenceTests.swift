import Foundation
import Holdfast
import Testing

/// A device in this process: the real store and engine, over real HTTP.
struct Device {
  let path: String
  let store: Store
  let engine: SyncEngine

  init(_ name: String, in folder: URL, server: URL, schema: Schema) throws {
    path = folder.appendingPathComponent("\(name).db").path
    store = try Store(path: path, schema: schema)
    engine = SyncEngine(store: store, server: server)
  }

  func contents(_ schema: Schema) throws -> [String: [[SQLiteValue]]] {
    let connection = try Connection(path: path, access: .readOnly)
    try Agreement.expectSound(connection)
    return try Agreement.contents(connection, schema: schema)
  }
}

struct Row: Record {
  static let table = "items"
  var id: String
  var list_id: String
  var title: String
  var done = false
  var position: String
}

@Suite("Devices and the server over real HTTP")
struct ConvergenceTests {
  static func schema() throws -> Schema {
    try Schema(
      name: "test",
      tables: [
        Table("lists", zone: .root, columns: [Column("title", .text, required: true, maximumLength: 200)]),
        Table(
          "items", zone: .parent("list_id"),
          columns: [
            Column(
              "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade)),
            Column("title", .text, required: true),
            Column("done", .boolean, required: true, default: .integer(0)),
            Column("position", .position, required: true),
          ]),
      ])
  }

  /// Random edits of one device's copy: adds, renames, checks, deletes, moves.
  private func edit(_ device: Device, list: String, seed: UInt64, count: Int) async throws -> Int {
    var random = SeededRandom(seed: seed)
    var added = 0
    for number in 0..<count {
      let (kind, choice, other) = (random.next() % 10, random.next(), random.next())
      added += try await device.store.write { db in
        let rows = try db.fetch(
          Row.self, "SELECT * FROM items WHERE list_id = ? ORDER BY position, id", [.text(list)])
        func place() throws -> String {
          let index = Int(other % UInt64(rows.count + 1))
          return try db.position(
            after: index > 0 ? rows[index - 1].position : nil,
            before: index < rows.count ? rows[index].position : nil)
        }
        guard kind > 3, let row = rows.isEmpty ? nil : rows[Int(choice % UInt64(rows.count))] else {
          try db.insert(
            Row(id: db.newID(), list_id: list, title: "item \(seed).\(number)", position: try place()))
          return 1
        }
        switch kind {
        case 4, 5: try db.update(Row.self, id: row.id) { $0.title = "renamed by \(seed).\(number)" }
        case 6: try db.update(Row.self, id: row.id) { $0.done.toggle() }
        case 7: try db.delete(Row.self, id: row.id)
        default: let position = try place(); try db.update(Row.self, id: row.id) { $0.position = position }
        }
        return 0
      }
    }
    return added
  }

  @Test(
    "three devices edit the same list offline, sync, and hold the same as the server (I1, I3, I6, I7, I9)",
    arguments: [1, 2, 3])
  func converge(seed: UInt64) async throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let schema = try Self.schema()
    let server = try ServerProcess(folder: folder, schema: schema)
    let devices = try ["phone", "laptop", "tablet"].map {
      try Device($0, in: folder, server: server.address, schema: schema)
    }
    try await devices[0].engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    try await devices[1].engine.signIn(name: "ann", password: "correct-horse", device: "laptop")
    try await devices[2].engine.signUp(name: "bob", password: "correct-horse", device: "tablet")
    let list = try await devices[0].store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Things we need')", [.text(id)])
      try db.execute("INSERT INTO members (zone, name, role) VALUES (?, 'bob', 'editor')", [.text(id)])
      return id
    }
    for device in devices { try await device.engine.sync() }
    for round in 0..<3 {
      for (number, device) in devices.enumerated() {
        _ = try await edit(device, list: list, seed: seed * 100 + UInt64(round * 10 + number), count: 25)
      }
      for device in devices.shuffled(seed: seed + UInt64(round)) { try await device.engine.sync() }
    }
    for device in devices { try await device.engine.sync() }
    let database = try server.database()
    try Agreement.expectSound(database)
    let truth = try Agreement.contents(database, schema: schema)
    #expect(truth["items"]?.isEmpty == false)
    for device in devices {
      #expect(try device.contents(schema) == truth)
      #expect(try await device.store.waitingOperations() == 0)
      #expect(try await device.store.quarantined().isEmpty)
    }
    #expect(server.stop() == 0)
  }

  @Test("a live query yields the change that another device made")
  func live() async throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let schema = try Self.schema()
    let server = try ServerProcess(folder: folder, schema: schema)
    let phone = try Device("phone", in: folder, server: server.address, schema: schema)
    let laptop = try Device("laptop", in: folder, server: server.address, schema: schema)
    try await phone.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    try await laptop.engine.signIn(name: "ann", password: "correct-horse", device: "laptop")
    var titles = laptop.store.live(String.self, "SELECT title FROM lists ORDER BY id").makeAsyncIterator()
    #expect(try await titles.next() == [])
    try await phone.store.write { try $0.execute("INSERT INTO lists (title) VALUES ('Home')") }
    try await phone.engine.sync()
    try await laptop.engine.sync()
    #expect(try await titles.next() == ["Home"])
  }

  @Test("an expired session keeps every edit, and signing in again sends them (I3)")
  func expiredSession() async throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let schema = try Self.schema()
    let server = try ServerProcess(folder: folder, schema: schema)
    let phone = try Device("phone", in: folder, server: server.address, schema: schema)
    try await phone.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    try await phone.engine.sync()
    try Connection(path: phone.path).execute("UPDATE holdfast_local SET token = 'expired'")
    try await phone.store.write { try $0.execute("INSERT INTO lists (title) VALUES ('Home')") }
    let again = SyncEngine(store: phone.store, server: server.address)
    let error = await #expect(throws: StoreError.self) { try await again.sync() }
    #expect(error?.code == .signedOut)
    #expect(try await phone.store.waitingOperations() == 1)
    try await again.signIn(name: "ann", password: "correct-horse", device: "phone")
    try await again.sync()
    #expect(try server.database().value("SELECT count(*) FROM lists")?.integer == 1)
    #expect(try server.database().value("SELECT count(*) FROM holdfast_devices")?.integer == 1)
  }

  @Test("a copied device gets an identity of its own; edits of both arrive once (I1, I3)")
  func copiedDevice() async throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let schema = try Self.schema()
    let server = try ServerProcess(folder: folder, schema: schema)
    let phone = try Device("phone", in: folder, server: server.address, schema: schema)
    try await phone.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    try await phone.engine.sync()
    try await phone.store.write { try $0.execute("INSERT INTO lists (title) VALUES ('both')") }
    try Connection(path: phone.path).backup(to: folder.appendingPathComponent("copy.db").path)
    let copy = try Device("copy", in: folder, server: server.address, schema: schema)
    try await phone.store.write { try $0.execute("INSERT INTO lists (title) VALUES ('phone')") }
    try await phone.engine.sync()
    try await copy.store.write { try $0.execute("INSERT INTO lists (title) VALUES ('copy')") }
    for device in [copy, phone, copy] { try await device.engine.sync() }
    let database = try server.database()
    let titles = try database.rows("SELECT title FROM lists ORDER BY title").map { $0[0].text }
    #expect(titles == ["both", "copy", "phone"])
    #expect(try database.value("SELECT count(*) FROM holdfast_devices")?.integer == 2)
    #expect(try copy.contents(schema) == phone.contents(schema))
  }

  @Test("two engines on one file send nothing twice (I1)")
  func twoEngines() async throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let schema = try Self.schema()
    let server = try ServerProcess(folder: folder, schema: schema)
    let app = try Device("phone", in: folder, server: server.address, schema: schema)
    try await app.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    let widget = try Device("phone", in: folder, server: server.address, schema: schema)
    for number in 0..<20 {
      async let first: Void = app.store.write {
        try $0.execute("INSERT INTO lists (title) VALUES (?)", [.text("app \(number)")])
      }
      async let second: Void = widget.store.write {
        try $0.execute("INSERT INTO lists (title) VALUES (?)", [.text("widget \(number)")])
      }
      _ = try await (first, second)
      async let up = app.engine.sync()
      async let down = widget.engine.sync()
      _ = try await (up, down)
    }
    #expect(try await app.store.waitingOperations() == 0)
    let database = try server.database()
    #expect(try database.value("SELECT count(*) FROM lists")?.integer == 40)
    #expect(try Agreement.contents(database, schema: schema) == app.contents(schema))
  }
}

/// SplitMix64, so that a seed decides everything. Source: Steele, Lea and Flood, 2014.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var word = state
    word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
    return word ^ (word >> 31)
  }
}

extension Array {
  func shuffled(seed: UInt64) -> [Element] {
    var random = SeededRandom(seed: seed)
    return shuffled(using: &random)
  }
}
