import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

@Suite("Conditional requests")
struct ConditionalTests {
  private let server: TestServer
  private let alice: TestDevice
  private let list: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    list = try alice.makeList()
  }

  /// The addresses whose state is that of the list.
  private var addresses: [String] {
    ["/v1/tables/items", "/v1/tables/items?zone=\(list)", "/v1/tables/lists?limit=1", "/v1/zones"]
  }

  @Test("what has not changed is answered with 304 and nothing else")
  func notModified() throws {
    _ = try alice.makeItem(list)
    for address in addresses + ["/v1/zones/\(list)/changes"] {
      let first = try alice.get(address)
      #expect(first.status == 200)
      #expect(first.header("Cache-Control") == "private, no-cache")
      #expect(first.header("Vary") == "Authorization, Accept-Encoding, A-IM")
      for tag in [first.tag, "W/\(first.tag)", "\"x\", \(first.tag)"] {
        let again = try alice.get(address, [("If-None-Match", tag)])
        #expect(again.status == 304, "\(address)")
        #expect(again.response.body.isEmpty)
        #expect(again.tag == first.tag)
      }
      if address.hasSuffix("changes") { continue }
      #expect(try alice.get(address, [("If-Modified-Since", first.modified)]).status == 304)
      #expect(
        try alice.get(address, [("If-None-Match", "\"x\""), ("If-Modified-Since", first.modified)]).status
          == 200)
    }
  }

  @Test("two changes in one second are two states, and each change of a zone is one")
  func exact() throws {
    var seen: TextMap<TextSet> = [:]
    var dates: TextMap<[Int64]> = [:]
    for number in 0..<5 {
      if number > 0 { _ = try alice.makeItem(list) }
      for address in addresses {
        let answer = try alice.get(address)
        #expect(seen[address, default: []].insert(answer.tag).inserted)
        dates[address, default: []].append(try #require(HTTPDate.seconds(answer.modified)))
      }
    }
    for dates in dates.values { #expect(zip(dates, dates.dropFirst()).allSatisfy { $0 < $1 }) }
  }

  @Test("what a collection is not made of does not change it")
  func others() throws {
    _ = try alice.makeItem(list)
    let bob = try server.signUp("bob")
    let before = try addresses.map { try alice.get($0).tag }
    let notes = try alice.get("/v1/tables/notes").tag
    try bob.sync([.create("lists", bob.newID(), ["title": "his"])])
    #expect(try addresses.map { try alice.get($0).tag } == before)
    try alice.sync([.create("notes", alice.newID(), ["text": "mine"])])
    #expect(try addresses.prefix(3).map { try alice.get($0).tag } == before.dropLast())
    #expect(try alice.get("/v1/tables/notes").tag != notes)
    let products = try bob.get("/v1/tables/products")
    #expect(products.status == 200)
    _ = try alice.makeItem(list)
    #expect(try bob.get("/v1/tables/products").tag == products.tag)
  }

  @Test("a zone that is gained or lost is another state, and the date never returns to an earlier one (I10)")
  func gainedAndLost() throws {
    let bob = try server.signUp("bob")
    try bob.sync([.create("lists", bob.newID(), ["title": "his"])])
    var tags: [String] = []
    var dates: [Int64] = []
    func look() throws {
      let answer = try bob.get("/v1/tables/lists")
      #expect(tags.last != answer.tag)
      tags.append(answer.tag)
      dates.append(try #require(HTTPDate.seconds(answer.modified)))
    }
    try look()
    for _ in 0..<3 {
      let membership = try alice.share(list, with: "bob")
      try look()
      _ = try alice.makeItem(list)
      try look()
      try alice.sync([.delete("members", membership)])
      try look()
      #expect(try bob.get("/v1/tables/lists").ids.count == 1)
    }
    #expect(zip(dates, dates.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test("an ETag of somebody's invention is answered as if there were none")
  func invented() throws {
    let bob = try server.signUp("bob")
    try bob.sync([.create("lists", bob.newID(), ["title": "his"])])
    _ = try alice.makeItem(list)
    let foreign = try alice.get("/v1/tables/items").tag
    let epoch = "00000000"
    let own = try alice.get("/v1/zones").body["zones"]?.elements?.compactMap { $0["zone"]?.stringValue } ?? []
    let texts = [
      CollectionState(epoch: epoch, zones: own.sorted().map { ($0, 0) }).text,
      CollectionState(epoch: epoch, zones: [(list, .max)]).text, "", "AAAA", "*", "\\", "-gzip",
    ]
    for text in texts {
      let answer = try alice.get("/v1/tables/items", [("A-IM", "feed"), ("If-None-Match", "\"\(text)\"")])
      #expect(answer.status == 200, "\(text)")
      #expect(answer.header("IM") == nil)
      #expect(answer.records.count == 1)
    }
    let answer = try bob.get("/v1/tables/items", [("A-IM", "feed"), ("If-None-Match", foreign)])
    #expect(answer.status == 200)
    #expect(answer.records == [])
  }

  @Test("a restored database, which has another epoch, has none of the ETags")
  func otherEpoch() throws {
    let answer = try alice.get("/v1/tables/lists")
    try server.change(
      sqlite: "UPDATE holdfast_meta SET value = '00000001' WHERE key = 'epoch'",
      postgres: "UPDATE holdfast.meta SET value = '00000001' WHERE key = 'epoch'")
    try server.reopen()
    let again = try alice.get("/v1/tables/lists", [("A-IM", "feed"), ("If-None-Match", answer.tag)])
    #expect(again.status == 200)
    #expect(again.tag != answer.tag)
  }
}
