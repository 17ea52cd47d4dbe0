import HoldfastCore
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Unique constraints of a team's own tables, which PostgreSQL checks at each row. Invariant I12.
@Suite struct AdoptionUniqueTests {
  private static let team = """
    CREATE TABLE lists (id uuid PRIMARY KEY, title text);
    CREATE TABLE cards (id uuid PRIMARY KEY, list_id uuid NOT NULL REFERENCES lists ON DELETE CASCADE,
      title varchar(20) NOT NULL, slot integer NOT NULL, code uuid NOT NULL UNIQUE, nick text UNIQUE,
      UNIQUE (list_id, title), UNIQUE (list_id, slot));
    """

  @Test("records of adopted tables swap and rotate unique values, and take those of deleted ones (I12)")
  func swap() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let sql = try SQLWriter(url: url)
    try sql.run(Self.team)
    let server = try TestServer(adopting: url)
    let device = try server.signUp("alice")
    let list = device.newID()
    try device.sync([.create("lists", list, ["title": "Cards"])])
    let (ids, codes) = ((0..<3).map { _ in device.newID() }, (0..<3).map { _ in device.newID() })
    func columns(_ number: Int) -> JSONValue {
      [
        "title": .string("title \(number)"), "slot": .integer(Int64(number)), "code": .string(codes[number]),
        "nick": .string("nick \(number)"),
      ]
    }
    func create(_ id: String, _ number: Int) -> Sent {
      var members = columns(number).members ?? []
      members.append(.init("list_id", .string(list)))
      return .create("cards", id, .object(members))
    }
    func cards() throws -> [String] {
      try sql.texts("SELECT concat_ws(' ', id, title, slot, code, nick) FROM cards ORDER BY slot")
    }
    func line(_ id: String, _ number: Int) -> String {
      "\(id) title \(number) \(number) \(codes[number]) nick \(number)"
    }
    #expect(try device.sync((0..<3).map { create(ids[$0], $0) }).refused.isEmpty)
    let swap = [Sent.update("cards", ids[0], columns(1)), .update("cards", ids[1], columns(0))]
    #expect(try device.sync(swap).refused.isEmpty)
    #expect(try cards() == [line(ids[1], 0), line(ids[0], 1), line(ids[2], 2)])
    let rotation = [
      Sent.update("cards", ids[0], columns(2), rev: 2), .update("cards", ids[2], columns(0)),
      .update("cards", ids[1], columns(1), rev: 2),
    ]
    #expect(try device.sync(rotation).refused.isEmpty)
    #expect(try cards() == [line(ids[2], 0), line(ids[1], 1), line(ids[0], 2)])
    let new = device.newID()
    let replaced = [
      create(new, 0), Sent.update("cards", ids[0], columns(1), rev: 3), .delete("cards", ids[1]),
      .update("cards", ids[2], columns(2), rev: 2),
    ]
    #expect(try device.sync(replaced).refused.isEmpty)
    #expect(try cards() == [line(new, 0), line(ids[0], 1), line(ids[2], 2)])
    #expect(try server.findings() == [])
  }
}
