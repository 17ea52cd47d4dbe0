import HoldfastCore
import HoldfastHTTP
@testable import HoldfastServer
@testable import HoldfastService
import ServerScenes
import Testing

/// PROTOCOL.md, section 9.4: a request with an id is done once.
@Suite struct RequestIDTests {
  let server: TestServer
  let alice: TestDevice
  let rest: RestClient
  let list: String

  init() throws {
    server = try TestServer(RestSchema.make())
    alice = try server.signUp("alice")
    rest = RestClient(alice)
    list = try rest.create("lists", ["title": "Groceries"])
  }

  private func item(_ title: String) -> JSONValue {
    ["columns": ["list_id": .string(list), "title": .string(title)]]
  }

  private func expectSame(_ reply: RestClient.Reply, as first: RestClient.Reply) {
    #expect(reply.isReplay && !first.isReplay)
    #expect(reply.status == first.status && reply.body == first.body)
    #expect(reply.headers.filter { $0.key != "Idempotency-Replayed" } == first.headers)
  }

  @Test(
    "a replayed create answers with the first answer, byte by byte, also after the record changed or went (I1)"
  )
  func replay() throws {
    let first = try rest.send("POST", "/v1/tables/items", item("Milk"), id: "a1")
    #expect(first.status == 201 && first.json["created_by_request_id"] == "a1")
    expectSame(try rest.send("POST", "/v1/tables/items", item("Milk"), id: "a1"), as: first)
    try rest.send("PATCH", "/v1/tables/items/\(first.id)", ["columns": ["title": "Tea"]])
    try rest.send("DELETE", "/v1/tables/items/\(first.id)")
    try server.reopen()
    expectSame(try rest.send("POST", "/v1/tables/items", item("Milk"), id: "a1"), as: first)
    try alice.pull()
    #expect(alice.all("items").isEmpty)
    #expect(try server.findings().isEmpty)
  }

  @Test("every write is replayed, and so is every refusal that looked at records (I1)")
  func all() throws {
    let id = try rest.create("items", ["list_id": .string(list), "title": "Milk", "amount": 1])
    let path = "/v1/tables/items/\(id)"
    let requests: [(String, String, JSONValue?)] = [
      ("PATCH", path, ["columns": ["amount": 2]]), ("PATCH", path, ["columns": ["amount": 99]]),
      ("PUT", path, item("Tea")), ("DELETE", path, nil), ("POST", path + "/restore", item("Back")),
      ("POST", path + "/restore", item("Back")), ("DELETE", "/v1/tables/items?ids=\(id),\(list)", nil),
      ("POST", "/v1/tables/items", ["records": [item("One"), item("Two")]]),
      ("POST", "/v1/batch", ["operations": [["op": "delete", "table": "items", "id": .string(id)]]]),
      ("PATCH", "/v1/tables/items/\(alice.newID())", ["columns": [:]]),
      ("DELETE", "/v1/tables/items/\(alice.newID())", nil),
    ]
    var firsts: [RestClient.Reply] = []
    for (number, request) in requests.enumerated() {
      firsts.append(try rest.send(request.0, request.1, request.2, id: "request \(number)"))
    }
    #expect(firsts.map(\.status) == [200, 422, 200, 200, 200, 409, 200, 200, 200, 404, 204])
    try alice.pull()
    let held = alice.records
    for (number, request) in requests.enumerated() {
      expectSame(try rest.send(request.0, request.1, request.2, id: "request \(number)"), as: firsts[number])
    }
    try alice.pull()
    #expect(alice.records == held)
  }

  @Test("an id of another request is refused, whatever differs, and nothing is done (I1)")
  func reused() throws {
    let first = try rest.send("POST", "/v1/tables/items", item("Milk"), id: "a1")
    let path = "/v1/tables/items/\(first.id)"
    for (method, target, body) in [
      ("POST", "/v1/tables/items", item("Tea")), ("POST", "/v1/tables/items?", item("Milk")),
      ("PUT", path, item("Milk")), ("DELETE", path, nil),
    ] {
      let reply = try rest.send(method, target, body, id: "a1")
      #expect(reply.status == 422 && reply.code == "request-id-reused" && !reply.isReplay)
    }
    #expect(try rest.get(path).body == first.body)
  }

  @Test("an id is that of one device, and only who sent it sees it (I10)")
  func owners() throws {
    let first = try rest.send("POST", "/v1/tables/items", item("Milk"), id: "a1")
    let phone = RestClient(try server.signIn("alice"))
    let second = try phone.send("POST", "/v1/tables/items", item("Milk"), id: "a1")
    #expect(second.status == 201 && !second.isReplay && second.id != first.id)
    let path = "/v1/tables/items/\(first.id)"
    #expect(try phone.get(path).json["created_by_request_id"] == "a1")
    let bob = try server.signUp("bob")
    let member = try rest.send(
      "POST", "/v1/tables/members", ["zone": .string(list), "columns": ["name": "bob", "role": "editor"]])
    try server.accept(member.id, by: "bob")
    #expect(try RestClient(bob).get(path).status == 200)
    #expect(try RestClient(bob).get(path).json["created_by_request_id"] == nil)
    let patched = try RestClient(bob).send("PATCH", path, ["columns": ["title": "Tea"]])
    #expect(patched.status == 200 && patched.json["created_by_request_id"] == nil)
    #expect(try rest.send("PATCH", path, ["columns": ["title": "Oat"]]).json["created_by_request_id"] == "a1")
    #expect(
      try rest.get("/v1/tables/items?ids=\(first.id)").results[0]["record"]?["created_by_request_id"] == "a1")
  }

  @Test("Idempotency-Key is the same thing by another name")
  func otherName() throws {
    let first = try rest.send("POST", "/v1/tables/items", item("Milk"), ["Idempotency-Key": "k"])
    expectSame(try rest.send("POST", "/v1/tables/items", item("Milk"), id: "k"), as: first)
    let both = try rest.send("POST", "/v1/tables/items", item("Milk"), id: "k", ["Idempotency-Key": "k"])
    #expect(both.isReplay)
    let two = try rest.send("POST", "/v1/tables/items", item("Milk"), id: "k", ["Idempotency-Key": "l"])
    #expect(two.code == "invalid-request")
    for field in ["Idempotency-Key", "X-Client-Request-ID"] {
      var twice = rest.request("POST", "/v1/tables/items", item("Tea"), [field: "m"])
      twice.headers.append(name: field, value: "n")
      #expect(RestClient.Reply(try server.respond(to: twice)).code == "invalid-request")
    }
    for id in ["", "ä", String(repeating: "x", count: 129)] {
      #expect(try rest.send("POST", "/v1/tables/items", item("Milk"), id: id).code == "invalid-request")
    }
    #expect(
      try rest.send("POST", "/v1/tables/items", item("Milk"), id: String(repeating: "~", count: 128)).status
        == 201)
  }

  @Test("what was refused before anything was looked up leaves no trace")
  func noTrace() throws {
    #expect(try rest.send("POST", "/v1/tables/items", text: "{").status == 400)
    var request = rest.request("POST", "/v1/tables/items", item("Milk"), id: "a1")
    request.body = Array("{".utf8)
    #expect(try server.respond(to: request).status == 400)
    #expect(
      try rest.send("POST", "/v1/tables/items", item("Milk"), id: "a1", ["Content-Type": "text/plain"]).status
        == 415)
    #expect(try rest.send("POST", "/v1/tables/nothing", item("Milk"), id: "a1").status == 404)
    #expect(try rest.send("POST", "/v1/tables/items", item("Milk"), id: "a1").status == 201)
  }

  @Test("equal requests that arrive at once are done once (I1)")
  func atOnce() throws {
    let requests = (0..<8).map { number in
      rest.request("POST", "/v1/tables/items", item("Milk"), id: "id \(number % 2)")
    }
    let replies = try #require(server.inline).respond(to: requests).map { RestClient.Reply($0) }
    #expect(replies.map(\.status) == [Int](repeating: 201, count: 8))
    #expect(TextSet(replies.map(\.id)).count == 2)
    #expect(replies.count { $0.isReplay } == 6)
    try alice.pull()
    #expect(alice.all("items").count == 2)
  }

  @Test(
    "after a day a replay that created records is answered with them as they are, others are done again (I1)")
  func later() throws {
    let made = try rest.send("POST", "/v1/tables/items", item("Milk"), id: "made")
    let bulk: JSONValue = ["records": [item("One"), ["columns": ["title": "x"]], item("Two")]]
    let many = try rest.send("POST", "/v1/tables/items", bulk, id: "many")
    #expect(many.statuses == [201, 422, 201])
    let path = "/v1/tables/items/\(made.id)"
    let patch: JSONValue = ["columns": ["amount": 3]]
    #expect(try rest.send("PATCH", path, patch, id: "patch").rev == 2)
    try rest.send("PATCH", path, ["columns": ["amount": 4]])
    server.world.advance(RequestRetention.time - 60_000)
    #expect(try rest.send("PATCH", path, patch, id: "patch").isReplay)
    server.world.advance(120_000)
    let repeated = try rest.send("POST", "/v1/tables/items", item("Milk"), id: "made")
    #expect(
      repeated.isReplay && repeated.status == 201 && repeated.id == made.id && repeated.column("amount") == 4)
    #expect(try rest.send("POST", "/v1/tables/items", item("Tea"), id: "made").code == "request-id-reused")
    let manyAgain = try rest.send("POST", "/v1/tables/items", bulk, id: "many")
    #expect(manyAgain.isReplay && manyAgain.statuses == [201, 422, 201])
    #expect(manyAgain.results[0]["record"] == many.results[0]["record"])
    let again = try rest.send("PATCH", path, patch, id: "patch")
    #expect(!again.isReplay && again.rev == 4)
    #expect(try rest.send("PATCH", path, patch, id: "patch").isReplay)
    try rest.send("DELETE", path)
    let gone = try rest.send("POST", "/v1/tables/items", item("Milk"), id: "made")
    #expect(gone.isReplay && gone.status == 410 && gone.rev == 5)
    try alice.pull()
    #expect(alice.all("items").count == 2)
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "of a request whose answer is forgotten, what it created is not created again, and a refusal is no success (I1)"
  )
  func forgotten() throws {
    let known = try rest.send("POST", "/v1/tables/items", item("Milk"))
    func update(_ title: JSONValue, _ more: [JSONValue.Member] = []) -> JSONValue {
      .object(
        [
          .init("op", "update"), .init("table", "items"), .init("id", .string(known.id)),
          .init("columns", ["title": title]),
        ] + more)
    }
    let create: JSONValue = [
      "op": "create", "table": "items", "columns": ["list_id": .string(list), "title": "New"],
    ]
    let batch: JSONValue = [
      "atomic": false, "operations": [create, update("never", [.init("if_match", 99)]), update("Tea")],
    ]
    let first = try rest.send("POST", "/v1/batch", batch, id: "mixed")
    #expect(first.statuses == [201, 412, 200])
    server.world.advance(RequestRetention.time + 60_000)
    for _ in 0..<2 {
      let again = try rest.send("POST", "/v1/batch", batch, id: "mixed")
      #expect(again.isReplay && again.statuses == [201, 412, 200])
      #expect(again.results[0]["record"] == first.results[0]["record"])
    }
    try alice.pull()
    #expect(alice.all("items").count == 2)
  }

  @Test("the answers of a device are bounded: the last thousand, and a day (I11)")
  func bounded() throws {
    let path = "/v1/tables/lists/\(list)"
    func patch(_ number: Int) -> HTTPRequest {
      rest.request("PATCH", path, ["columns": ["note": .string(String(number))]], id: String(number))
    }
    let inline = try #require(server.inline)
    for start in stride(from: 0, to: 1010, by: 101) {
      _ = inline.respond(to: (start..<start + 101).map(patch))
    }
    #expect(try kept() == 1000)
    #expect(!RestClient.Reply(inline.respond(to: patch(3))).isReplay)
    #expect(RestClient.Reply(inline.respond(to: patch(1009))).isReplay)
    server.world.advance(RequestRetention.time + 1000)
    for number in 2000..<2016 { _ = inline.respond(to: patch(number)) }
    #expect(try kept() == 16)
  }

  @Test(
    "short requests with long answers keep little, and replays show the records that have not changed (I1, I11)"
  )
  func amplified() throws {
    let note = String(repeating: "long ", count: 1800)
    let ids = try (0..<20).map { number in
      try rest.create(
        "items", ["list_id": .string(list), "title": .string("Item \(number)"), "note": .string(note)])
    }
    func send() throws -> RestClient.Reply {
      try rest.batch(
        ids.map { id -> JSONValue in
          ["op": "update", "table": "items", "id": .string(id), "columns": ["amount": 2]]
        }, id: "long")
    }
    let first = try send()
    #expect(first.status == 200 && first.body.count > 20 * note.count)
    expectSame(try send(), as: first)
    let bytes = try server.integer(
      "SELECT sum(bytes) FROM holdfast_requests", "SELECT sum(bytes)::bigint FROM holdfast.requests")
    #expect(try #require(bytes) < Int64(RestRun.keptSize))

    try rest.send("PATCH", "/v1/tables/items/\(ids[3])", ["columns": ["amount": 3]])
    try rest.send("DELETE", "/v1/tables/items/\(ids[4])")
    let later = try send()
    #expect(later.isReplay && later.statuses == first.statuses)
    for (index, (now, then)) in zip(later.results, first.results).enumerated() {
      let record = try #require(now["record"])
      #expect(record["rev"] == then["record"]?["rev"])
      #expect(record["columns"] == ([3, 4].contains(index) ? nil : then["record"]?["columns"]))
    }
    // A table keeps its records under another name.
    let text = String(decoding: try RestSchema.make().json.bytes, as: UTF8.self)
    try server.reopen(
      SyncSchema(
        json: Array(
          text.replacing(#""to":"items""#, with: #""to":"entries""#)
            .replacing(#""items":{"#, with: #""entries":{"was":["items"],"#).utf8)))
    let last = try send().results
    #expect(last[0]["record"]?["columns"] == first.results[0]["record"]?["columns"])
    #expect(last[0]["record"]?["table"] == "entries")
    #expect(try server.findings().isEmpty)
  }

  @Test("an answer is purged for those behind it when all of them are too large (I11)")
  func size() {
    let oldest = [(1, 0), (2, 9 << 20), (3, 10 << 20)].map {
      RequestRetention.Entry(number: $0.0, at: 5, before: Int64($0.1))
    }
    func expired(_ end: Int64, at: Int64 = 5) -> Int64? {
      RequestRetention.expired(oldest, number: 4, total: end, now: at)
    }
    #expect(expired(16 << 20) == nil)
    #expect(expired(16 << 20 + 1) == 1)
    #expect(expired(26 << 20 + 1) == 3)
    #expect(expired(1, at: 5 + RequestRetention.time) == 3)
  }

  /// How many answers are stored.
  private func kept() throws -> Int64? {
    try server.integer("SELECT count(*) FROM holdfast_requests", "SELECT count(*) FROM holdfast.requests")
  }
}
