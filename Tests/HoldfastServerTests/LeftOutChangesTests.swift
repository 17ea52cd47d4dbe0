import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

/// Answers that leave out what comes as a snapshot: PROTOCOL.md, section 3. Invariants I4, I7.
@Suite struct LeftOutChangesTests {
  private let server: TestServer
  private let alice: TestDevice
  private let phone: TestDevice
  private let large: String
  private let small: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    phone = try server.signIn("alice")
    (large, small) = (try alice.makeList("Large"), try alice.makeList("Small"))
    for number in 0..<5 { _ = try alice.makeItem(large, "\(number)") }
    _ = try alice.makeItem(small)
    phone.snapshotsFrom = 5
  }

  @Test("of a large zone that is new to a device nothing comes; all others do (I4)") func leftOut() throws {
    let answer = try phone.sync()
    let part = try #require(answer.parts.first { $0.zone == large })
    #expect(part.count == 0 && part.hasMore && part.from.isEmpty && part.to.isEmpty)
    #expect(part.remaining > 5)
    #expect(phone.has("lists", small) && !phone.has("lists", large))
    phone.snapshotsFrom = nil
    try phone.pull()
    #expect(phone.all("items").count == 6)
    phone.snapshotsFrom = 5
    _ = try alice.makeItem(large, "New")
    try phone.pull()
    #expect(phone.all("items").count == 7)
  }

  @Test("a device that has made a large zone itself gets its records back (I7)") func own() throws {
    let list = phone.newID()
    let items = (0..<8).map { number in
      Sent.create(
        "items", phone.newID(), ["list_id": .string(list), "title": .string("\(number)")])
    }
    let answer = try phone.sync([.create("lists", list, ["title": "Mine"])], items)
    phone.snapshotsFrom = nil
    try phone.pull()
    #expect(phone.all("items").count == 14)
    #expect(answer.refused.isEmpty)
    #expect(try server.findings().isEmpty)
  }

  @Test("a number that makes no sense is refused") func senseless() throws {
    phone.snapshotsFrom = 0
    let answer = try server.respond(to: phone.request([]))
    #expect(answer.status == 400)
  }
}
