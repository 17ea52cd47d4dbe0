import HoldfastCore
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Tables that Holdfast makes with references to tables of a team. Invariants I4, I7, I9.
@Suite struct ReferenceToAdoptedTests {
  private static let schema = """
    {"holdfast": 1, "name": "team", "tables": {
      "lists": {"zone": "root", "columns": {"title": {"type": "text"}}},
      "items": {"zone": {"parent": "list_id"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"}, "title": {"type": "text"}}},
      "notes": {"zone": {"parent": "item_id"}, "unique": [["item_id", "text"]], "indexes": [["item_id"]], "columns": {
        "item_id": {"type": "reference", "to": "items", "required": true, "on_delete": "cascade"}, "text": {"type": "text"},
        "other_id": {"type": "reference", "to": "items", "on_delete": "set_null"},
        "place": {"type": "position", "within": "item_id"}}},
      "stars": {"zone": {"parent": "list_id"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"}}}}}
    """

  /// The types of ids that adoption takes.
  private static let types = ["uuid", "text", "varchar(64)", "uuid_domain", "text_domain"]

  private func database(_ type: String) throws -> (url: String, sql: SQLWriter) {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let sql = try SQLWriter(url: url)
    try sql.run(
      """
      CREATE DOMAIN uuid_domain AS uuid; CREATE DOMAIN text_domain AS text;
      CREATE TABLE lists (id \(type) PRIMARY KEY, title text);
      CREATE TABLE items (id \(type) PRIMARY KEY, list_id \(type) NOT NULL REFERENCES lists ON DELETE CASCADE, title text);
      CREATE INDEX ON items (list_id);
      """)
    return (url, sql)
  }

  @Test("records of a made table refer to those of an adopted one, by devices and by SQL", arguments: types)
  func bothWays(type: String) throws {
    let (url, sql) = try database(type)
    let schema = try SyncSchema(json: Array(Self.schema.utf8))
    try Adoption(PostgresLocation(url)).apply(schema)
    let server = try TestServer(adopted: url, schema)
    let (phone, laptop) = (try server.signUp("ann"), try server.signIn("ann"))
    let (list, first, second, note, star) = (
      phone.newID(), phone.newID(), phone.newID(), phone.newID(), phone.newID()
    )
    #expect(
      try phone.sync([
        .create("lists", list, ["title": "Groceries"]),
        .create("items", first, ["list_id": .string(list), "title": "Milk"]),
        .create("items", second, ["list_id": .string(list), "title": "Bread"]),
        .create(
          "notes", note,
          ["item_id": .string(first), "text": "1 l", "other_id": .string(second)]),
        .create("stars", star, ["list_id": .string(list)]),
      ]).refused.isEmpty)
    let made = phone.newID()
    try sql.run("INSERT INTO notes (id, item_id, text) VALUES ('\(made)', '\(first)', 'fresh')")
    #expect(try sql.texts("SELECT zone FROM notes ORDER BY text") == [list, list])
    try laptop.pull()
    #expect(laptop.column("notes", made, "item_id") == .string(first))
    #expect(laptop.column("notes", note, "other_id") == .string(second))
    // By the reference: filters, order, a list, and what is unique.
    let rest = RestClient(phone)
    let found = try rest.get("/v1/tables/notes?where.item_id=\(first)&order=item_id")
    #expect(found.json["records"]?.elements?.count == 2, "\(found.json)")
    #expect(try rest.get("/v1/tables/notes?where.item_id=none").json["records"]?.elements?.isEmpty == true)
    #expect(
      try phone.refused(.create("notes", phone.newID(), ["item_id": .string(first), "text": "fresh"])).code
        == .uniqueTaken)
    for text in ["a", "b"] {
      _ = try rest.create(
        "notes", ["item_id": .string(first), "text": .string(text), "place": ["at": "first"]])
    }
    #expect(try sql.texts("SELECT text FROM notes WHERE place IS NOT NULL ORDER BY place, id") == ["b", "a"])
    // What names no record.
    #expect(throws: (any Error).self) {
      try sql.run("INSERT INTO notes (id, item_id) VALUES ('\(phone.newID())', '\(phone.newID())')")
    }
    #expect(
      try phone.refused(.create("stars", phone.newID(), ["list_id": .string(phone.newID())])).code
        == .referenceMissing)
    #expect(
      try phone.refused(.create("stars", phone.newID(), ["list_id": "c 1"])).code == .referenceMissing)
    // Moves and deletions, from either side.
    try phone.sync([.update("notes", made, ["item_id": .string(second)])])
    #expect(try sql.texts("SELECT item_id::text FROM notes WHERE id = '\(made)'") == [second])
    try sql.run("DELETE FROM items WHERE id = '\(second)'")
    try laptop.pull()
    #expect(!laptop.has("notes", made) && laptop.column("notes", note, "other_id") == .null)
    try phone.sync([.delete("lists", list)])
    #expect(try sql.texts("SELECT id FROM notes UNION ALL SELECT id FROM stars").isEmpty)
    #expect(try server.findings() == [])
  }

  @Test("a start adds a made table, and a column of it, with references to an adopted one", arguments: types)
  func added(type: String) throws {
    let (url, sql) = try database(type)
    let schema = try SyncSchema(json: Array(Self.schema.utf8))
    let adoption = Adoption(PostgresLocation(url))
    try adoption.apply(SyncSchema(json: Array(adoption.propose().text.utf8)))
    func reduced(_ schema: SyncSchema, without column: String) throws -> SyncSchema {
      var tables = schema.tables.filter { !$0.isBuiltIn }
      for index in tables.indices { tables[index].columns.removeAll { $0.name == column } }
      return try SyncSchema(name: schema.name, tables: tables)
    }
    _ = try TestServer(adopted: url, reduced(schema, without: "other_id"))
    let server = try TestServer(adopted: url, schema)
    let phone = try server.signUp("ann")
    let (list, item, note) = (phone.newID(), phone.newID(), phone.newID())
    let answer = try phone.sync([
      .create("lists", list, [:]), .create("items", item, ["list_id": .string(list)]),
      .create("notes", note, ["item_id": .string(item), "other_id": .string(item)]),
    ])
    #expect(answer.refused.isEmpty)
    #expect(try sql.texts("SELECT other_id::text FROM notes") == [item])
    #expect(try server.findings() == [])
  }
}
