import HoldfastSQLite
import Testing

@testable import Holdfast

/// The change sets of edits of other programs, whose transactions are not known.
@Suite("The change sets that are made of edits of other programs")
struct ForeignSetTests {
  /// Trees of nodes, which may name each other.
  private static func trees() throws -> SyncSchema {
    try SyncSchema(
      name: "trees",
      tables: [
        TableSchema("trees", zone: .root, columns: [ColumnSchema("title", .text)]),
        TableSchema(
          "nodes", zone: .parent("tree"),
          columns: [
            ColumnSchema(
              "tree", .reference, required: true, reference: Reference(to: "trees", onDelete: .cascade)),
            ColumnSchema("next", .reference, reference: Reference(to: "nodes", onDelete: .setNull)),
            ColumnSchema("body", .text, maximumLength: 1_000_000),
          ]),
      ])
  }

  private static func id(_ number: Int) -> String {
    let digits = String(number)
    return "00000000-0000-7000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
  }

  /// The change sets of what is in the file, as `op table` and the last digits of the id.
  private func sets(_ fixture: Fixture) async throws -> [[(operation: String, id: String)]] {
    try await fixture.store.write { _ in }
    return try await fixture.outbox().map { set in
      (set.elements ?? []).map { operation in
        let text = { operation[$0]?.stringValue ?? "" }
        return ("\(text("op")) \(text("table"))", text("id"))
      }
    }
  }

  private func run(_ sql: String, on fixture: Fixture) throws {
    let connection = try SQLiteConnection(path: fixture.path)
    try connection.transaction { try connection.execute(sql) }
  }

  @Test("many records stand behind what they refer to, however they were written (I9)")
  func order() async throws {
    let fixture = try Fixture(schema: try Self.trees())
    // Each node names the next one, and the tree comes last.
    let nodes = (1...1500).map {
      "INSERT INTO nodes (id, tree, next) VALUES ('\(Self.id($0))', '\(Self.id(0))', \($0 < 1500 ? "'\(Self.id($0 + 1))'" : "NULL"))"
    }
    try run(
      (nodes + ["INSERT INTO trees (id, title) VALUES ('\(Self.id(0))', 'Oak')"]).joined(separator: ";"),
      on: fixture)
    let sets = try await sets(fixture)
    #expect(sets.map(\.count) == [1000, 501])
    #expect(sets.joined().map(\.id) == [Self.id(0)] + (1...1500).reversed().map(Self.id))
  }

  @Test(
    "a large record is a set of its own, behind what it refers to and in front of what refers to it (I9, I12)"
  )
  func large() async throws {
    let fixture = try Fixture(schema: try Self.trees())
    try run(
      """
      INSERT INTO nodes (id, tree, next) VALUES ('\(Self.id(2))', '\(Self.id(0))', '\(Self.id(1))');
      INSERT INTO nodes (id, tree, body)
      VALUES ('\(Self.id(1))', '\(Self.id(0))', (SELECT replace(hex(zeroblob(300000)), '0', 'é')));
      INSERT INTO trees (id, title) VALUES ('\(Self.id(0))', 'Oak')
      """, on: fixture)
    #expect(try await sets(fixture).map { $0.map(\.id) } == [[Self.id(0)], [Self.id(1)], [Self.id(2)]])
  }

  @Test("a record that refers to none takes no other edits along when it is refused (I9, I12)")
  func dangling() async throws {
    let fixture = try Fixture(schema: try Self.trees())
    try run(
      """
      INSERT INTO trees (id, title) VALUES ('\(Self.id(0))', 'Oak');
      INSERT INTO nodes (id, tree) VALUES ('\(Self.id(1))', '\(Self.id(99))');
      INSERT INTO nodes (id, tree) VALUES ('\(Self.id(2))', '\(Self.id(0))')
      """, on: fixture)
    #expect(try await sets(fixture).map { $0.map(\.id) } == [[Self.id(0)], [Self.id(1)], [Self.id(2)]])
  }

  @Test("a deletion and what goes with it are one change set, however many they are (I6)")
  func deletion() async throws {
    let fixture = try Fixture(schema: try Self.trees())
    try await fixture.store.write { db in
      for tree in [0, 5000] {
        try db.execute("INSERT INTO trees (id, title) VALUES (\(Self.id(tree)), 'Oak')")
        for node in 1...2500 {
          try db.execute("INSERT INTO nodes (id, tree) VALUES (\(Self.id(tree + node)), \(Self.id(tree)))")
        }
      }
    }
    try run("UPDATE trees SET title = 'Elm'; DELETE FROM trees", on: fixture)
    let sets = try await sets(fixture).dropFirst()
    #expect(sets.map(\.count) == [2501, 2501])
    #expect(sets.map { $0.first?.id } == [Self.id(0), Self.id(5000)])
  }
}
