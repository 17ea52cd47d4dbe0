import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

@Suite("Deltas")
struct DeltaTests {
  private let server: TestServer
  private let alice: TestDevice
  private let bob: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    bob = try server.signUp("bob")
  }

  @Test(
    "who follows a collection from empty by deltas has what a whole read gives, whatever happens (I4, I7, I10)"
  )
  func follow() throws {
    var follower = DeltaFollower(device: bob, target: "/v1/tables/items")
    try follower.follow()
    #expect(follower.records.isEmpty)
    var random = TestRandom(seed: 5)
    let lists = try (0..<4).map { try alice.makeList("list \($0)") }
    var memberships: [Int: String] = [:]
    var items: [String] = []
    for turn in 0..<150 {
      let place = Int.random(in: lists.indices, using: &random)
      let list = JSONValue.string(lists[place])
      switch Int.random(in: 0..<8, using: &random) {
      case 0, 1, 2:
        items.append(alice.newID())
        try alice.sync([
          .create("items", items[items.count - 1], ["list_id": list, "title": .string("\(turn)")])
        ])
      case 3:
        if let id = items.randomElement(using: &random) {
          try alice.sync([.update("items", id, ["title": .string("changed \(turn)")])])
        }
      case 4, 5:
        if let id = items.randomElement(using: &random) {
          try alice.sync([.update("items", id, ["list_id": list])])
        }
      case 6:
        if let id = items.randomElement(using: &random) { try alice.sync([.delete("items", id)]) }
      default:
        if let membership = memberships.removeValue(forKey: place) {
          try alice.sync([.delete("members", membership)])
        } else {
          memberships[place] = try alice.share(lists[place], with: "bob", as: .viewer)
        }
      }
      if turn % 3 == 0 {
        try follower.follow()
        let differences = try follower.differences()
        #expect(differences == [], "turn \(turn)")
      }
    }
    #expect(follower.deltas > 10)
    #expect(try server.findings().isEmpty)
  }

  @Test("small answers: each delta says the state that it reached, and asking on ends with all (I5)")
  func more() throws {
    server.world.answerSize.withLock { $0 = 2000 }
    try server.reopen()
    let lists = try (0..<3).map { try alice.makeList("list \($0)") }
    for list in lists { _ = try alice.share(list, with: "bob") }
    var follower = DeltaFollower(device: bob, target: "/v1/tables/items")
    try follower.follow()
    let items = (0..<60).map { _ in alice.newID() }
    try alice.sync(
      items.enumerated().map {
        .create("items", $1, ["list_id": .string(lists[$0 % 3]), "title": "x"])
      })
    let first = try bob.get("/v1/tables/items", [("A-IM", "feed"), ("If-None-Match", follower.tag)])
    #expect(first.status == 226)
    #expect(first.body["more"] == true)
    #expect((1..<30).contains(first.ids.count))
    #expect(first.header("Last-Modified") == nil)
    var turn = 0
    for item in items {
      turn += 1
      try alice.sync([.update("items", item, ["list_id": .string(lists[turn % 3])])])
    }
    try follower.follow()
    #expect(follower.records.count == 60)
    #expect(try follower.differences() == [])
    // One zone has a state at each of its seqs.
    let zone = "/v1/tables/items?zone=\(lists[0])"
    let part = try bob.get(zone, [("If-Modified-Since", "Thu, 01 Jan 1970 00:00:01 GMT")])
    #expect(part.body["more"] == true)
    let seqs = part.records.compactMap { $0["seq"]?.integerValue }
    #expect(seqs.allSatisfy { $0 <= HTTPDate.seconds(part.modified) ?? 0 })
    #expect(seqs == seqs.sorted())
  }

  @Test("a delta has short forms, in the order of the changes, of the table alone, and the chosen columns")
  func form() throws {
    let list = try alice.makeList()
    let (one, two) = (try alice.makeItem(list), try alice.makeItem(list))
    let target = "/v1/tables/items?zone=\(list)&columns=title"
    let first = try alice.get(target)
    try alice.sync([
      .delete("items", one), .update("items", two, ["title": "new"]), .update("lists", list, ["title": "l"]),
    ])
    let answer = try alice.get(
      target, [("A-IM", "feed, gzip;q=1"), ("If-None-Match", "\"x\", W/\(first.tag)")])
    #expect(answer.status == 226)
    #expect(answer.header("IM") == "feed")
    #expect(answer.records.count == 2)
    #expect(answer.records[0]["id"]?.stringValue == one)
    #expect(answer.records[0]["deleted"] == true)
    #expect(answer.records[0]["zone"]?.stringValue == list)
    #expect(answer.records[1]["columns"] == ["title": "new"])
    #expect(answer.records[0]["seq"]?.integerValue ?? 0 < answer.records[1]["seq"]?.integerValue ?? 0)
    #expect(try alice.get(target, [("If-None-Match", answer.tag)]).status == 304)
    // Without A-IM, with more asked than the whole, and with If-Modified-Since.
    #expect(try alice.get(target, [("If-None-Match", first.tag)]).status == 200)
    for tail in ["&limit=5", "&count=true", "&order=title", "&where.list_id=\(list)"] {
      let whole = try alice.get(target + tail, [("A-IM", "feed"), ("If-None-Match", first.tag)])
      #expect(whole.status == 200)
      #expect(whole.ids == [two])
    }
    let plain = try alice.get(target, [("If-Modified-Since", first.modified)])
    #expect(plain.status == 200)
    #expect(plain.header("Cache-Control") == "no-store")
    #expect(plain.records == answer.records)
    #expect(plain.modified == answer.modified)
    let feed = try alice.get(target, [("A-IM", "feed"), ("If-Modified-Since", first.modified)])
    #expect(feed.status == 226)
    #expect(feed.records == answer.records)
    for date in ["Sun, 06 Nov 1994 08:49:37 GMT", "yesterday"] {
      #expect(try alice.get(target, [("If-Modified-Since", date)]).ids == [two])
    }
  }

  @Test("collections of several zones have no delta by date, those of one have: own and public ones too")
  func dates() throws {
    let list = try alice.makeList()
    _ = try alice.makeList("other")
    let several = try alice.get("/v1/tables/lists")
    let notes = try alice.get("/v1/tables/notes")
    let products = try alice.get("/v1/tables/products")
    try alice.sync(
      [.update("lists", list, ["title": "new"])], [.create("notes", alice.newID(), ["text": "n"])])
    let whole = try alice.get("/v1/tables/lists", [("If-Modified-Since", several.modified)])
    #expect(whole.ids.count == 2)
    #expect(whole.header("Cache-Control") == "private, no-cache")
    let delta = try alice.get("/v1/tables/notes", [("If-Modified-Since", notes.modified)])
    #expect(delta.header("Cache-Control") == "no-store")
    #expect(delta.ids.count == 1)
    #expect(try alice.get("/v1/tables/products", [("If-Modified-Since", products.modified)]).status == 304)
  }

  @Test("a date changes with every zone that a user leaves, also where no record changes (I10)")
  func left() throws {
    let (group, list) = (try alice.makeList("group"), try alice.makeList("list"))
    _ = try alice.share(group, with: "bob", as: .viewer)
    try alice.sync([
      .create(
        "members", alice.newID(), ["zone": .string(list), "group": .string(group), "role": "editor"])
    ])
    let targets = ["/v1/tables/lists", "/v1/tables/members", "/v1/zones"]
    let before = try targets.map { try bob.get($0) }
    #expect(before[0].ids.contains(list))
    #expect(try RestClient(bob).send("DELETE", "/v1/zones/\(list)/membership").status == 204)
    for (target, answer) in zip(targets, before) {
      let now = try bob.get(target, [("If-Modified-Since", answer.modified)])
      #expect(now.status == 200, "\(target)")
      #expect(!now.ids.contains(list))
    }
  }

  @Test("a state older than a zone remembers, or with a lost zone, is answered whole")
  func fenced() throws {
    let list = try alice.makeList()
    let membership = try alice.share(list, with: "bob")
    _ = try alice.makeItem(list)
    let first = try bob.get("/v1/tables/items")
    try alice.sync([.delete("members", membership)])
    let lost = try bob.get("/v1/tables/items", [("A-IM", "feed"), ("If-None-Match", first.tag)])
    #expect(lost.status == 200)
    #expect(lost.records == [])
    let before = try alice.get("/v1/tables/items?zone=\(list)")
    let item = try alice.makeItem(list)
    try server.change(
      sqlite: "UPDATE holdfast_zones SET purged = seq", postgres: "UPDATE holdfast.zones SET purged = seq")
    let target = "/v1/tables/items?zone=\(list)"
    #expect(try alice.get(target, [("A-IM", "feed"), ("If-None-Match", before.tag)]).status == 200)
    #expect(try alice.get(target, [("If-Modified-Since", before.modified)]).ids.contains(item))
    #expect(try alice.get(target, [("If-Modified-Since", before.modified)]).ids.count == 2)
  }

  @Test("a collection of more than 64 zones is answered whole, or not at all when nothing changed")
  func manyZones() throws {
    let lists = (0..<70).map { _ in alice.newID() }
    try alice.sync(lists.map { .create("lists", $0, ["title": "x"]) })
    let first = try alice.get("/v1/tables/lists?limit=1000").tag
    let whole = try alice.get("/v1/tables/lists", [("If-None-Match", first), ("A-IM", "feed")])
    #expect(whole.status == 304)
    try alice.sync([.update("lists", lists[0], ["title": "y"])])
    let changed = try alice.get("/v1/tables/lists", [("If-None-Match", first), ("A-IM", "feed")])
    #expect(changed.status == 200)
    #expect(changed.ids.count == 70)
  }
}
