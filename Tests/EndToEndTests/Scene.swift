import Foundation
import Holdfast
import TemporaryPostgres
import Testing

/// A device in this process: the real store and engine, over real HTTP.
struct Device {
  let path: String
  let store: Store
  let engine: SyncEngine

  init(_ name: String, in folder: URL, server: URL, schema: SyncSchema) throws {
    try self.init(name, in: folder, transport: HTTPTransport(server: server), schema: schema)
  }

  /// - Parameters:
  ///   - seed: a snapshot that came with the app.
  ///   - count: from how many changes on a new zone comes as a snapshot.
  init(
    _ name: String, in folder: URL, transport: any Transport, schema: SyncSchema, seed: URL? = nil,
    environment: StoreEnvironment = .system, snapshotsFrom count: Int = 5000
  ) throws {
    path = folder.appendingPathComponent("\(name).db").path
    store = try Store(path: path, schema: schema, seed: seed, environment: environment)
    engine = SyncEngine(store: store, transport: transport, snapshotsFrom: count)
  }

  func contents(_ schema: SyncSchema) throws -> [String: [[SQLiteValue]]] {
    let connection = try SQLiteConnection(path: path, access: .readOnly)
    try Agreement.expectSound(connection)
    return try Agreement.contents(connection, schema: schema)
  }
}

extension Device {
  /// Accepts all that others have shared with this device's user, and syncs.
  func acceptAll() async throws {
    for membership in try await engine.pendingMemberships() {
      _ = try await engine.accept(membership: membership.id)
    }
    try await engine.sync()
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

/// A server in a folder of its own, and devices; the folder goes with it.
final class Scene {
  let folder: URL
  let schema: SyncSchema
  let server: ServerProcess

  /// - Parameter options: further options of `holdfast serve`.
  init(schema: SyncSchema? = nil, options: [String] = []) throws {
    folder = try Programs.makeFolder()
    self.schema = try schema ?? Self.schema()
    server = try ServerProcess(
      folder: folder, schema: self.schema, SharedDatabase.make(in: folder), options: options)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// A device that is not signed in.
  func device(_ name: String) throws -> Device {
    try Device(name, in: folder, server: server.address, schema: schema)
  }

  func signUp(_ user: String, on name: String) async throws -> Device {
    let device = try device(name)
    try await device.engine.signUp(name: user, password: "correct-horse", device: name)
    return device
  }

  func signIn(_ user: String, on name: String) async throws -> Device {
    let device = try device(name)
    try await device.engine.signIn(name: user, password: "correct-horse", device: name)
    return device
  }

  /// Every device holds what the server holds; nothing waits, and nothing was refused.
  func expectAgreement(_ devices: [Device]) async throws {
    let database = try server.database()
    try database.expectSound()
    let truth = try database.contents(schema)
    for device in devices {
      #expect(try device.contents(schema) == truth)
      #expect(try await device.store.waitingOperations() == 0)
      #expect(try await device.store.quarantined().isEmpty)
    }
  }

  /// A user accepts all that others have shared, by REST: no device hears of it yet.
  func acceptAll(_ user: String) throws {
    let rest = try rest(user)
    for membership in try rest.send("GET", "/v1/memberships").json["memberships"]?.elements ?? [] {
      let id = membership["id"]?.stringValue ?? ""
      #expect(try rest.send("POST", "/v1/memberships/\(id)/accept").status == 201)
    }
  }

  /// A connection for REST with a session of a user who has an account.
  func rest(_ user: String) throws -> RestConnection {
    let port = server.port
    return try RestConnection(port: port, token: RestConnection.signIn(user, port: port))
  }

  /// The schema of Jot, so that its processes can work on the same files.
  static func jotSchema() throws -> SyncSchema {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Examples/Jot/holdfast.json")
    return try SyncSchema(json: [UInt8](Data(contentsOf: file)))
  }

  static func schema() throws -> SyncSchema {
    try SyncSchema(
      name: "test",
      tables: [
        TableSchema(
          "lists", zone: .root, columns: [ColumnSchema("title", .text, required: true, maximumLength: 200)]),
        TableSchema(
          "items", zone: .parent("list_id"),
          columns: [
            ColumnSchema(
              "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade)),
            ColumnSchema("title", .text, required: true),
            ColumnSchema("done", .boolean, required: true, default: .integer(0)),
            ColumnSchema("position", .position, required: true),
          ]),
      ])
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

extension Device {
  /// Syncs until nothing waits any more, however often the server is away.
  func sendAll() async throws {
    try await waitUntil {
      _ = try? await engine.sync()
      return try await store.waitingOperations() == 0
    }
  }

  /// Writes items one by one, each confirmed before the next.
  func writeItems(_ count: Int) async throws -> Set<String> {
    let list = try await addList("Home")
    var titles: Set<String> = []
    for number in 0..<count {
      let title = "\(list).\(number)"
      try await addItem(title, to: list)
      try await sendAll()
      titles.insert(title)
    }
    return titles
  }
}
