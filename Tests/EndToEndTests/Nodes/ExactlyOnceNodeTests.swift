import Foundation
import Holdfast
import Synchronization
import TemporaryPostgres
import Testing

@Suite("Several nodes on one database")
struct ExactlyOnceNodeTests {
  @Test("nodes that start at once on an empty database all come up, and serve the same")
  func start() async throws {
    let cluster = try Cluster(4)
    let ann = try await cluster.signUp("ann", on: "phone", through: cluster.way(to: 0))
    let list = try await ann.addList("Home")
    try await ann.engine.sync()
    for node in 1..<4 {
      #expect(await cluster.get("readyz", from: node)?.status == 200)
      let other = try await cluster.signIn("ann", on: "tablet \(node)", through: cluster.way(to: node))
      try await other.engine.sync()
      #expect(try await other.store.read { try $0.fetch(String.self, "SELECT id FROM lists") } == [list])
    }
    for node in cluster.nodes { #expect(node.stop() == 0) }
    try cluster.shared.reader().expectSound()
  }

  @Test("a device that changes the node with every request, and loses answers, has its edits once (I1)")
  func alternating() async throws {
    let cluster = try Cluster(3)
    let transport = AlternatingTransport(cluster, lossEvery: 3)
    let phone = try await cluster.signUp("ann", on: "phone", through: transport)
    let list = try await phone.addList("Home")
    var expected: [String: Int64] = [:]
    for round in 0..<30 {
      let id = try await phone.addItem("item \(round)", to: list)
      _ = try? await phone.engine.sync()
      try await phone.store.write { try $0.update(Row.self, id: id) { $0.title += ", changed" } }
      _ = try? await phone.engine.sync()
      expected["item \(round), changed"] = 2
    }
    try await phone.sendAll()
    #expect(transport.lost.withLock { $0 } > 10)
    let database = try cluster.shared.reader()
    let rows = try database.rows("SELECT title, rev FROM items")
    #expect(rows.count == expected.count)
    // A create and an update that were sealed before the first of them was answered make one rev each all the same.
    #expect(Dictionary(uniqueKeysWithValues: rows.map { ($0[0].text ?? "", $0[1].integer ?? 0) }) == expected)
    #expect(try database.value("SELECT count(*) FROM conflicts")?.integer == 0)
    #expect(try await phone.store.quarantined().isEmpty)
    try database.expectSound()
  }

  @Test(
    "a node killed under load loses nothing that was confirmed, and its devices go on at another (I1, I2)")
  func killed() async throws {
    let cluster = try Cluster(2)
    let answers = Mutex(0)
    let victim = cluster.nodes[0].killer
    var devices: [Device] = []
    for number in 0..<8 {
      let transport = FailoverTransport(cluster, first: number % 2) {
        let count = answers.withLock { count in
          count += 1
          return count
        }
        // While the requests of the others are under way.
        if count == 60 { victim() }
      }
      devices.append(try await cluster.signUp("user\(number)", on: "device \(number)", through: transport))
    }
    let confirmed = try await withThrowingTaskGroup(of: Set<String>.self) { group in
      for device in devices { group.addTask { try await device.writeItems(20) } }
      return try await group.reduce(into: Set<String>()) { $0.formUnion($1) }
    }
    let database = try cluster.shared.reader()
    let titles = try database.rows("SELECT title FROM items").map { $0[0].text ?? "" }
    #expect(titles.count == 160)
    #expect(Set(titles) == confirmed)
    #expect(try database.rows("SELECT rev FROM items").allSatisfy { $0[0] == .integer(1) })
    try cluster.nodes[0].start()
    for device in devices {
      try await device.engine.sync()
      #expect(try await device.store.quarantined().isEmpty)
    }
    try database.expectSound()
  }
}
