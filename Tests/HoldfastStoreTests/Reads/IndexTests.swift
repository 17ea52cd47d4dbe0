import Foundation
import HoldfastCore
import HoldfastHTTP
import HoldfastSQLite
import ServerScenes
import Testing

@testable import HoldfastServer

@Suite("Index: filters, order and columns")
struct IndexTests {
  private let server: TestServer
  private let alice: TestDevice

  init() throws {
    server = try TestServer(IndexSchema.schema())
    alice = try server.signUp("alice")
  }

  private static func escaped(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
  }

  private static let words = [
    "", "a", "ab", "a%", "a_b", "A", "b", "é", "e\u{301}", "\u{FFFF}", "\u{10FFFF}", "\u{10FFFF}a",
  ]
  private static let domains: [(name: String, values: [JSONValue])] = [
    ("flag", [true, false]),
    ("amount", [.integer(-5), .integer(0), .integer(7), .integer(.max), .integer(.min)]),
    ("ratio", [.real(-1.5), .real(0.1), .real(3), .real(1e300)]), ("word", words.map { .string($0) }),
    ("at", ["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.001Z", "0001-01-01T00:00:00.000Z"]),
    ("place", places.map { .string($0) }), ("code", (0..<40).map { .string("c\($0)") }),
  ]
  private static let places =
    (Position.Replica("ab12").map {
      Position.run(count: 4, between: nil, and: nil, replica: $0, nonce: 5)
    } ?? []).map(\.string)

  /// Makes lists with things of random values, and gives the columns by id.
  private func fill(_ lists: [String], count: Int) throws -> TextMap<JSONValue> {
    var random = TestRandom(seed: 11)
    var things: TextMap<JSONValue> = [:]
    var codes = (0..<40).map { "c\($0)" }
    var set: [Sent] = []
    for number in 0..<count {
      var columns: [JSONValue.Member] = [.init("list_id", .string(lists[number % lists.count]))]
      for (name, values) in Self.domains where Int.random(in: 0..<4, using: &random) > 0 {
        if name == "code" {
          if let code = codes.popLast() { columns.append(.init(name, .string(code))) }
        } else if let value = values.randomElement(using: &random) {
          columns.append(.init(name, value))
        }
      }
      if number % 3 == 0 { columns.append(.init("friend_id", .string(lists[0]))) }
      let id = alice.newID()
      things[id] = .object(columns)
      set.append(.create("things", id, .object(columns)))
    }
    try #require(try alice.sync(set).refused.isEmpty)
    return things
  }

  /// What a value is to SQL's comparisons; nil for null.
  private static func compare(_ one: JSONValue, _ other: JSONValue) -> Int {
    switch (one, other) {
    case (.bool(let one), .bool(let other)): (one ? 1 : 0) - (other ? 1 : 0)
    case (.integer(let one), .integer(let other)): one < other ? -1 : one > other ? 1 : 0
    case (.string(let one), .string(let other)):
      one.utf8.elementsEqual(other.utf8) ? 0 : one.utf8.lexicographicallyPrecedes(other.utf8) ? -1 : 1
    default: number(one) < number(other) ? -1 : number(one) > number(other) ? 1 : 0
    }
  }

  private static func number(_ value: JSONValue) -> Double {
    switch value {
    case .real(let number): number
    case .integer(let number): Double(number)
    default: .nan
    }
  }

  private static func text(_ value: JSONValue) -> String {
    switch value {
    case .string(let text): text
    default: String(decoding: value.bytes, as: UTF8.self)
    }
  }

  @Test("each operator on each type of column finds what comparing all records finds, on every engine")
  func operators() throws {
    let lists = try [alice.makeList("one"), alice.makeList("two")].sorted()
    let things = try fill(lists, count: 60)
    func check(_ query: String, _ expected: (JSONValue) -> Bool) throws {
      let answer = try alice.get("/v1/tables/things?limit=1000&\(query)")
      #expect(answer.status == 200, "\(query) \(answer.body)")
      #expect(answer.ids == things.filter { expected($0.value) }.keys.sorted(), "\(query)")
    }
    for (name, values) in Self.domains {
      for value in values {
        let text = Self.escaped(Self.text(value))
        func matches(_ test: @escaping (Int) -> Bool) -> (JSONValue) -> Bool {
          { record in record[name].map { test(Self.compare($0, value)) } ?? false }
        }
        try check("where.\(name)=\(text)", matches { $0 == 0 })
        try check("where.\(name).gt=\(text)", matches { $0 > 0 })
        try check("where.\(name).gte=\(text)", matches { $0 >= 0 })
        try check("where.\(name).lt=\(text)", matches { $0 < 0 })
        try check("where.\(name).lte=\(text)", matches { $0 <= 0 })
      }
      try check("where.\(name).null=true") { $0[name] == nil }
      try check("where.\(name).null=false") { $0[name] != nil }
      let some = values.prefix(3)
      try check("where.\(name).in=" + some.map { Self.escaped(Self.text($0)) }.joined(separator: ",")) {
        record in record[name].map { found in some.contains { Self.compare($0, found) == 0 } } ?? false
      }
    }
    for prefix in Self.words + ["%", "_", "a\u{10FFFF}", "c"] {
      for name in ["word", "code"] {
        try check("where.\(name).prefix=\(Self.escaped(prefix))") { record in
          record[name]?.stringValue.map { $0.utf8.starts(with: prefix.utf8) } ?? false
        }
      }
    }
    try check("where.flag=true&where.amount.gte=0&where.amount.lt=100") {
      $0["flag"] == true && ($0["amount"]?.integerValue.map { $0 >= 0 && $0 < 100 } ?? false)
    }
    try check("where.flag.null=true&where.amount.null=true") { $0["flag"] == nil && $0["amount"] == nil }
    try check("where.flag.in=true,false&where.word.prefix=a") {
      $0["flag"] != nil && ($0["word"]?.stringValue?.utf8.starts(with: "a".utf8) ?? false)
    }
    try check("where.list_id=\(lists[1])") { $0["list_id"]?.stringValue == lists[1] }
    try check("where.list_id.gt=\(lists[0])") { $0["list_id"]?.stringValue == lists[1] }
    try check("where.friend_id=\(lists[0])") { $0["friend_id"] != nil }
    try check("where.friend_id.null=true") { $0["friend_id"] == nil }
    try check("where.list_id=\(lists[1])&zone=\(lists[0])") { _ in false }
    try check("zone=\(lists[0])") { $0["list_id"]?.stringValue == lists[0] }
    #expect(try server.findings().isEmpty)
  }

  @Test("the order is that of the values, nulls least, then of the ids, on every engine")
  func order() throws {
    let things = try fill([alice.makeList()], count: 50)
    for (name, _) in Self.domains {
      for (sign, isDescending) in [("", false), ("-", true)] {
        let expected = things.keys.sorted { one, other in
          let result: Int =
            switch (things[one]?[name], things[other]?[name]) {
            case (nil, nil): 0
            case (nil, _): -1
            case (_, nil): 1
            case (let one?, let other?): Self.compare(one, other)
            }
          return result == 0 ? one < other : isDescending ? result > 0 : result < 0
        }
        #expect(
          try alice.get("/v1/tables/things?limit=1000&order=\(sign)\(name)").ids == expected, "\(sign)\(name)"
        )
      }
    }
    let ids = things.keys.sorted()
    #expect(try alice.get("/v1/tables/things?limit=1000&order=-id").ids == ids.reversed())
    #expect(try alice.allIDs("/v1/tables/things?limit=7&order=-id") == ids.reversed())
  }

  @Test("only the columns that are asked for come, in that order, and the count is of the whole result")
  func columns() throws {
    _ = try fill([alice.makeList()], count: 5)
    let answer = try alice.get("/v1/tables/things?columns=word,flag&limit=2&count=true")
    #expect(answer.body["count"] == 5)
    #expect(answer.records.count == 2)
    for record in answer.records { #expect(record["columns"]?.members?.map(\.name) == ["word", "flag"]) }
    let next = try #require(answer.next)
    #expect(answer.header("Link") == "<\(next)>; rel=\"next\"")
    let page = try alice.get(next)
    #expect(page.records.allSatisfy { $0["columns"]?.members?.map(\.name) == ["word", "flag"] })
    #expect(try alice.get("/v1/tables/things?limit=5").next == nil)
  }

  @Test("nobody finds what is in zones of others, and their zones are answered like none (I10)")
  func strangers() throws {
    let list = try alice.makeList()
    _ = try fill([list], count: 3)
    let bob = try server.signUp("bob")
    #expect(try bob.get("/v1/tables/things").ids == [])
    #expect(try bob.get("/v1/tables/things?where.list_id=\(list)").ids == [])
    #expect(try bob.get("/v1/tables/members").ids.count == 1)
    for address in ["tables/things?zone=", "zones/"] {
      let tail = address.hasPrefix("zones") ? "/changes" : ""
      let stranger = try bob.get("/v1/\(address)\(list)\(tail)")
      let none = try bob.get("/v1/\(address)\(alice.newID())\(tail)")
      #expect(stranger.status == 404)
      #expect(stranger.response.body == none.response.body)
    }
    _ = try alice.share(list, with: "bob", as: .viewer)
    #expect(try bob.get("/v1/tables/things?where.list_id=\(list)").ids.count == 3)
  }

  @Test("a wrong request is refused with its reason, and does nothing")
  func refusals() throws {
    #expect(try alice.get("/v1/tables/nothing").status == 404)
    let missing = try alice.get("/v1/tables/things?where.score=1")
    #expect(missing.status == 422)
    #expect(missing.code == "index-missing")
    #expect(missing.body["detail"]?.stringValue?.contains(#""indexes": [["score"]]"#) == true)
    #expect(try alice.get("/v1/tables/things?where.word=%").status == 400)
    #expect(try alice.get("/v1/tables/things?limit=100000000000000000000").status == 400)
    #expect(try alice.get("/v1/tables/things?page=x").status == 400)
    #expect(try alice.get("/v1/tables/things?page=x.1&limit=1").status == 400)
    #expect(try alice.get("/v1/tables/things?page=x.99999999999999999999").status == 400)
    #expect(try alice.get("/v1/tables/things?page=x.1").status == 410)
    let anonymous = TestServer.request("GET", "/v1/tables/things?x=1", [], token: nil)
    #expect(try server.respond(to: anonymous).status == 401)
    #expect(try server.findings().isEmpty)
  }

  @Test("an index that the schema gains later is made, and one that it loses is dropped (schema change)")
  func changedIndexes() throws {
    _ = try fill([alice.makeList()], count: 20)
    #expect(try alice.get("/v1/tables/things?where.score=1").status == 422)
    let text = IndexSchema.text.replacing(#"["flag", "amount"]"#, with: #"["score"]"#)
    try server.reopen(SyncSchema(json: Array(text.utf8)))
    #expect(try alice.get("/v1/tables/things?where.score=1").status == 200)
    #expect(try alice.get("/v1/tables/things?where.flag=true&where.amount=1").status == 422)
    let names = try indexes()
    #expect(names.contains("holdfast_things_by_score"))
    #expect(!names.contains("holdfast_things_by_flag-amount"))
    try server.reopen(SyncSchema(json: Array(text.utf8)))
    #expect(try server.findings().isEmpty)
  }

  private func indexes() throws -> [String] {
    switch server.location {
    case .directory:
      return try server.connection.rows("SELECT name FROM sqlite_schema WHERE type = 'index'").compactMap {
        $0[0].text
      }
    case .postgres: return try SQLWriter(server).texts("SELECT indexname::text FROM pg_indexes")
    }
  }
}
