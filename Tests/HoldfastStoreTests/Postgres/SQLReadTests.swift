import Foundation
import HoldfastCore
import HoldfastHTTP
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// What programs that keep no copy see of writers round the server, and of other servers on the database.
@Suite struct SQLReadTests {
  private let server: TestServer
  private let alice: TestDevice
  private let list: String

  init() throws {
    server = try TestServer(engine: .postgres)
    alice = try server.signUp("alice")
    list = try alice.makeList()
  }

  @Test(
    "deltas bring what SQL wrote, also of a transaction that began long before and was committed late (I4)")
  func lateCommit() throws {
    let (slow, fast) = (try SQLWriter(server), try SQLWriter(server))
    let other = try alice.makeList("other")
    var follower = DeltaFollower(device: alice, target: "/v1/tables/items")
    var zone = DeltaFollower(device: alice, target: "/v1/tables/items?zone=\(list)")
    func follow() throws {
      try follower.follow()
      try zone.follow()
      let differences = try follower.differences() + zone.differences()
      #expect(differences == [])
    }
    try follow()
    try slow.run(
      "BEGIN; INSERT INTO items (id, list_id, title) SELECT 's' || n, '\(list)', 'slow' FROM generate_series(1, 5) n"
    )
    for number in 0..<3 {
      try fast.run("INSERT INTO items (id, list_id, title) VALUES ('f\(number)', '\(other)', 'fast')")
      try follow()
    }
    try slow.run("COMMIT")
    try follow()
    #expect(follower.records.count == 8)
    try fast.run("UPDATE items SET list_id = '\(list)' WHERE id LIKE 'f%'; DELETE FROM items WHERE id = 's1'")
    try follow()
    #expect(zone.records.count == 7)
    try fast.run("UPDATE items SET title = 'x'; DELETE FROM items WHERE id < 's3'")
    try follow()
    #expect(follower.wholes == 1)
    #expect(zone.wholes == 1)
    #expect(try server.findings() == [])
  }

  @Test(
    "who follows while four writers write misses nothing: an ETag is of the moment of its records (I4, I6)")
  func followWhileWritten() throws {
    let lists = try [list, alice.makeList("two"), alice.makeList("three")]
    let writers = try (0..<4).map { number in
      let writer = Lent(value: try SQLWriter(server))
      return Background {
        for turn in 0..<50 {
          let (one, two) = (lists[(turn + number) % 3], lists[(turn * 7 + number) % 3])
          try? writer.value.run(
            "INSERT INTO items (id, list_id, title) VALUES ('i\(number)-\(turn)', '\(one)', 'x')")
          try? writer.value.run("UPDATE items SET list_id = '\(two)' WHERE id = 'i\(number)-\(turn / 2)'")
          try? writer.value.run(
            "UPDATE items SET title = 'y\(turn)' WHERE id = 'i\((number + 1) % 4)-\(turn / 3)'")
          if turn % 5 == 0 { try? writer.value.run("DELETE FROM items WHERE id = 'i\(number)-\(turn / 4)'") }
        }
      }
    }
    var followers = ["", "?zone=\(lists[0])", "?columns=title"].map {
      DeltaFollower(device: alice, target: "/v1/tables/items\($0)")
    }
    for _ in 0..<30 { for index in followers.indices { try followers[index].step() } }
    for writer in writers { try writer.wait() }
    for index in followers.indices {
      try followers[index].follow()
      let differences = try followers[index].differences()
      #expect(differences == [])
    }
    #expect(try server.findings() == [])
  }

  @Test("a zone that is lost and gained by SQL is another state, and the date never returns (I10)")
  func lossBySQL() throws {
    let writer = try SQLWriter(server)
    let bob = try server.signUp("bob")
    try bob.sync([.create("lists", bob.newID(), ["title": "his"])])
    _ = try alice.makeItem(list)
    var dates: [Int64] = []
    var tag = ""
    func look(_ count: Int) throws {
      let answer = try bob.get("/v1/tables/lists", [("A-IM", "feed"), ("If-None-Match", tag)])
      #expect(answer.status != 304)
      #expect(try bob.get("/v1/tables/lists").ids.count == count)
      dates.append(try #require(HTTPDate.seconds(answer.modified)))
      tag = answer.tag
    }
    try look(1)
    for _ in 0..<2 {
      try writer.run(
        "INSERT INTO holdfast.members (zone, \"user\", role) VALUES ('\(list)', '\(bob.user)', 'viewer')")
      try look(2)
      try writer.run("DELETE FROM holdfast.members WHERE zone = '\(list)' AND \"user\" = '\(bob.user)'")
      try look(1)
    }
    try writer.run("TRUNCATE holdfast.members")
    try look(0)
    #expect(zip(dates, dates.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test("pages on another server, beside four writers in SQL, are those of the first moment (I5)")
  func pagesBesideWriters() throws {
    try SQLWriter(server).run(
      "INSERT INTO items (id, list_id, title) SELECT 'i' || lpad(n::text, 4, '0'), '\(list)', 'x' FROM generate_series(1, 2000) n"
    )
    let other = try alice.makeList("other")
    let node = try InlineServer(server.location, schema: nil, environment: server.world.environment)
    let writers = try (0..<4).map { number in
      let (writer, list) = (Lent(value: try SQLWriter(server)), list)
      return Background {
        for turn in 0..<40 {
          let id = "i" + String(10000 + (turn * 53 + number * 499) % 2000 + 1).dropFirst()
          try writer.value.run("INSERT INTO items (list_id, title) VALUES ('\(list)', 'new')")
          try writer.value.run("DELETE FROM items WHERE id = '\(id)' AND title = 'x' AND \(turn) % 2 = 0")
          do {
            try writer.value.run("UPDATE items SET list_id = '\(other)' WHERE id = '\(id)'")
          } catch { continue }
        }
      }
    }
    let first = try alice.get("/v1/tables/items?limit=50&where.list_id=\(list)")
    let total = try alice.get("/v1/tables/items?limit=1&count=true").body["count"]?.integerValue ?? 0
    #expect(total >= 2000 - 80)
    var ids = first.ids
    var next = first.next
    while let target = next {
      let request = TestServer.request("GET", target, [], token: alice.token)
      let page = ReadAnswer(response: node.respond(to: request))
      try #require(page.status == 200)
      ids += page.ids
      next = page.next
    }
    for writer in writers { try writer.wait() }
    #expect(TextSet(ids).count == ids.count)
    #expect(ids == ids.sorted())
    // What stood all the time is there.
    let kept = try SQLWriter(server).texts("SELECT id FROM items WHERE title = 'x' AND list_id = '\(list)'")
    #expect(TextSet(kept).isSubset(of: TextSet(ids)))
    #expect(try server.findings() == [])
  }

  @Test("a text that is too long for its index is refused, and blocks nothing (I12)")
  func longText() throws {
    let server = try TestServer(IndexSchema.schema(), engine: .postgres)
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let text = (0..<300).map { _ in alice.newID() }.joined()
    let columns: JSONValue = ["list_id": .string(list), "word": .string(String(text.prefix(9000)))]
    #expect(try alice.refused(.create("things", alice.newID(), columns)).code == .invalidOperation)
    #expect(
      try alice.sync([.create("things", alice.newID(), ["list_id": .string(list), "word": "short"])]).refused
        .isEmpty)
    #expect(try alice.get("/v1/tables/things?where.word=short").ids.count == 1)
  }

  @Test("tables that a team made are found by their columns, whatever the types")
  func adopted() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let writer = try SQLWriter(url: url)
    try writer.run(
      """
      CREATE TYPE mood AS ENUM ('sad', 'glad');
      CREATE TABLE pages (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name varchar(40), at timestamptz, weight numeric, feeling mood,
        many int, parent uuid REFERENCES pages (id) ON DELETE SET NULL);
      """)
    let text = """
      {"holdfast": 1, "name": "adopted", "tables": {"pages": {"zone": {"public": "site"},
        "indexes": [["name"], ["at"], ["weight"], ["feeling"], ["many"]], "columns": {
        "name": {"type": "text"}, "at": {"type": "timestamp"}, "weight": {"type": "text"},
        "feeling": {"type": "text", "one_of": ["sad", "glad"]}, "many": {"type": "integer"},
        "parent": {"type": "reference", "to": "pages", "on_delete": "set_null"}}}}}
      """
    let schema = try SyncSchema(json: Array(text.utf8))
    _ = try PostgresOpening.open(PostgresLocation(url), schema: schema, standing: .adopt) {
      [UInt8](repeating: 3, count: $0)
    }
    let server = try TestServer(adopted: url, schema)
    let reader = try server.signUp("reader")
    try writer.run(
      """
      INSERT INTO pages (name, at, weight, feeling, many) VALUES ('a%', '2026-01-01 10:00+00', 1.5, 'sad', 1), ('ab', NULL, 2, 'glad', 2);
      INSERT INTO pages (name, parent) SELECT 'child', id FROM pages WHERE name = 'ab'
      """)
    let id = try writer.texts("SELECT id::text FROM pages WHERE name = 'ab'")[0]
    func names(_ query: String) throws -> [String] {
      let answer = try reader.get("/v1/tables/pages?\(query)")
      #expect(answer.status == 200, "\(query)")
      return answer.records.compactMap { $0["columns"]?["name"]?.stringValue }
    }
    #expect(try names("order=name") == ["a%", "ab", "child"])
    #expect(try names("where.name.prefix=a%25") == ["a%"])
    #expect(try names("where.at=2026-01-01T10:00:00.000Z") == ["a%"])
    #expect(try names("where.weight=1.5") == ["a%"])
    #expect(try names("where.feeling.in=glad,none") == ["ab"])
    #expect(try names("where.many.gte=2") == ["ab"])
    #expect(try names("where.parent=\(id)") == ["child"])
    #expect(try names("where.parent=nonsense") == [])
    #expect(try names("where.parent.in=nonsense,\(id)") == ["child"])
    #expect(try names("where.parent.null=false") == ["child"])
    #expect(try names("where.parent.null=true&order=-name") == ["ab", "a%"])
    #expect(try reader.allIDs("/v1/tables/pages?limit=1").count == 3)
  }
}
