import Foundation
import Holdfast
import HoldfastPostgres
import TemporaryPostgres
import Testing

@Suite("Streams of events on several nodes")
struct EventNodeTests {
  @Test("an edit through one node reaches a stream on another (I4)")
  func across() async throws {
    let cluster = try Cluster(2)
    let ann = try await cluster.signUp("ann", on: "phone", through: cluster.way(to: 0))
    let tablet = try await cluster.signIn("ann", on: "tablet", through: cluster.way(to: 1))
    let list = try await ann.addList("Home")
    try await ann.engine.sync()
    try await tablet.engine.sync()
    let stream = try StreamClient(cluster, node: 1, as: tablet)
    for number in 0..<5 {
      try await ann.addItem("item \(number)", to: list)
      try await ann.engine.sync()
      #expect(stream.hears(list))
    }
  }

  @Test("a ticket of one node opens one stream, on whatever node, and is in no log (I10)")
  func ticket() async throws {
    let cluster = try Cluster(2)
    let ann = try await cluster.signUp("ann", on: "phone", through: cluster.way(to: 0))
    let answer = try await cluster.way(to: 0).send(
      TransportRequest(method: "POST", path: "/v1/events/tickets", token: ann.token))
    let ticket = try #require(JSONValue(parsing: answer.body)["ticket"]?.stringValue)
    let stream = try StreamClient(cluster.nodes[1].address, ticket: ticket)
    for node in cluster.nodes {
      #expect(throws: StoreError.self) { try StreamClient(node.address, ticket: ticket) }
    }
    try await ann.engine.signOut()
    stream.waitForEnd()
    let logs = try FileManager.default.contentsOfDirectory(
      at: cluster.folder, includingPropertiesForKeys: nil
    )
    .filter { $0.pathExtension == "log" }
    #expect(logs.count == 2)
    for log in logs {
      var text = ""
      // The log is written behind the answers.
      try await waitUntil {
        text = try String(contentsOf: log, encoding: .utf8)
        return text.contains("ticket-invalid")
      }
      #expect(text.contains("/v1/events") && !text.contains(ticket))
    }
  }

  @Test("when the connection that listens is lost the streams end, and what was missed is pulled (I4, I7)")
  func interrupted() async throws {
    let cluster = try Cluster(2)
    let ann = try await cluster.signUp("ann", on: "phone", through: cluster.way(to: 0))
    let tablet = try await cluster.signIn("ann", on: "tablet", through: cluster.way(to: 1))
    let list = try await ann.addList("Home")
    try await ann.engine.sync()
    try await tablet.engine.sync()
    let stream = try StreamClient(cluster, node: 1, as: tablet)
    // Both nodes lose it: which connection is whose, the database does not say.
    let ended = try cluster.shared.connection().query(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'holdfast listens'
      """)
    #expect(ended.count == 2)
    stream.waitForEnd()
    try await ann.addItem("missed", to: list)
    try await ann.engine.sync()
    // Until the node listens again it refuses streams, as they would miss something.
    var again: StreamClient?
    while again == nil { again = try? StreamClient(cluster, node: 1, as: tablet) }
    try await tablet.engine.sync()
    #expect(try await tablet.titles() == ["missed"])
    try await ann.addItem("told", to: list)
    try await ann.engine.sync()
    #expect(again?.hears(list) == true)
  }
}
