import HoldfastPostgres
import Foundation
import Holdfast
import HoldfastPostgres
import TemporaryPostgres
import Testing

@Suite("Nodes whose database goes away")
struct DatabaseLossNodeTests {
  @Test(
    "a stopped, killed or crashed database: 503 with Retry-After, and all goes on by itself when it is back (I1, I2, I3)",
    .timeLimit(.minutes(3)))
  func lost() async throws {
    let server = try TemporaryPostgres()
    let cluster = try Cluster(2, on: server)
    let transport = AlternatingTransport(cluster)
    let phone = try await cluster.signUp("ann", on: "phone", through: transport)
    let list = try await phone.addList("Home")
    try await phone.engine.sync()
    var expected: Set<String> = []
    let losses = [{ try server.stop() }, { try server.kill() }, { try server.restart(isCrash: true) }]
    for (number, loss) in losses.enumerated() {
      try await phone.addItem("before \(number)", to: list)
      try await phone.engine.sync()
      try loss()
      try await phone.addItem("while \(number)", to: list)
      if number < 2 {
        for node in 0..<2 {
          let readiness = await cluster.get("readyz", from: node)
          #expect(readiness?.status == 503)
          #expect((readiness?.retryAfter ?? 0) > 0)
          #expect(await cluster.get("healthz", from: node)?.status == 200)
          await #expect(throws: StoreError.self) { try await phone.engine.sync() }
          let answer = try await cluster.way(to: node).send(
            TransportRequest(method: "POST", path: "v1/sync", token: "any", body: Array("{}".utf8)))
          #expect(answer.status == 503)
          #expect((answer.retryAfter ?? 0) > 0)
        }
        try server.start()
      }
      for node in 0..<2 {
        await waitUntil { await cluster.get("readyz", from: node)?.status == 200 }
      }
      // A node that has connections of before may find them broken one by one.
      try await phone.sendAll()
      expected.formUnion(["before \(number)", "while \(number)"])
    }
    let tablet = try await cluster.signIn("ann", on: "tablet", through: cluster.way(to: 1))
    try await tablet.engine.sync()
    #expect(try await tablet.titles() == expected)
    let database = try cluster.shared.reader()
    #expect(try database.value("SELECT count(*) FROM items WHERE rev = 1")?.integer == Int64(expected.count))
    try database.expectSound()
    for node in cluster.nodes { #expect(node.stop() == 0) }
  }

  @Test(
    "a server that takes no connections to its database, or has none left: 503, until it has (I3)",
    .timeLimit(.minutes(3)), arguments: ["ALLOW_CONNECTIONS false", "CONNECTION LIMIT 0"])
  func refused(setting: String) async throws {
    let cluster = try Cluster(1)
    let phone = try await cluster.signUp("ann", on: "phone", through: cluster.way(to: 0))
    _ = try await phone.addList("Home")
    let connection = try cluster.shared.connection()
    let name = try connection.query("SELECT current_database()::text").text(0, 0)
    connection.close()
    let server = TemporaryPostgres.shared
    try server.psql(server.url, "ALTER DATABASE \(name) \(setting)")
    try server.psql(
      server.url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'")
    await #expect(throws: StoreError.self) { try await phone.engine.sync() }
    for path in ["readyz", "v1/events"] {
      let answer = try await cluster.way(to: 0).send(
        TransportRequest(method: "GET", path: path, token: "any"))
      #expect(answer.status == 503)
      #expect((answer.retryAfter ?? 0) > 0)
    }
    try server.psql(server.url, "ALTER DATABASE \(name) ALLOW_CONNECTIONS true CONNECTION LIMIT -1")
    try await phone.sendAll()
    try cluster.shared.reader().expectSound()
  }
}
