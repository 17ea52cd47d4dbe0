import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// A database that went back was written to before a device has proved it: docs/RESTORING.md, section 3.
@Suite("A fork that nobody knows")
struct ForkTests {
  private let server: TestServer
  private let anna: TestDevice
  private let bob: TestDevice
  private let list: String
  private let item: String
  private let membership: String

  init() throws {
    server = try TestServer()
    anna = try server.signUp("anna")
    bob = try server.signUp("bob")
    list = try anna.makeList()
    item = try anna.makeItem(list)
    membership = try anna.share(list, with: "bob", as: .editor)
    for device in [anna, bob] { try device.pull() }
  }

  /// A device shows what it has heard of the list, until the epoch of that has ended.
  private func prove(_ device: TestDevice) throws {
    let before = try #require(server.inline).api.database.epoch
    _ = try device.sync(complete: true)
    try device.sync()
    let history = try #require(server.inline).api.database.history
    #expect(history.previous == before && !history.isForkKnown)
  }

  private func lost(_ id: String, _ title: String, rev: Int64 = 1) -> JSONValue {
    [
      "table": "items", "id": .string(id), "zone": .string(list), "rev": .integer(rev),
      "columns": ["list_id": .string(list), "title": .string(title)],
    ]
  }

  private func recover(_ device: TestDevice, _ items: JSONValue...) throws -> [ProblemCode] {
    let body: JSONValue = [
      "protocol": 1, "acknowledged_refusals": .integer(device.answers), "digest": .string(device.digest),
      "recovered": .array(items),
    ]
    let answer = try device.apply(try server.post("/v1/sync", body, token: device.token))
    return try #require(answer.recovered).refused.compactMap { Problem(document: $0.problem)?.code }
  }

  private func isRestored(_ device: TestDevice) throws -> Bool {
    let answer = try device.sync(complete: true)
    return answer.parts.contains { $0.zone == list && $0.isReset && $0.isRestored }
  }

  @Test("no token of before is one of both histories, whatever its number: all devices resync (I2, I4, I7)")
  func tokens() throws {
    let third = try server.signIn("anna")
    let first = try anna.makeItem(list, "two")
    try third.pull()
    let second = try anna.makeItem(list, "four")
    let last = try anna.makeItem(list, "five")
    try anna.pull()
    try server.goBack(behind: [first, second, last], in: list)
    // It has noticed nothing; its numbers are those of what was lost.
    let new = try bob.makeItem(list, "three")
    let other = try bob.makeItem(list, "six")
    try bob.pull()
    try prove(anna)
    for device in [anna, bob, third] { #expect(try isRestored(device)) }
    for device in [anna, bob, third] { try device.pull() }
    #expect(try recover(anna, lost(first, "two"), lost(second, "four"), lost(last, "five")).isEmpty)
    #expect(try recover(third, lost(first, "two")).isEmpty)
    for device in [anna, bob, third] {
      try device.pull()
      #expect([first, second, last, new, other].allSatisfy { device.has("items", $0) })
      #expect(device.all("items").count == 6)
    }
    #expect(try server.findings().isEmpty)
  }

  @Test("a recovered edit of later rev is taken, and what it replaces is logged (I2, I3)")
  func replaced() throws {
    let second = try anna.makeItem(list)
    let third = try anna.makeItem(list)
    try anna.pull()
    try server.goBack(behind: [second, third], in: list)
    try bob.sync([.update("items", item, ["title": "Bob's"])])
    try prove(anna)
    #expect(try isRestored(anna))
    try anna.pull()
    #expect(try recover(anna, lost(item, "Anna's", rev: 4)).isEmpty)
    try anna.pull()
    #expect(anna.column("items", item, "title") == "Anna's")
    #expect(anna.all("conflicts").map { $0["loser_value"] } == ["Bob's"])
  }

  @Test("a recovered edit of an earlier rev gives way, and is logged (I2, I3)")
  func givesWay() throws {
    let second = try anna.makeItem(list)
    let third = try anna.makeItem(list)
    let fourth = try anna.makeItem(list)
    try anna.pull()
    try server.goBack(behind: [second, third, fourth], in: list)
    try bob.sync([.update("items", item, ["title": "Bob's"])])
    try bob.sync([.update("items", item, ["title": "Bob's again"], rev: 2)])
    try prove(anna)
    #expect(try isRestored(anna))
    try anna.pull()
    #expect(try recover(anna, lost(item, "Anna's", rev: 2)).isEmpty)
    try anna.pull()
    #expect(anna.column("items", item, "title") == "Bob's again")
    #expect(anna.all("conflicts").map { $0["loser_value"] }.contains("Anna's"))
  }

  @Test("a deletion since the fork stays, whatever rev is recovered, and that is logged (I8, I3)")
  func deleted() throws {
    let second = try anna.makeItem(list)
    let third = try anna.makeItem(list)
    try anna.pull()
    try server.goBack(behind: [second, third], in: list)
    try bob.sync([.delete("items", item)])
    try prove(anna)
    #expect(try isRestored(anna))
    try anna.pull()
    #expect(try recover(anna, lost(item, "Anna's", rev: 4)).isEmpty)
    try anna.pull()
    #expect(!anna.has("items", item))
    #expect(anna.all("conflicts").map { $0["loser_value"] }.contains("Anna's"))
    #expect(try server.findings().isEmpty)
  }

  @Test("a role that was taken away since the fork is not proved back (I10)")
  func role() throws {
    let items = try (0..<3).map { _ in try anna.makeItem(list) }
    for device in [anna, bob] { try device.pull() }
    try server.goBack(behind: items, in: list)
    let other = try server.signIn("anna")
    try other.pull()
    try other.sync([.update("members", membership, ["role": "viewer"], rev: 2)])
    try prove(anna)
    #expect(try isRestored(bob))
    try bob.sync()
    try bob.pull()
    #expect(try recover(bob, lost(items[0], "Milk")) == [.roleInsufficient])
    #expect(try recover(bob, lost(item, "Bob's", rev: 4)) == [.roleInsufficient])
  }
}
