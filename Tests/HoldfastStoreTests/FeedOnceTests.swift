import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import ServerScenes
import Testing

/// A record is in a zone's feed once, whatever lives it had. Invariants I4, I8.
@Suite struct FeedOnceTests {
  let server: TestServer
  let alice: TestDevice
  let lists: [String]

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    lists = [try alice.makeList("One"), try alice.makeList("Two"), try alice.makeList("Three")]
  }

  /// The changes of a zone from its beginning.
  private func feed(_ zone: String) throws -> [JSONValue] {
    let reply = try RestClient(alice).get("/v1/zones/\(zone)/changes")
    return reply.json["changes"]?.elements ?? []
  }

  /// Demands that each zone has each record once, and that a new device comes to what the others have.
  private func check() throws {
    for zone in lists {
      let names = try feed(zone).map { "\($0["table"]?.stringValue ?? "") \($0["id"]?.stringValue ?? "")" }
      #expect(TextSet(names).count == names.count, "\(names.sorted())")
    }
    try alice.pull()
    let fresh = try server.signIn("alice")
    try fresh.pull()
    #expect(fresh.records == alice.records)
    #expect(try server.findings().isEmpty)
  }

  private func move(_ item: String, to list: Int) -> Sent {
    .update("items", item, ["list_id": .string(lists[list])], rev: 99)
  }

  private func restore(_ item: String, in list: Int) -> Sent {
    .create(
      "items", item, ["list_id": .string(lists[list]), "title": "Back"],
      at: Stamp(milliseconds: server.world.now))
  }

  @Test("a record that moved away, was deleted there and is restored here is in the feed once (I8)")
  func restoredWhereItLeft() throws {
    let item = try alice.makeItem(lists[0])
    for operation in [move(item, to: 1), .delete("items", item, rev: 99), restore(item, in: 0)] {
      #expect(try alice.sync([operation]).refused.isEmpty)
    }
    try check()
    #expect(try feed(lists[0]).last?["deleted"] == nil)
    #expect(try feed(lists[1]).contains { $0["id"] == .string(item) && $0["deleted"] == true })
    #expect(alice.records["items \(item)"]?.zone == lists[0])
  }

  @Test("whatever moves, deletions and restores a record goes through, it is in each feed once (I4, I8)")
  func anyLives() throws {
    var state: UInt64 = 7
    func next(_ count: UInt64) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % count)
    }
    let items = [try alice.makeItem(lists[0]), try alice.makeItem(lists[1])]
    for step in 0..<60 {
      let item = items[next(2)]
      let operation: Sent =
        switch next(3) {
        case 0: move(item, to: next(3))
        case 1: .delete("items", item, rev: 99)
        default: restore(item, in: next(3))
        }
      server.world.advance(1)
      try alice.sync([operation])
      if step % 20 == 19 { try check() }
    }
  }
}
