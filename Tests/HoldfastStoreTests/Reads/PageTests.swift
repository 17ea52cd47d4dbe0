import HoldfastCore
import HoldfastHTTP
import HoldfastSQLite
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

@Suite("Pages of a result")
struct PageTests {
  private let server: TestServer
  private let alice: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
  }

  private func fill(_ list: String, _ count: Int) throws -> [String] {
    let ids = (0..<count).map { _ in alice.newID() }
    try alice.sync(ids.map { .create("items", $0, ["list_id": .string(list), "title": "x"]) })
    return ids
  }

  @Test(
    "a pager beside four writers who insert, delete and move sees exactly the ids of its first moment (I5)")
  func noShift() throws {
    let lists = try [alice.makeList("one"), alice.makeList("two")]
    let ids = try fill(lists[0], 700) + fill(lists[1], 700)
    let writers = try (0..<4).map { _ in try server.signIn("alice") }
    for writer in writers { try writer.pull() }
    var random = TestRandom(seed: 3)
    let seen = try alice.allIDs("/v1/tables/items?limit=37") {
      for writer in writers {
        guard let id = ids.randomElement(using: &random) else { continue }
        let new = writer.newID()
        let list = JSONValue.string(lists[Int.random(in: 0...1, using: &random)])
        try writer.sync(
          [.create("items", new, ["list_id": list, "title": "new"])],
          [.update("items", id, ["list_id": list])],
          [.delete("items", ids.randomElement(using: &random) ?? id)])
      }
    }
    #expect(seen == ids.sorted())
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "later pages have the values of now, the short form of what was deleted, and little of what left the visible (I10)"
  )
  func now() throws {
    let list = try alice.makeList()
    let other = try alice.makeList("other")
    let ids = try fill(list, 5).sorted()
    let bob = try server.signUp("bob")
    let membership = try alice.share(list, with: "bob", as: .viewer)
    let first = try bob.get("/v1/tables/items?limit=1")
    #expect(first.ids == [ids[0]])
    let next = try #require(first.next)
    try alice.sync([
      .update("items", ids[1], ["title": "changed"]), .delete("items", ids[2]),
      .update("items", ids[3], ["list_id": .string(other)]),
    ])
    var pages: [JSONValue] = []
    var address: String? = next
    while let target = address {
      let page = try bob.get(target)
      pages += page.records
      address = page.next
    }
    #expect(pages.count == 4)
    #expect(pages[0]["columns"]?["title"] == "changed")
    #expect(pages[1]["deleted"] == true)
    #expect(pages[1]["rev"] == 2)
    #expect(pages[1]["zone"]?.stringValue == list)
    #expect(pages[2] == ["table": "items", "id": .string(ids[3]), "deleted": true])
    #expect(pages[3]["columns"]?["title"] == "x")
    try alice.sync([.delete("members", membership)])
    #expect(try bob.get(next).records == [["table": "items", "id": .string(ids[1]), "deleted": true]])
  }

  @Test("a result is bound to its user, its table and its time, and a restart does not lose it")
  func bounds() throws {
    let list = try alice.makeList()
    _ = try fill(list, 3)
    let bob = try server.signUp("bob")
    _ = try alice.share(list, with: "bob")
    let next = try #require(try alice.get("/v1/tables/items?limit=1").next)
    let foreign = try bob.get(next)
    let unknown = try bob.get("/v1/tables/items?page=unknown.1")
    #expect(foreign.status == 410)
    #expect(foreign.code == "page-expired")
    #expect(foreign.response.body == unknown.response.body)
    #expect(try alice.get(next.replacing("/items", with: "/lists")).status == 410)
    #expect(try alice.get(next.replacing(".1", with: ".3")).status == 410)
    // Another node has them too.
    try server.reopen()
    #expect(try alice.get(next).status == 200)
    server.world.advance(899_999)
    #expect(try alice.get(next).status == 200)
    server.world.advance(1)
    #expect(try alice.get(next).status == 410)
  }

  @Test(
    "a user has ten results, the oldest goes first; expired ones of others go, too; one page keeps none (I11)"
  )
  func limits() throws {
    let list = try alice.makeList()
    _ = try fill(list, 3)
    let bob = try server.signUp("bob")
    _ = try alice.share(list, with: "bob")
    #expect(try alice.get("/v1/tables/items?limit=3").next == nil)
    #expect(try kept() == 0)
    var addresses: [String] = []
    for _ in 0..<12 {
      server.world.advance(1000)
      addresses.append(try #require(try alice.get("/v1/tables/items?limit=1").next))
    }
    #expect(try addresses.map { try alice.get($0).status } == [410, 410] + Array(repeating: 200, count: 10))
    #expect(try kept() == 10)
    server.world.advance(900_000)
    _ = try bob.get("/v1/tables/items?limit=1")
    #expect(try kept() == 1)
    #expect(try !server.dump().contains(addresses[11].split(separator: "=")[1].split(separator: ".")[0]))
  }

  @Test("a page ends when it has enough bytes, and the next goes on there")
  func size() throws {
    let list = try alice.makeList()
    let ids = (0..<30).map { _ in alice.newID() }
    let text = String(repeating: "x", count: 9000)
    try alice.sync(ids.map { .create("items", $0, ["list_id": .string(list), "title": .string(text)]) })
    server.world.answerSize.withLock { $0 = 50000 }
    try server.reopen()
    let first = try alice.get("/v1/tables/items?limit=30")
    #expect((2..<10).contains(first.ids.count))
    #expect(try alice.allIDs("/v1/tables/items?limit=30") == ids.sorted())
  }

  @Test("a result of as many records as the limit is kept whole, one of more is refused (I11)")
  func largest() throws {
    #expect(server.world.environment.resultLimit == 250_000)
    server.world.resultLimit.withLock { $0 = 300 }
    try server.reopen()
    let list = try alice.makeList()
    let ids = try fill(list, 301).sorted()
    let refused = try alice.get("/v1/tables/items")
    #expect(refused.status == 422)
    #expect(refused.code == "result-too-large")
    try alice.sync([.delete("items", ids[300])])
    let first = try alice.get("/v1/tables/items?limit=1&count=true")
    #expect(first.body["count"] == 300)
    let next = try #require(first.next).split(separator: ".")[0]
    let last = try alice.get("\(next).299")
    #expect(last.ids == [ids[299]])
    #expect(last.next == nil)
    #expect(try alice.get("\(next).300").status == 410)
    #expect(try alice.get("\(next).9223372036854775807").status == 410)
  }

  private func kept() throws -> Int {
    switch server.location {
    case .directory:
      return Int(try server.connection.value("SELECT count(*) FROM holdfast_results")?.integer ?? -1)
    case .postgres:
      return Int(try SQLWriter(server).texts("SELECT count(*)::text FROM holdfast.results")[0]) ?? -1
    }
  }

  @Test("a page after a column was renamed has its values")
  func renamed() throws {
    let list = try alice.makeList()
    _ = try fill(list, 3)
    let first = try alice.get("/v1/tables/items?limit=1&columns=title")
    let next = try #require(first.next)
    try server.reopen(SchemaChangeTests.renamed())
    let second = try RestClient(alice).get(next)
    #expect(second.json["records"]?.elements?.first?["columns"] == ["heading": "x"])
  }

  @Test("a page after one of its columns was removed is no more")
  func reduced() throws {
    _ = try fill(try alice.makeList(), 3)
    let next = try #require(try alice.get("/v1/tables/items?limit=1&columns=title,done").next)
    try server.reopen(SchemaChangeTests.reduced(), removals: .allow)
    #expect(try RestClient(alice).get(next).code == "page-expired")
  }
}
