import Foundation
import Holdfast
import HoldfastPostgres
import HoldfastServer
import Synchronization
import TemporaryPostgres
import Testing

/// Several servers as processes on one PostgreSQL database, whatever the other tests run on, and devices.
final class Cluster {
  let folder: URL
  let schema: SyncSchema
  let shared: SharedDatabase
  let nodes: [ServerProcess]

  /// Starts all nodes at the same moment on an empty database.
  init(_ count: Int, on server: TemporaryPostgres = .shared) throws {
    folder = try Programs.makeFolder()
    schema = try Scene.schema()
    let shared = try SharedDatabase.makePostgres(on: server)
    self.shared = shared
    let (folder, schema) = (folder, schema)
    nodes = try (0..<count).map { _ in
      try ServerProcess(folder: folder, schema: schema, shared, isAwaited: false)
    }
    for node in nodes { try node.waitUntilItListens() }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// A device that is signed up, and goes to the nodes as its transport says.
  func signUp(
    _ user: String, on name: String, through transport: any Transport
  ) async throws -> Device {
    let device = try Device(name, in: folder, transport: transport, schema: schema)
    try await device.engine.signUp(name: user, password: "correct-horse", device: name)
    return device
  }

  /// A further device of a user.
  func signIn(
    _ user: String, on name: String, through transport: any Transport
  ) async throws -> Device {
    let device = try Device(name, in: folder, transport: transport, schema: schema)
    try await device.engine.signIn(name: user, password: "correct-horse", device: name)
    return device
  }

  /// The way to one node.
  func way(to node: Int) -> HTTPTransport { HTTPTransport(server: nodes[node].address) }

  /// The status and Retry-After of what a node answers; nil when it does not.
  func get(_ path: String, from node: Int) async -> (status: Int, retryAfter: Int?)? {
    let answer = try? await way(to: node).send(TransportRequest(method: "GET", path: path))
    return answer.map { ($0.status, $0.retryAfter) }
  }
}

extension Device {
  /// Adds a list, and gives its id.
  func addList(_ title: String) async throws -> String {
    try await store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, ?)", [.text(id), .text(title)])
      return id
    }
  }

  /// Adds an item, and gives its id.
  @discardableResult
  func addItem(_ title: String, to list: String) async throws -> String {
    try await store.write { db in
      let row = Row(
        id: db.newID(), list_id: list, title: title, position: try db.position(after: nil, before: nil))
      try db.insert(row)
      return row.id
    }
  }

  /// The titles of the items here.
  func titles() async throws -> Set<String> {
    Set(try await store.read { try $0.fetch(String.self, "SELECT title FROM items") })
  }
}

/// A way that takes the next node with every request, and loses some answers: what is sent again goes to another node.
final class AlternatingTransport: Transport {
  private let ways: [HTTPTransport]
  private let lossEvery: Int
  private let count = Mutex(0)
  /// How many answers were lost.
  let lost = Mutex(0)

  init(_ cluster: Cluster, lossEvery: Int = .max) {
    ways = cluster.nodes.indices.map { cluster.way(to: $0) }
    self.lossEvery = lossEvery
  }

  func send(_ request: TransportRequest) async throws -> TransportAnswer {
    let number = count.withLock { count in
      count += 1
      return count
    }
    let answer = try await ways[number % ways.count].send(request)
    if request.path == "v1/sync", number.isMultiple(of: lossEvery) {
      lost.withLock { $0 += 1 }
      throw URLError(.networkConnectionLost)
    }
    return answer
  }
}

/// A way to one node until a request fails there; then to the next.
final class FailoverTransport: Transport {
  private let ways: [HTTPTransport]
  private let current: Mutex<Int>
  private let answered: @Sendable () -> Void

  /// - Parameter answered: called with every answer of a sync.
  init(_ cluster: Cluster, first: Int, answered: @escaping @Sendable () -> Void = {}) {
    ways = cluster.nodes.indices.map { cluster.way(to: $0) }
    current = Mutex(first)
    self.answered = answered
  }

  func send(_ request: TransportRequest) async throws -> TransportAnswer {
    let node = current.withLock { $0 }
    do {
      let answer = try await ways[node].send(request)
      if request.path == "v1/sync" { answered() }
      return answer
    } catch {
      current.withLock { $0 = (node + 1) % ways.count }
      throw error
    }
  }
}
