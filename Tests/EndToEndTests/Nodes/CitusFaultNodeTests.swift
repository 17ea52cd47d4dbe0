import Foundation
import Holdfast
import HoldfastPostgres
import Synchronization
import TemporaryPostgres
import Testing

/// What happens to a Citus cluster under load: docs/OPERATIONS.md. These run where HOLDFAST_TEST_CITUS names one.
@Suite("Faults of a Citus cluster", .serialized, .enabled(if: TemporaryCitus.shared != nil))
struct CitusFaultNodeTests {
  @Test(
    "a worker or the coordinator that crashes under load, and recovers, loses and doubles nothing (I1, I2)",
    .timeLimit(.minutes(5)), arguments: [1, 0])
  func crashed(node: Int) async throws {
    let citus = try #require(TemporaryCitus.shared)
    let nodes = try citus.nodes()
    let victim = nodes[node]
    try await load(moments: [30, 60, 90]) { _ in
      // One process that is killed ends the node, which recovers by itself.
      try? citus.execute("COPY (SELECT 1) TO PROGRAM 'kill -KILL $PPID'", on: victim)
    }
  }

  @Test(
    "the shards of zones and of devices move under load, and nothing is lost or doubled (I1, I2)",
    .timeLimit(.minutes(5)))
  func moved() async throws {
    try await load(moments: [30]) { shared in
      let connection = try shared.connection()
      defer { connection.close() }
      for table in ["zones", "devices"] {
        try connection.run(
          """
          SELECT citus_move_shard_placement(s.shardid, s.nodename, s.nodeport::integer, n.nodename, n.nodeport, 'block_writes')
          FROM (SELECT * FROM citus_shards WHERE table_name = $1::text::regclass ORDER BY shardid LIMIT 1) s
          JOIN pg_dist_node n ON n.nodeport <> s.nodeport AND n.groupid > 0 LIMIT 1
          """, PostgresParameters("holdfast.\(table)"))
      }
    }
  }

  /// Six devices of as many users write at two servers, while something happens to the cluster at some of their answers.
  private func load(
    moments: Set<Int>, _ fault: @escaping @Sendable (SharedDatabase) throws -> Void
  ) async throws {
    let cluster = try Cluster(2)
    let shared = cluster.shared
    let answers = Mutex(0)
    var devices: [Device] = []
    for number in 0..<6 {
      let transport = FailoverTransport(cluster, first: number % 2) {
        let count = answers.withLock { count in
          count += 1
          return count
        }
        if moments.contains(count) {
          do { try fault(shared) } catch { Issue.record(error) }
        }
      }
      devices.append(try await cluster.signUp("user\(number)", on: "device \(number)", through: transport))
    }
    let confirmed = try await withThrowingTaskGroup(of: Set<String>.self) { group in
      for device in devices { group.addTask { try await device.writeItems(20) } }
      return try await group.reduce(into: Set<String>()) { $0.formUnion($1) }
    }
    for node in 0..<2 {
      while await cluster.get("readyz", from: node)?.status != 200 { await Task.yield() }
    }
    try await settle(shared)
    let database = try shared.reader()
    let titles = try database.rows("SELECT title FROM items").map { $0[0].text ?? "" }
    #expect(titles.count == 120)
    #expect(Set(titles) == confirmed)
    #expect(try database.rows("SELECT rev FROM items").allSatisfy { $0[0] == .integer(1) })
    for device in devices {
      while (try? await device.engine.sync()) == nil { await Task.yield() }
      #expect(try await device.titles().count == 20)
      #expect(try await device.store.quarantined().isEmpty)
    }
    try database.expectSound()
  }

  /// Waits until the cluster has ended each transaction that a crash left prepared.
  private func settle(_ shared: SharedDatabase) async throws {
    let citus = try #require(TemporaryCitus.shared)
    let connection = try shared.connection()
    defer { connection.close() }
    let name = try connection.query("SELECT current_database()::text").text(0, 0)
    for node in try citus.nodes() {
      let nodes = try PostgresConnection(citus.url(node, database: name))
      defer { nodes.close() }
      while try nodes.query("SELECT 1 FROM pg_prepared_xacts WHERE database = current_database()").count > 0 {
        try connection.run("SELECT recover_prepared_transactions()")
        await Task.yield()
      }
    }
  }
}
