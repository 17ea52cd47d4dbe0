import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer
@testable import HoldfastService

/// What a zone holds is counted, and bounded. Invariants I3, I11 and I12; docs/OPERATIONS.md, section 5.
@Suite struct ZoneLimitTests {
  let server: TestServer
  let alice: TestDevice
  let list: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    list = try alice.makeList("L")
  }

  /// What the row of the zone says.
  private func held(_ zone: String? = nil) throws -> ZoneCounts {
    let place = "WHERE zone = '\(zone ?? list)'"
    func read(_ column: String) throws -> Int64 {
      try server.integer(
        "SELECT \(column) FROM holdfast_zones \(place)", "SELECT \(column) FROM holdfast.zones \(place)")
        ?? -1
    }
    return ZoneCounts(records: try read("records"), bytes: try read("bytes"))
  }

  /// Serves the database with limits that leave a zone so much room.
  private func limit(records: Int64? = nil, bytes: Int64? = nil) throws {
    let held = try held()
    var limits = ZoneLimits()
    limits.records = records.map { held.records + $0 }
    limits.bytes = bytes.map { held.bytes + $0 }
    server.world.zoneLimits.withLock { $0 = limits }
    try server.reopen()
  }

  private func sound() throws { #expect(try server.findings() == []) }

  @Test("creates, updates and deletes are counted to the byte, what goes with them, too (I11)")
  func exact() throws {
    let empty = try held()
    let tag = alice.newID()
    try alice.sync([.create("tags", tag, ["list_id": .string(list), "name": "t\u{e4}g"])])
    // The id, the reference, and four bytes in UTF-8.
    #expect(try held() == ZoneCounts(records: empty.records + 1, bytes: empty.bytes + 36 + 36 + 4))
    let before = try held()
    let item = try alice.makeItem(list, "Milk")
    let made = try held()
    #expect(made == ZoneCounts(records: before.records + 1, bytes: before.bytes + 36 + 36 + 4 + 8))
    try alice.sync([.update("items", item, ["title": "Oat milk", "amount": 3, "tag_id": .string(tag)])])
    #expect(try held().bytes == made.bytes + 4 + 8 + 36)
    try alice.sync([.delete("tags", tag)])
    #expect(try held() == ZoneCounts(records: empty.records + 1, bytes: made.bytes + 4 + 8 - 76))
    try alice.sync([.update("items", item, ["title": "Tea", "amount": .null], rev: 3)])
    try alice.sync([.delete("items", item, rev: 4)])
    #expect(try held() == empty)
    try sound()
  }

  @Test("what moves is counted where it is, and a cascade takes all that it deletes out (I11)")
  func moved() throws {
    let other = try alice.makeList("O")
    let (first, second) = (try held(), try held(other))
    let item = try alice.makeItem(list)
    for number in 0..<5 { _ = try alice.makeItem(list, "\(number)") }
    let full = try held()
    try alice.sync([.update("items", item, ["list_id": .string(other)])])
    #expect(try held(other) == ZoneCounts(records: second.records + 1, bytes: second.bytes + 84))
    #expect(try held() == ZoneCounts(records: full.records - 1, bytes: full.bytes - 84))
    try alice.sync([.delete("lists", list)])
    // The membership of the owner stays.
    #expect(try held() == ZoneCounts(records: first.records - 1, bytes: first.bytes - 37))
    try sound()
  }

  @Test("a set that makes a full zone larger is refused alone; what shrinks it passes (I12)")
  func records() throws {
    let items = try (0..<3).map { try alice.makeItem(list, "\($0)") }
    let other = try alice.makeList("Other")
    try limit(records: 0)
    let (refused, free) = (alice.newID(), alice.newID())
    let answer = try alice.sync(
      [.create("items", refused, ["list_id": .string(list), "title": "no"])],
      [.create("items", free, ["list_id": .string(other), "title": "yes"])],
      [.update("items", items[0], ["title": "longer than it was"])], [.delete("items", items[1])])
    #expect(answer.refused.count == 1)
    #expect(answer.refused.first.flatMap { Problem(document: $0.problem) }?.code == .zoneFull)
    try alice.pull()
    #expect(alice.has("items", free) && !alice.has("items", items[1]))
    #expect(alice.column("items", items[0], "title") == "longer than it was")
    #expect(
      try alice.sync([.create("items", alice.newID(), ["list_id": .string(list), "title": "now"])]).refused
        .isEmpty)
    // One goes and another comes in one set.
    #expect(
      try alice.sync(
        [
          .delete("items", items[2]),
          .create("items", alice.newID(), ["list_id": .string(list), "title": "x"]),
        ]
      ).refused.isEmpty)
    try sound()
  }

  @Test("a request of REST that finds no room is answered 507, and is done when there is some (I1, I12)")
  func rest() throws {
    let item = try alice.makeItem(list)
    try limit(records: 0)
    let client = RestClient(alice)
    let body: JSONValue = ["columns": ["list_id": .string(list), "title": "more"]]
    let refused = try client.send("POST", "/v1/tables/items", body, id: "r-1")
    #expect(refused.status == 507 && refused.code == "zone-full")
    #expect(try client.send("POST", "/v1/tables/items", body, id: "r-1").status == 507)
    #expect(try client.send("DELETE", "/v1/tables/items/\(item)").status < 300)
    let made = try client.send("POST", "/v1/tables/items", body, id: "r-1")
    #expect(made.status == 201)
    let again = try client.send("POST", "/v1/tables/items", body, id: "r-1")
    #expect(again.isReplay && again.id == made.id)
    try sound()
  }

  @Test("bytes are bounded; a shorter text and a deletion pass, whatever they write to the log (I3, I12)")
  func bytes() throws {
    let item = try alice.makeItem(list, String(repeating: "x", count: 500))
    let phone = try server.signIn("alice")
    try phone.pull()
    try phone.sync([.update("items", item, ["note": "of the phone", "amount": 7])])
    try limit(bytes: 10)
    let longer = String(repeating: "y", count: 600)
    #expect(try alice.refused(.update("items", item, ["title": .string(longer)])).code == .zoneFull)
    #expect(try alice.sync([.update("items", item, ["title": "short"], rev: 2)]).refused.isEmpty)
    try limit(bytes: 10)
    // What the phone wrote is not known to who deletes: it goes to the log, which is longer than the record was.
    let before = try held().bytes
    #expect(try alice.sync([.delete("items", item, rev: 1)]).refused.isEmpty)
    #expect(try held().bytes > before)
    try alice.pull()
    #expect(alice.all("conflicts").contains { $0["loser_value"] == "of the phone" })
    try sound()
  }

  @Test("a long value that the record has is not copied to the log by edits that lose (I3, I11)")
  func longWinner() throws {
    let phone = try server.signIn("alice")
    let item = try alice.makeItem(list)
    let long = String(repeating: "w", count: 9000)
    try phone.pull()
    try alice.sync([
      .update("items", item, ["title": .string(long)], base: ["title": "Milk"], at: Stamp(milliseconds: 9000))
    ])
    let before = try held()
    for number in 0..<20 {
      try phone.sync([
        .update(
          "items", item, ["title": .string("lost \(number)")], base: ["title": "Milk"],
          at: Stamp(milliseconds: 8000))
      ])
    }
    let growth = try held().bytes - before.bytes
    #expect(growth < 20 * 600)
    #expect(try held().records == before.records)
    try alice.pull()
    let log = alice.records.filter { $0.key.hasPrefix("conflicts ") }
    #expect(TextSet(log.values.compactMap { $0.columns["loser_value"]?.stringValue }).count == 20)
    #expect(log.values.allSatisfy { $0.columns["winner_value"] == .null && $0.columns["winner_at"] == .null })
    let id = try #require(log.keys.sorted().first?.split(separator: " ").last)
    let client = RestClient(alice)
    let kept = try client.send("POST", "/v1/tables/conflicts/\(id)/resolve", ["take": "winner"])
    #expect(kept.status == 200 && kept.column("title") == .string(long))
    // A winner that is no longer than the loser is there.
    try phone.sync([
      .update(
        "items", item, ["title": .string(long + "l")], base: ["title": "Milk"], at: Stamp(milliseconds: 8000))
    ])
    try alice.pull()
    #expect(alice.all("conflicts").contains { $0["winner_value"] == .string(long) })
    try sound()
  }

  @Test("zones whose root record is deleted count no longer, from the same change set on (I11)")
  func ended() throws {
    // The own zone counts, too.
    server.world.limits.withLock { $0.zones = 3 }
    try server.reopen()
    let second = try alice.makeList("2")
    #expect(try alice.refused(.create("lists", alice.newID(), ["title": "3"])).code == .userLimit)
    #expect(
      try alice.sync([.delete("lists", second), .create("lists", alice.newID(), ["title": "3"])]).refused
        .isEmpty)
    #expect(try alice.refused(.create("lists", alice.newID(), ["title": "4"])).code == .userLimit)
    try alice.sync([.delete("lists", list)])
    let third = alice.newID()
    #expect(try alice.sync([.create("lists", third, ["title": "4"])]).refused.isEmpty)
    // Who brings one back is at the limit again.
    server.world.limits.withLock { $0.zonesOfDevice = 5 }
    try server.reopen()
    try alice.sync([.delete("lists", third)])
    #expect(try alice.refused(.create("lists", alice.newID(), ["title": "5"])).code == .userLimit)
    try sound()
  }

  @Test("the bytes of the zones that a user owns are bounded together, over all of them (I11, I12)")
  func bytesOfUser() throws {
    _ = try server.signUp("bob")
    let shared = try alice.makeList("Shared")
    _ = try alice.share(shared, with: "bob")
    let bob = try server.signIn("bob")
    try bob.pull()
    let limit: Int64 = 64 << 10
    server.world.limits.withLock { $0.bytes = limit }
    try server.reopen()
    let text = JSONValue.string(String(repeating: "x", count: 9000))
    var (items, refused) = ([String](), 0)
    for number in 0..<12 {
      let item = alice.newID()
      let place = number % 2 == 0 ? list : shared
      let answer = try alice.sync([
        .create("items", item, ["list_id": .string(place), "title": "x", "note": text])
      ])
      if answer.refused.isEmpty { items.append(item) } else { refused += 1 }
    }
    let held = try [list, shared].reduce(0) { $0 + (try self.held($1).bytes) }
    // The rest is less than what a record takes.
    #expect(refused > 0 && held <= limit && held > limit - 10_000)
    #expect(
      try alice.refused(.create("lists", alice.newID(), ["title": text])).code == .valueTooLong)
    #expect(
      try alice.refused(
        .create("items", alice.newID(), ["list_id": .string(list), "title": "x", "note": text])
      )
      .code == .userLimit)
    // Another's list is not of the user's room, nor is it the other way round.
    let own = try bob.makeList("Bob's")
    #expect(
      try bob.sync([.create("items", bob.newID(), ["list_id": .string(own), "title": "x", "note": text])])
        .refused.isEmpty)
    #expect(
      try bob.sync([.create("items", bob.newID(), ["list_id": .string(shared), "title": "x"])]).refused
        .isEmpty)
    // What makes room passes, and so does what then fits.
    for item in items.prefix(3) { #expect(try alice.sync([.delete("items", item)]).refused.isEmpty) }
    #expect(
      try alice.sync([
        .create("items", alice.newID(), ["list_id": .string(list), "title": "x", "note": text])
      ])
      .refused.isEmpty)
    try sound()
  }

  @Test("the room of a user is summed up seldom, and never passed by more than a sum leaves (I11)")
  func sums() {
    var (room, sums, stored) = (UserRoom(), 0, Int64(0))
    func take(_ growth: Int64) -> Bool {
      let fits = room.take(growth, of: "u", limit: 10 << 30) {
        sums += 1
        return stored
      }
      if fits { stored += growth }
      return fits
    }
    while take(100_000) {}
    #expect(stored <= 10 << 30 && stored > (10 << 30) - 100_000)
    #expect(sums < 1200)
    stored = 0
    #expect(take(100_000))
  }

  @Test("the doctor finds what a zone says wrongly, and the repair mends it")
  func repaired() throws {
    _ = try alice.makeItem(list)
    let right = try held()
    for (records, bytes) in [(0, 0), (7, 1 << 40)] {
      try server.change(
        sqlite: "UPDATE holdfast_zones SET records = \(records), bytes = \(bytes) WHERE zone = '\(list)'",
        postgres: "UPDATE holdfast.zones SET records = \(records), bytes = \(bytes) WHERE zone = '\(list)'")
      #expect(try server.findings().map { $0.hasPrefix("counts: the zone \(list)") } == [true])
      #expect(try DatabaseRepair(server.location).run() == ["repaired: what 1 zones hold"])
      #expect(try held() == right)
      try sound()
    }
  }

  @Test("a restore, and the end of a conflict in the log, leave the counts right (I2, I11)")
  func kept() throws {
    let phone = try server.signIn("alice")
    let item = try alice.makeItem(list)
    try phone.pull()
    let before = try held()
    try alice.sync([.update("items", item, ["note": "one"], base: ["note": .null])])
    try phone.sync([.update("items", item, ["note": "two"], base: ["note": .null])])
    let logged = try held()
    #expect(logged.bytes > before.bytes + 3 && logged.records == before.records)
    let restored = try server.restored()
    #expect(try restored.findings() == [])
    server.world.advance(91 * 86_400_000)
    #expect(try #require(server.inline).purge().conflicts == 1)
    #expect(try held() == ZoneCounts(records: before.records, bytes: before.bytes + 3))
    try sound()
  }
}
