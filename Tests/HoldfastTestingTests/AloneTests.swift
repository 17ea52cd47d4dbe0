import Foundation
import HoldfastTesting
import Testing

/// What a device shows that is alone in writing is what the server comes to. Invariants I3 and I7.
@Suite("A sync changes nothing for a device that writes alone")
struct AloneTests {
  private static func schema() throws -> SyncSchema {
    func reference(_ name: String, _ table: String, _ onDelete: Reference.OnDelete, required: Bool = false)
      -> ColumnSchema
    {
      ColumnSchema(
        name, .reference, required: required, reference: Reference(to: table, onDelete: onDelete))
    }
    return try SyncSchema(
      name: "alone",
      tables: [
        TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text, required: true)]),
        TableSchema(
          "items", zone: .parent("list_id"),
          columns: [
            reference("list_id", "lists", .cascade, required: true), ColumnSchema("title", .text),
            reference("under_id", "items", .cascade), reference("after_id", "items", .setNull),
            ColumnSchema("amount", .integer, policy: .counter),
          ]),
        TableSchema(
          "notes", zone: .parent("item_id"),
          columns: [reference("item_id", "items", .restrict, required: true), ColumnSchema("text", .text)]),
      ])
  }

  /// The tables without what only Holdfast writes.
  private static func tables(of device: TestDevice) async throws -> [String] {
    try await device.store.read { db in
      try [
        "lists, id, title", "items, id, list_id, title, under_id, after_id, amount",
        "notes, id, item_id, text",
      ].flatMap { columns in
        let names = columns.split(separator: ", ")
        let columns = names.dropFirst().joined(separator: ", ")
        let rows = try db.rows("SELECT " + columns + " FROM " + names[0] + " ORDER BY id", []).rows
        return rows.map { "\(names[0]) \($0)" }
      }
    }
  }

  /// One transaction of edits, which follow the schema's rules and are in no sensible order.
  private static func edit(_ db: Database, _ random: inout some RandomNumberGenerator) throws {
    func ids(_ table: String, _ condition: String = "true") throws -> [String] {
      try db.rows("SELECT id FROM " + table + " WHERE " + condition + " ORDER BY id", []).rows.compactMap(
        \.first?.text)
    }
    func insertItem(_ id: String, _ random: inout some RandomNumberGenerator) throws {
      guard let list = try ids("lists").randomElement(using: &random) else { return }
      let near = try ids("items", "list_id = '\(list)'")
      let (under, after) = (near.randomElement(using: &random), near.randomElement(using: &random))
      try db.execute(
        "INSERT INTO items (id, list_id, title, under_id, after_id, amount) VALUES (?, ?, ?, ?, ?, ?)",
        [
          .text(id), .text(list), .text("item \(Int.random(in: 0..<100, using: &random))"),
          Bool.random(using: &random) ? under.map { .text($0) } ?? .null : .null,
          Bool.random(using: &random) ? after.map { .text($0) } ?? .null : .null,
          .integer(Int64.random(in: 0..<9, using: &random)),
        ])
    }
    for _ in 0..<Int.random(in: 2...9, using: &random) {
      let item = try ids("items").randomElement(using: &random)
      let list = try ids("lists").randomElement(using: &random)
      switch Int.random(in: 0..<13, using: &random) {
      case 0: try insertItem(db.newID(), &random)
      case 1: try db.execute("INSERT INTO lists (id, title) VALUES (?, 'list')", [.text(db.newID())])
      case 2: if let list { try db.execute("UPDATE lists SET title = title || '!' WHERE id = \(list)") }
      case 3: if let item { try db.execute("UPDATE items SET amount = amount + 1 WHERE id = \(item)") }
      case 4, 5:
        // References across zones would be refused, so both ends let go.
        guard let item, let list else { continue }
        for column in ["under_id", "after_id"] {
          try db.execute("UPDATE items SET " + column + " = NULL WHERE " + column + " = ?", [.text(item)])
        }
        try db.execute(
          "UPDATE items SET list_id = \(list), under_id = NULL, after_id = NULL WHERE id = \(item)")
      case 6:
        if let item {
          try db.execute("UPDATE items SET under_id = NULL, after_id = NULL WHERE id = \(item)")
        }
      case 7: if let item { try db.execute("DELETE FROM items WHERE id = \(item)") }
      case 8: if let list { try db.execute("DELETE FROM lists WHERE id = \(list)") }
      case 9:
        if let list {
          try db.execute("DELETE FROM lists WHERE id = \(list)")
          try db.execute("INSERT INTO lists (id, title) VALUES (\(list), 'again')")
        }
      case 10:
        if let item {
          try db.execute("DELETE FROM items WHERE id = \(item)")
          try insertItem(item, &random)
        }
      case 11:
        if let item {
          try db.execute("INSERT INTO notes (id, item_id) VALUES (?, ?)", [.text(db.newID()), .text(item)])
        }
      default:
        if let item {
          try db.execute("UPDATE items SET title = 'last' WHERE id = \(item)")
          try db.execute("DELETE FROM notes WHERE item_id = \(item)")
          try db.execute("DELETE FROM items WHERE id = \(item)")
        }
      }
    }
  }

  @Test("whatever moves, goes and comes again in one transaction or in several", arguments: 0..<40)
  func random(seed: UInt64) async throws {
    let world = try TestWorld(schema: Self.schema(), seed: seed)
    let phone = try await world.device(user: "ann")
    let tablet = try await world.device(user: "ann")
    var written = 0
    for round in 0..<5 {
      for number in 0..<3 {
        do {
          try await phone.store.write { db in
            var random = SeededGenerator(state: seed &* 100 &+ UInt64(round * 10 + number))
            try Self.edit(db, &random)
          }
          written += 1
        } catch let error as SQLiteError where error.code.primary == .constraint {
          // What the schema's rules forbid was not written.
        }
      }
      let before = try await Self.tables(of: phone)
      try await world.settle()
      #expect(try await Self.tables(of: phone) == before)
      #expect(try await Self.tables(of: tablet) == before)
      #expect(try await phone.store.read { try $0.rows("SELECT id FROM conflicts").rows }.isEmpty)
    }
    #expect(written > 5)
    try await world.finish()
  }

  @Test(
    "an item that is moved out of a list stays when the list is deleted, whatever of both was touched first")
  func movedOut() async throws {
    try await withTestWorld(schema: Self.schema()) { world in
      let phone = try await world.device(user: "ann")
      let (old, new, item, back) = try await phone.store.write { db in
        let ids = (db.newID(), db.newID(), db.newID(), db.newID())
        for list in [ids.0, ids.1] {
          try db.execute("INSERT INTO lists (id, title) VALUES (\(list), 'list')")
        }
        for item in [ids.2, ids.3] {
          try db.execute("INSERT INTO items (id, list_id) VALUES (\(item), \(ids.0))")
        }
        return ids
      }
      try await world.settle()
      try await phone.store.write { db in
        try db.execute("UPDATE lists SET title = 'touched' WHERE id = \(old)")
        try db.execute("UPDATE items SET list_id = \(new)")
        try db.execute("DELETE FROM lists WHERE id = \(old)")
        try db.execute("INSERT INTO lists (id, title) VALUES (\(old), 'again')")
        try db.execute("UPDATE items SET list_id = \(old) WHERE id = \(back)")
      }
      try await world.settle()
      let rows = try await phone.store.read { try $0.rows("SELECT id, list_id FROM items ORDER BY id").rows }
      #expect(rows == [[.text(item), .text(new)], [.text(back), .text(old)]])
      try await phone.store.write { try $0.execute("DELETE FROM lists WHERE id = \(old)") }
      try await world.settle()
      #expect(try await phone.store.read { try $0.fetch(String.self, "SELECT id FROM items") } == [item])
    }
  }
}

/// SplitMix64, for tests that are the same each time.
private struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
