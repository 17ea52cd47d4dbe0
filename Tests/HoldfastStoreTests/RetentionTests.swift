import ServerScenes
import Synchronization
import HoldfastCore
import HoldfastHTTP
@testable import HoldfastServer
import Testing

/// Purging: what is deleted is purged when nobody can need it any more, and nothing comes back by it.
@Suite struct RetentionTests {
  static let day: Int64 = 86_400_000

  private func purge(_ server: TestServer, _ retention: Retention = Retention()) throws -> Purged {
    try #require(server.inline).purge(retention)
  }

  private func purged(_ server: TestServer, _ zone: String) throws -> Int64? {
    try server.integer(
      "SELECT purged FROM holdfast_zones WHERE zone = '\(zone)'",
      "SELECT purged FROM holdfast.zones WHERE zone = '\(zone)'")
  }

  private func tombstones(_ server: TestServer, _ zone: String) throws -> Int64? {
    try server.integer(
      "SELECT count(*) FROM holdfast_tombstones WHERE zone = '\(zone)'",
      "SELECT count(*) FROM holdfast.records WHERE zone = '\(zone)' AND state > 0")
  }

  /// A list with three items that two devices have, of which the first device deletes two.
  private func scene() throws -> (
    server: TestServer, anna: TestDevice, bert: TestDevice, list: String, [String]
  ) {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let bert = try server.signUp("bert")
    let list = try anna.makeList()
    let items = try (0..<3).map { try anna.makeItem(list, "item \($0)") }
    _ = try anna.share(list, with: "bert")
    try anna.pull()
    try bert.pull()
    for item in items.prefix(2) {
      try anna.sync([.delete("items", item, at: Stamp(milliseconds: server.world.now))])
    }
    try anna.pull()
    return (server, anna, bert, list, items)
  }

  @Test(
    "I11: tombstones go when every live device has acked past them, a day after the deletion; purged moves with them"
  )
  func horizon() throws {
    let (server, _, bert, list, items) = try scene()
    server.world.advance(2 * Self.day)
    #expect(try purge(server).tombstones == 0, "bert has not acked")
    #expect(try purged(server, list) == 0)
    try bert.pull()
    #expect(!bert.has("items", items[0]) && bert.has("items", items[2]))
    #expect(try purge(server).tombstones == 2)
    #expect(try tombstones(server, list) == 0)
    #expect(try (purged(server, list) ?? 0) > 0)
    #expect(try purge(server) == Purged(), "nothing is left")
    #expect(try bert.sync().parts.isEmpty, "who has acked is not reset")
    #expect(try server.findings().isEmpty)
  }

  @Test("I11: a tombstone stays for a day, for readers that have no acks")
  func youngTombstones() throws {
    let (server, _, bert, list, _) = try scene()
    try bert.pull()
    server.world.advance(Self.day - 1)
    #expect(try purge(server).tombstones == 0)
    server.world.advance(1)
    #expect(try purge(server).tombstones == 2)
    #expect(try tombstones(server, list) == 0)
  }

  @Test("I8, I11: a dead device holds nothing up; when it comes back it resyncs, with its edits")
  func deadDevice() throws {
    let (server, anna, bert, list, items) = try scene()
    server.world.advance(89 * Self.day)
    _ = try anna.sync(complete: true)
    #expect(try purge(server).tombstones == 0)
    server.world.advance(2 * Self.day)
    let purged = try purge(server)
    #expect(purged.tombstones == 2)
    #expect(purged.acks > 0)
    #expect(bert.has("items", items[0]))
    // It edits what is gone, and what is there, and makes something.
    let new = bert.newID()
    let answer = try bert.sync(
      [.update("items", items[0], ["title": "gone"])], [.update("items", items[2], ["title": "here"])],
      [.create("items", new, ["list_id": .string(list), "title": "new"])])
    #expect(answer.mustResend)
    #expect(answer.refused.compactMap { Problem(document: $0.problem)?.code } == [.recordUnknown])
    let all = try bert.sync(complete: true)
    #expect(all.parts.allSatisfy(\.isReset) && !all.parts.isEmpty)
    try bert.pull()
    #expect(!bert.has("items", items[0]) && !bert.has("items", items[1]))
    #expect(bert.column("items", items[2], "title") == "here")
    #expect(bert.has("items", new))
    #expect(try bert.sync().parts.isEmpty)
    #expect(try server.findings().isEmpty)
  }

  @Test("I8: an ack from before the purge is answered with reset, whatever was purged")
  func fence() throws {
    let (server, anna, bert, list, items) = try scene()
    server.world.advance(2 * Self.day)
    var hasty = Retention()
    hasty.devices = .seconds(60)
    _ = try anna.sync(complete: true)
    #expect(try purge(server, hasty).tombstones == 2)
    let answer = try bert.sync(complete: true)
    #expect(answer.parts.contains { $0.zone == list && $0.isReset })
    try bert.pull()
    #expect(!bert.has("items", items[0]) && bert.has("items", items[2]))
  }

  @Test(
    "I4: a device in the middle of a download holds what comes behind its page; one at the beginning holds nothing"
  )
  func downloads() throws {
    let server = try TestServer()
    server.world.answerSize.withLock { $0 = 300 }
    try server.reopen()
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    let items = try (0..<6).map { try anna.makeItem(list, "item \($0)") }
    try anna.pull()
    let other = try server.signIn("anna")
    let first = try other.sync()
    #expect(first.parts.contains { $0.zone == list && $0.hasMore })
    for _ in 0..<2 { try other.sync() }
    #expect(other.acks[list]?.isEmpty == false)
    for item in items { try anna.sync([.delete("items", item, at: Stamp(milliseconds: server.world.now))]) }
    try anna.pull()
    server.world.advance(2 * Self.day)
    _ = try anna.sync(complete: true)
    let early = try purge(server)
    #expect(early.tombstones == 0, "\(early), \(other.acks)")
    try other.pull()
    #expect(other.all("items").isEmpty)
    #expect(try purge(server).tombstones == 6)
    #expect(try other.sync().parts.isEmpty)
  }

  /// A list with six items of which the last is deleted and purged, and a device that has its first pages, which end before that.
  private func purgedDownload() throws -> (
    server: TestServer, anna: TestDevice, other: TestDevice, list: String, [String]
  ) {
    let server = try TestServer()
    server.world.answerSize.withLock { $0 = 300 }
    try server.reopen()
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    let items = try (0..<6).map { try anna.makeItem(list, "item \($0)") }
    try anna.sync([.delete("items", items[5], at: Stamp(milliseconds: server.world.now))])
    try anna.pull()
    server.world.advance(2 * Self.day)
    _ = try anna.sync(complete: true)
    #expect(try purge(server).tombstones == 1)
    let other = try server.signIn("anna")
    for _ in 0..<3 { try other.sync() }
    let ack = try #require(other.acks[list].flatMap { ChangeToken($0) })
    #expect(try ack.seq < purged(server, list) ?? 0)
    return (server, anna, other, list, items)
  }

  private func changes(_ server: TestServer, _ reader: TestDevice, _ zone: String, since: String) throws
    -> HTTPResponse
  {
    try server.respond(
      to: TestServer.request(
        "GET", "/v1/zones/\(zone)/changes?limit=1&since=\(since)", [], token: reader.token))
  }

  @Test("I7, I11: a zone whose pages end before what was purged comes whole, and is not reset")
  func purgedBeforeDownload() throws {
    let (server, _, other, list, items) = try purgedDownload()
    for _ in 0..<20 {
      let answer = try other.sync()
      #expect(!answer.parts.contains(where: \.isReset) && !answer.mustResend)
    }
    #expect(try other.sync().parts.isEmpty)
    #expect(other.all("items").count == 5 && !other.has("items", items[5]))
    // Over REST, where nothing is kept of it.
    var (since, isWhole) = ("", false)
    for _ in 0..<20 where !isWhole {
      let page = try changes(server, other, list, since: since)
      #expect(page.status == 200)
      let answer = try JSONValue(parsing: page.body)
      since = try #require(answer["to"]?.stringValue)
      isWhole = answer["more"]?.boolValue == false
    }
    #expect(isWhole)
  }

  @Test("I8: a download is fenced where more was purged since it began; it holds that while it acks")
  func purgedInDownload() throws {
    let (server, anna, other, list, items) = try purgedDownload()
    try anna.sync([.delete("items", items[0], at: Stamp(milliseconds: server.world.now))])
    try anna.pull()
    server.world.advance(2 * Self.day)
    _ = try anna.sync(complete: true)
    #expect(try purge(server).tombstones == 0)
    let token = try #require(other.acks[list])
    #expect(try changes(server, anna, list, since: token).status == 200)
    var hasty = Retention()
    hasty.devices = .seconds(60)
    #expect(try purge(server, hasty).tombstones == 1)
    #expect(try changes(server, anna, list, since: token).status == 410)
    let answer = try other.sync(complete: true)
    #expect(answer.parts.contains { $0.zone == list && $0.isReset })
    try other.pull()
    #expect(!other.has("items", items[0]) && other.all("items").count == 4)
  }

  @Test("I12: a zone that is to be resynced, of which the device has nothing, comes when it says so")
  func resetOfNothing() throws {
    let (server, anna, _, list, _) = try scene()
    #expect(try Administration(server.location).reset(.user("anna"), zone: list) == 1)
    // As a device does that was restored from a backup of before.
    anna.acks[list] = nil
    for _ in 0..<2 {
      #expect(try anna.sync(complete: true).parts.map(\.isReset) == [true])
      anna.acks[list] = nil
    }
    anna.acks[list] = ""
    let part = try #require(try anna.sync(complete: true).parts.first)
    #expect(part.zone == list && part.from.isEmpty && !part.isReset)
    #expect(try anna.sync().parts.isEmpty)
  }

  @Test("I11: a departure goes as a deletion does, and the record lives on")
  func departures() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let (from, to) = (try anna.makeList(), try anna.makeList("Other"))
    let item = try anna.makeItem(from)
    try anna.sync([
      .update(
        "items", item, ["list_id": .string(to)], base: ["list_id": .string(from)],
        at: Stamp(milliseconds: server.world.now))
    ])
    try anna.pull()
    #expect(try tombstones(server, from) == 1)
    server.world.advance(2 * Self.day)
    _ = try anna.sync(complete: true)
    #expect(try purge(server).tombstones == 1)
    try anna.pull()
    #expect(anna.has("items", item))
    #expect(try server.findings().isEmpty)
  }

  @Test("I11: conflicts leave after 90 days, from devices too")
  func conflicts() throws {
    let (server, anna, bert, _, items) = try scene()
    try bert.pull()
    try anna.sync([.update("items", items[2], ["title": "a"], base: ["title": "item 2"])])
    try bert.sync([.update("items", items[2], ["title": "b"], base: ["title": "item 2"])])
    try anna.pull()
    try bert.pull()
    #expect(anna.all("conflicts").count == 1)
    for _ in 0..<3 {
      server.world.advance(29 * Self.day)
      _ = try anna.sync(complete: true)
      _ = try bert.sync(complete: true)
      #expect(try purge(server).conflicts == 0)
    }
    server.world.advance(4 * Self.day)
    #expect(try purge(server).conflicts == 1)
    try anna.pull()
    try bert.pull()
    #expect(anna.all("conflicts").isEmpty && bert.all("conflicts").isEmpty)
    server.world.advance(2 * Self.day)
    #expect(try purge(server).tombstones == 1)
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "I11: answers to requests go after a day, kept results when they expire, `created` with the tombstone")
  func requests() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    let item = anna.newID()
    var request = TestServer.request(
      "POST", "/v1/tables/items",
      JSONValue.object([
        .init("id", .string(item)), .init("columns", ["list_id": .string(list), "title": "Milk"]),
      ]).bytes, token: anna.token)
    request.headers.append(name: "Idempotency-Key", value: "one")
    let made = try server.respond(to: request)
    #expect(made.status == 201, "\(String(decoding: made.body, as: UTF8.self))")
    for _ in 0..<2 { _ = try anna.makeItem(list) }
    let page = try server.respond(
      to: TestServer.request("GET", "/v1/tables/items?limit=1", [], token: anna.token))
    #expect(page.status == 200)
    try anna.pull()
    try anna.sync([.delete("items", item, at: Stamp(milliseconds: server.world.now))])
    try anna.pull()
    server.world.advance(Self.day)
    let purged = try purge(server)
    #expect(purged.answers == 1)
    #expect(purged.results == 1)
    #expect(purged.created == 1)
    #expect(purged.tombstones == 1)
    #expect(try purge(server) == Purged())
  }
}
