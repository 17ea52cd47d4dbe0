import HoldfastCore
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Adopted tables whose ids and references have collations of their own: I4, I12.
@Suite struct AdoptedCollationTests {
  private static let collation = #"COLLATE "und-x-icu""#

  @Test("ids and references of any collation are read, compared, repaired, and take unique values (I4, I12)")
  func collated() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let sql = try SQLWriter(url: url)
    try sql.run(
      """
      CREATE TABLE lists (id text \(Self.collation) PRIMARY KEY, title text);
      CREATE TABLE folders (id varchar(64) PRIMARY KEY, title text);
      CREATE TABLE cards (id varchar(64) \(Self.collation) PRIMARY KEY, list_id text NOT NULL REFERENCES lists ON DELETE CASCADE,
        folder_id text \(Self.collation) REFERENCES folders ON DELETE SET NULL, after_id text COLLATE "C" REFERENCES cards ON DELETE SET NULL,
        title text \(Self.collation), position text \(Self.collation), UNIQUE (title));
      """)
    let adoption = Adoption(PostgresLocation(url))
    let text = try adoption.propose().text.replacing(
      #""position": { "type": "text", "max_length": 1000000 }"#, with: #""position": { "type": "position" }"#)
    let schema = try SyncSchema(json: Array(text.utf8))
    #expect(schema.table("cards")?.columns.last?.type == .position)
    try adoption.apply(schema)
    let server = try TestServer(adopted: url, schema)
    let device = try server.signUp("alice")
    let (list, folder) = (device.newID(), device.newID())
    let (one, two) = (device.newID(), device.newID())
    #expect(
      try device.sync([
        .create("lists", list, ["title": "Cards"]), .create("folders", folder, ["title": "Folder"]),
        .create("cards", one, ["list_id": .string(list), "title": "a"]),
        .create(
          "cards", two,
          [
            "list_id": .string(list), "title": "b", "folder_id": .string(folder), "after_id": .string(one),
          ]),
      ]).refused.isEmpty)
    // A place in the list is found by what is in it.
    for id in [two, one] {
      let moved = try RestClient(device).send(
        "PATCH", "/v1/tables/cards/\(id)", text: #"{"columns": {"position": {"at": "last"}}}"#)
      #expect(moved.status == 200)
    }
    let taken = try device.refused(.update("cards", two, ["title": "a"]))
    #expect(taken.code == .uniqueTaken)
    let swap = [Sent.update("cards", one, ["title": "b"]), .update("cards", two, ["title": "a"])]
    #expect(try device.sync(swap).refused.isEmpty)
    #expect(try sql.texts("SELECT title FROM cards ORDER BY position COLLATE \"C\"") == ["a", "b"])
    #expect(try server.findings() == [])
    #expect(try DatabaseRepair(server.location, environment: server.world.environment).run() == [])
    try sql.run(
      """
      SET holdfast.service = 'on'; UPDATE cards SET title = 'c' WHERE id = '\(two)';
      INSERT INTO cards (id, list_id, title) VALUES ('new', '\(list)', 'new')
      """)
    #expect(try server.findings().contains { $0.contains("cards new is in the table alone") })
    #expect(
      try DatabaseRepair(server.location, environment: server.world.environment).run().first
        == "repaired: cards, 2 records")
    #expect(try server.findings() == [])
    try device.pull()
    #expect(device.has("cards", "new") && device.column("cards", two, "title") == "c")
  }

  @Test("a collation that takes different ids for equal prevents an adoption (I1)")
  func inexact() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    try SQLWriter(url: url).run(
      """
      CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      CREATE TABLE lists (id text COLLATE loose PRIMARY KEY, title text); CREATE TABLE items (id uuid PRIMARY KEY, title text);
      """)
    let notes = try Adoption(PostgresLocation(url)).propose().notes
    #expect(notes.contains { $0.hasPrefix("lists is left out. The collation of its id") })
  }
}
