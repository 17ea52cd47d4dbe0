import Foundation
import Holdfast
import HoldfastServer
import Testing

@Suite("Requests with ids at several nodes")
struct RequestNodeTests {
  @Test(
    "64 connections send the same creates to two nodes at once, and each is done once (I1)",
    .timeLimit(.minutes(5)))
  func storm() throws {
    let cluster = try Cluster(2)
    let storm = try RequestStorm(cluster.nodes.map(\.port))
    try storm.rage(connections: 64, creates: 100)
    let database = try cluster.shared.reader()
    #expect(try database.value("SELECT count(*) FROM items")?.integer == 100)
    #expect(try database.value("SELECT count(DISTINCT title) FROM items")?.integer == 100)
    try database.expectSound()
  }
}
