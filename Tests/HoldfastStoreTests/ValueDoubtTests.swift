import HoldfastCore
import ServerScenes
import Testing

@testable import HoldfastServer

/// Values that no write of the service could have stored.
@Suite struct ValueDoubtTests {
  private static let schema = """
    {"holdfast": 1, "name": "values", "tables": {"things": {"zone": {"public": "all"}, "columns": {
      "name": {"type": "text", "max_length": 3}, "kind": {"type": "text", "one_of": ["a", "b"]}, "size": {"type": "integer", "max": 9},
      "weight": {"type": "real"}, "done": {"type": "boolean"}, "at": {"type": "timestamp"}, "more": {"type": "json"},
      "place": {"type": "position"}}}}}
    """

  @Test("values that the schema does not allow are counted for each column, and no value is printed")
  func values() throws {
    let server = try TestServer(SyncSchema(json: Array(Self.schema.utf8)))
    let deep = String(repeating: "[", count: 40) + String(repeating: "]", count: 40)
    let good = "'abc', 'a', 9, 1.5, TRUE, '2026-01-02T03:04:05.678Z', '{}', NULL"
    let bad = "'secret', 'c', 10, 1.5, TRUE, '2026-01-02T03:04:05.678Z', '\(deep)', '!'"
    let columns = "name, kind, size, weight, done, at, more, place"
    try server.change(
      sqlite: """
        INSERT INTO things (seq, rev, stamps, id, zone, \(columns)) VALUES (1, 1, '', 'g1', 'all', \(good)),
          (2, 1, '', 'b1', 'all', \(bad)), (3, 1, '', 'b2', 'all', \(bad)), (4, 1, '', '', 'all', \(good));
        UPDATE things SET done = 7, name = 'a' || char(0) WHERE id = 'b1';
        """,
      postgres: """
        INSERT INTO things (id, zone, \(columns)) VALUES ('g1', 'all', \(good)), ('b1', 'all', \(bad)), ('b2', 'all', \(bad));
        INSERT INTO things (id, size) SELECT 'n' || i, i % 10 FROM generate_series(1, 3000) i
        """)
    let doubts = try Administration(server.location).doubts().filter { $0.kind == .value }.map(\.text)
    let found = ["kind", "more", "name", "place", "size"].map { "2 of things.\($0) " }
    let expected =
      switch server.location {
      case .directory:
        ["1 of things.done ", "1 of things.id ", "2 of things.kind ", "2 of things.more "] + found.suffix(3)
      case .postgres: found
      }
    #expect(doubts.count == expected.count, "\(doubts)")
    for (doubt, start) in zip(doubts, expected) { #expect(doubt.hasPrefix(start), "\(doubt)") }
    #expect(!doubts.contains { $0.contains("secret") })
  }

  @Test("what devices and programs write is no doubt") func sound() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    _ = try anna.makeItem(anna.makeList(), "é\u{1F600}")
    #expect(try Administration(server.location).doubts() == [])
  }
}
