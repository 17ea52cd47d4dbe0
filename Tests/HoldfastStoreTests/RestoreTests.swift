import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

@Suite("A restored server")
struct RestoreTests {
  private func returned(
    _ device: TestDevice, _ items: [JSONValue]
  ) throws -> (answer: SyncAnswer, refused: [ProblemCode]) {
    var members: [JSONValue.Member] = [
      .init("protocol", 1), .init("acknowledged_refusals", .integer(device.answers)),
      .init("digest", .string(device.digest)), .init("recovered", .array(items)),
    ]
    if !device.unsentAcks.isEmpty {
      let acks = device.unsentAcks.map { JSONValue.Member($0.zone, $0.token.map { .string($0) } ?? .null) }
      members.append(.init("acks", .object(acks)))
    }
    let answer = try device.apply(device.server.post("/v1/sync", .object(members), token: device.token))
    let sent = try #require(answer.recovered)
    #expect(sent.count == Int64(items.count))
    return (answer, sent.refused.compactMap { Problem(document: $0.problem)?.code })
  }

  private func item(_ id: String, _ list: String, _ title: String, rev: Int64) -> JSONValue {
    [
      "table": "items", "id": .string(id), "zone": .string(list), "rev": .integer(rev),
      "columns": ["list_id": .string(list), "title": .string(title)],
    ]
  }

  private func deletion(_ id: String, _ list: String, rev: Int64) -> JSONValue {
    ["table": "items", "id": .string(id), "zone": .string(list), "rev": .integer(rev), "deleted": true]
  }

  /// Two devices of one user with a list, of which a backup was taken, after which one went on.
  private func lostDay() throws -> (
    TestServer, ahead: TestDevice, behind: TestDevice, list: String, item: String
  ) {
    let server = try TestServer()
    let ahead = try server.signUp("anna")
    let list = try ahead.makeList()
    let item = try ahead.makeItem(list)
    let behind = try server.signIn("anna")
    try behind.pull()
    try ahead.pull()
    let backup = try server.backUp()
    try ahead.sync([.update("items", item, ["title": "Oat milk"])])
    try ahead.pull()
    let restored = try server.restored(backup)
    ahead.server = restored
    behind.server = restored
    return (restored, ahead, behind, list, item)
  }

  /// Brings a device that is ahead to the zone's new beginning.
  private func begin(_ device: TestDevice) throws {
    let first = try device.sync(complete: true)
    #expect(first.parts.contains { $0.isReset && $0.isRestored })
    try device.pull()
  }

  @Test(
    "a device that is not ahead goes on from its token without a reset, and gets one of the new epoch (I4)")
  func notAhead() throws {
    let (_, _, behind, list, _) = try lostDay()
    let before = behind.acks[list]
    #expect(try behind.sync().mustResend)
    let answer = try behind.sync(complete: true)
    #expect(!answer.parts.isEmpty)
    #expect(answer.parts.allSatisfy { !$0.isReset && $0.from == (before ?? "") || $0.zone != list })
    #expect(behind.acks[list] != before)
    let title = try behind.makeItem(list, "Bread")
    try behind.pull()
    #expect(behind.has("items", title))
  }

  @Test("a device that is ahead is told so before its change sets are looked at (I3)")
  func ahead() throws {
    let (_, ahead, _, list, _) = try lostDay()
    // A number that never arrived here.
    let gap = try ahead.server.respond(to: ahead.request([[.update("items", list, ["title": "x"])]]))
    #expect(gap.status == 409)
    let body =
      "{\"protocol\":1,\"acknowledged_refusals\":\(ahead.answers),\"digest\":\"\(ahead.digest)\"}"
    let response = try ahead.server.respond(
      to: TestServer.request("POST", "/v1/sync", Array(body.utf8), token: ahead.token))
    #expect(try SyncAnswer(body: response.body).mustResend)
    try begin(ahead)
    #expect(ahead.records.values.contains { $0.columns["title"] == "Milk" })
  }

  @Test("an edit and a record that the restore has lost come back, and once (I1, I2)")
  func recovered() throws {
    let (server, ahead, behind, list, item) = try lostDay()
    try begin(ahead)
    let new = ahead.newID()
    let items = [self.item(item, list, "Oat milk", rev: 2), self.item(new, list, "Bread", rev: 1)]
    for _ in 0..<3 { #expect(try returned(ahead, items).refused.isEmpty) }
    try ahead.pull()
    _ = try behind.sync()
    try behind.sync(complete: true)
    try behind.pull()
    for device in [ahead, behind] {
      #expect(device.column("items", item, "title") == "Oat milk")
      #expect(device.records["items \(item)"]?.rev == 2)
      #expect(device.records["items \(new)"]?.rev == 1)
    }
    #expect(try server.findings().isEmpty)
    let report = try Administration(server.location).restoreReport().rows.first { $0[0] == list }
    // One change was lost, of which two records came: nothing is missing.
    #expect(report?.suffix(3) == ["2", "0", "0"])
  }

  @Test("an edit made since the restore stays, and what was recovered is logged (I3)")
  func conflict() throws {
    let (server, ahead, behind, list, item) = try lostDay()
    _ = try behind.sync()
    try behind.sync(complete: true)
    try behind.pull()
    try behind.sync([.update("items", item, ["title": "Soy milk"])])
    try begin(ahead)
    #expect(try returned(ahead, [self.item(item, list, "Oat milk", rev: 2)]).refused.isEmpty)
    try ahead.pull()
    try behind.pull()
    #expect(ahead.column("items", item, "title") == "Soy milk")
    #expect(ahead.records == behind.records)
    let logged = ahead.all("conflicts").filter { $0["policy"] == "restore" }
    #expect(logged.map { $0["loser_value"] } == ["Oat milk"])
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "of a record that was changed more often since, the lost edits are told from what the backup has (I3)")
  func changedMoreOften() throws {
    let (server, ahead, behind, list, item) = try lostDay()
    _ = try behind.sync()
    try behind.sync(complete: true)
    try behind.pull()
    for number in 1...4 { try behind.sync([.update("items", item, ["title": .string("Milk \(number)")])]) }
    try begin(ahead)
    func logged() throws -> [JSONValue?] {
      try ahead.pull()
      return ahead.all("conflicts").filter { $0["policy"] == "restore" }.map { $0["loser_value"] }
    }
    #expect(try returned(ahead, [self.item(item, list, "Milk", rev: 1)]).refused.isEmpty)
    #expect(try logged().isEmpty)
    #expect(try returned(ahead, [self.item(item, list, "Oat milk", rev: 2)]).refused.isEmpty)
    #expect(try logged() == ["Oat milk"])
    #expect(ahead.records["items \(item)"]?.rev == 5)
    let both: JSONValue = [
      "table": "items", "id": .string(item), "zone": .string(list), "rev": 3,
      "columns": ["list_id": .string(list), "title": "Oat milk", "note": "the cold one"],
    ]
    for _ in 0..<2 { #expect(try returned(ahead, [both]).refused.isEmpty) }
    #expect(try logged().count == 2)
    try behind.pull()
    for device in [ahead, behind] {
      #expect(device.column("items", item, "title") == "Milk 4")
      #expect(device.column("items", item, "note") == "the cold one")
      #expect(device.records["items \(item)"]?.rev == 6)
    }
    #expect(try server.findings().isEmpty)
  }

  @Test("a deletion is recovered, and an earlier life of the record does not come back (I8)")
  func deletions() throws {
    let (server, ahead, behind, list, item) = try lostDay()
    try begin(ahead)
    let unknown = ahead.newID()
    #expect(
      try returned(ahead, [deletion(item, list, rev: 3), deletion(unknown, list, rev: 2)]).refused.isEmpty)
    try begin(behind, isAhead: false)
    let late = [self.item(item, list, "Oat milk", rev: 2), self.item(unknown, list, "Ghost", rev: 1)]
    #expect(try returned(behind, late).refused.isEmpty)
    try behind.pull()
    try ahead.pull()
    for device in [ahead, behind] {
      #expect(!device.has("items", item))
      #expect(!device.has("items", unknown))
    }
    #expect(try server.findings().isEmpty)
  }

  private func begin(_ device: TestDevice, isAhead: Bool) throws {
    _ = try device.sync()
    try device.sync(complete: true)
    try device.pull()
  }

  @Test("a record that was moved is recovered as gone by who sees one zone, and lives in the other (I7)")
  func moved() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let (list, other) = (try anna.makeList(), try anna.makeList())
    let items = [try anna.makeItem(list), try anna.makeItem(list)]
    let second = try server.signIn("anna")
    try anna.pull()
    let restored = try server.restored()
    for device in [anna, second] {
      device.server = restored
      try begin(device, isAhead: false)
    }
    // Before the record comes from where it went, and after.
    #expect(try returned(second, [deletion(items[0], list, rev: 2)]).refused.isEmpty)
    #expect(try returned(anna, items.map { item($0, other, "Moved", rev: 2) }).refused.isEmpty)
    #expect(try returned(second, [deletion(items[1], list, rev: 2)]).refused.isEmpty)
    // And an earlier life from where it was leaves that zone.
    #expect(try returned(second, [item(items[0], list, "Before", rev: 1)]).refused.isEmpty)
    for device in [anna, second] {
      try device.pull()
      for id in items { #expect(device.column("items", id, "list_id") == .string(other)) }
      #expect(device.all("conflicts").isEmpty)
    }
    #expect(try restored.findings().isEmpty)
  }

  @Test("the deletion of a root of which the backup knows nothing is recovered with the zone (I8)")
  func deletedRoot() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let late = try server.signIn("anna")
    let backup = try server.backUp()
    let list = try anna.makeList("Late")
    for device in [late, anna] { try device.pull() }
    try anna.sync([.delete("lists", list)])
    try anna.pull()
    let restored = try server.restored(backup)
    for device in [anna, late] {
      device.server = restored
      try device.sync(complete: true)
      try device.pull()
    }
    func root(_ rest: [JSONValue.Member]) -> JSONValue {
      .object([.init("table", "lists"), .init("id", .string(list)), .init("zone", .string(list))] + rest)
    }
    let deleted = root([.init("rev", 2), .init("deleted", true)])
    #expect(try returned(anna, [deleted]).refused.isEmpty)
    #expect(
      try returned(late, [root([.init("rev", 1), .init("columns", ["title": "Late"])])]).refused.isEmpty)
    for device in [anna, late] {
      try device.pull()
      #expect(!device.has("lists", list))
    }
    #expect(try restored.findings().isEmpty)
  }

  @Test("what is deleted since is remembered until all live devices were heard (I8), and no longer (I11)")
  func unseenSinceRestore() throws {
    let (server, ahead, behind, list, item) = try lostDay()
    try begin(ahead)
    try ahead.sync([.delete("items", item)])
    func tombstones() throws -> Int64? {
      try server.integer(
        "SELECT count(*) FROM holdfast_tombstones WHERE zone = '\(list)'",
        "SELECT count(*) FROM holdfast.records WHERE state > 0 AND zone = '\(list)'")
    }
    server.world.advance(2 * 86_400_000)
    try ahead.pull()
    try #require(server.inline).purge()
    #expect(try tombstones() == 1)
    try begin(behind, isAhead: false)
    try behind.pull()
    try #require(server.inline).purge()
    #expect(try tombstones() == 0)
  }

  @Test(
    "what is known of the history before a restore goes when no live device can hand any of it back (I11)")
  func lostHistory() throws {
    let (server, ahead, _, list, item) = try lostDay()
    try begin(ahead)
    #expect(try returned(ahead, [self.item(item, list, "Oat milk", rev: 2)]).refused.isEmpty)
    func known() throws -> Int64? {
      try server.integer(
        "SELECT (SELECT count(*) FROM holdfast_recovered_records) + (SELECT count(*) FROM holdfast_claimed_seqs)",
        "SELECT (SELECT count(*) FROM holdfast.recovered_records) + (SELECT count(*) FROM holdfast.claimed_seqs)"
      )
    }
    let before = try #require(try known())
    #expect(before > 3)
    server.world.advance(179 * 86_400_000)
    try ahead.pull()
    #expect(try #require(server.inline).purge().lostHistory == 0)
    server.world.advance(2 * 86_400_000)
    try ahead.pull()
    #expect(try #require(server.inline).purge().lostHistory == Int(before))
    #expect(try known() == 0)
    #expect(try server.findings().isEmpty)
  }

  @Test("a zone that is to be resynced by what the backup says is resynced once (I11)")
  func resetOfBefore() throws {
    let server = try TestServer()
    let device = try server.signUp("anna")
    let list = try device.makeList()
    try device.pull()
    let administration = try Administration(server.location, environment: server.world.environment)
    try administration.reset(.device(device.id), zone: nil)
    device.server = try server.restored(server.backUp())
    #expect(try device.sync().mustResend)
    // It has begun a zone again a moment ago, and waits.
    for _ in 0..<2 {
      let answer = try SyncAnswer(body: device.server.respond(to: device.request([], complete: true)).body)
      #expect(answer.parts.allSatisfy { $0.isReset && !$0.isRestored } && answer.parts.count == 2)
    }
    let waiting = try device.sync()
    #expect(!waiting.mustResend && waiting.parts.allSatisfy(\.isReset))
    #expect(try device.sync().parts.allSatisfy { !$0.isReset })
    #expect(device.has("lists", list))
    // So too when the first thing that it says is that it begins them again.
    try administration.reset(.device(device.id), zone: nil)
    device.server = try server.restored(server.backUp())
    for zone in device.acks.keys { device.acks[zone] = "" }
    device.unsentAcks = device.acks.map { .init(zone: $0.key, token: "") }
    #expect(try device.sync().parts.allSatisfy { !$0.isReset })
  }

  @Test("nobody recovers what they may not write (I10), and one refusal stops nothing else (I12)")
  func strangers() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    _ = try server.signUp("bert")
    _ = try anna.share(list, with: "bert", as: .viewer)
    let own = try server.signIn("bert")
    let restored = try server.restored()
    own.server = restored
    _ = try own.sync()
    try own.sync(complete: true)
    try own.pull()
    let forged = [
      item(own.newID(), list, "Forged", rev: 1),
      [
        "table": "notes", "id": .string(own.newID()), "zone": .string(own.user), "rev": 1,
        "columns": ["text": "Mine"],
      ],
      item(own.newID(), own.newID(), "Nowhere", rev: 1),
    ]
    #expect(try returned(own, forged).refused == [.roleInsufficient, .referenceMissing])
    try own.pull()
    #expect(own.all("notes").count == 1)
    #expect(own.all("items").isEmpty)
    #expect(try restored.findings().isEmpty)
  }

  @Test(
    "a zone that the restored server does not know is made again by its owner's device, also by one that was dead",
    arguments: [false, true])
  func unknownZone(isDead: Bool) throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    try anna.pull()
    let backup = try server.backUp()
    let list = try anna.makeList("New")
    try anna.pull()
    let restored = try server.restored(backup)
    anna.server = restored
    if isDead {
      restored.world.advance(20 * 86_400_000)
      try #require(restored.inline).purge(Retention(devices: .seconds(10 * 86_400)))
      #expect(try anna.sync().mustResend)
    }
    let answer = try anna.sync(complete: true)
    #expect(answer.lost.isEmpty)
    #expect(answer.awaitingRecovery.map { $0.isUnknown ? $0.zone : "" } == [list])
    try anna.pull()
    let root: JSONValue = [
      "table": "lists", "id": .string(list), "zone": .string(list), "rev": 1, "columns": ["title": "New"],
    ]
    #expect(try returned(anna, [root]).refused.isEmpty)
    try anna.pull()
    #expect(anna.column("lists", list, "title") == "New")
    #expect(try restored.findings().isEmpty)
  }

  @Test("a server that was never restored takes nothing back, and says a plain reset of a foreign token")
  func neverRestored() throws {
    let anna = try TestServer().signUp("anna")
    let new = item(anna.newID(), try anna.makeList(), "x", rev: 1)
    #expect(try returned(anna, [new]).refused == [.recordUnknown])
  }

  @Test("what has a wrong form is refused whole")
  func malformed() throws {
    let anna = try TestServer().signUp("anna")
    let list = try anna.makeList()
    let good = item(anna.newID(), list, "x", rev: 1)
    let wrong: [JSONValue] = [
      .array(Array(repeating: good, count: 501)), [["table": "items"]],
      [deletion(anna.newID(), list, rev: 0)], "x",
    ]
    for returns in wrong {
      let body: JSONValue = ["protocol": 1, "recovered": returns]
      #expect((400..<500).contains(try anna.server.post("/v1/sync", body, token: anna.token).status))
    }
  }
}
