import HoldfastCore
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Users who are erased where others write round the server: docs/EXPORT-AND-ERASURE.md, section 2. Invariants I9 and I10.
@Suite struct ErasureSQLTests {
  private static let team = """
    CREATE TABLE lists (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), title text NOT NULL);
    CREATE TABLE items (
      id uuid PRIMARY KEY DEFAULT gen_random_uuid(), list_id uuid NOT NULL REFERENCES lists ON DELETE CASCADE,
      title text NOT NULL, after_id uuid REFERENCES items, next_id uuid REFERENCES items ON DELETE SET NULL);
    """

  @Test("the records of adopted tables go like others, also those that refer to each other (I9)")
  func adopted() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let sql = try SQLWriter(url: url)
    try sql.run(Self.team)
    let server = try TestServer(adopting: url)
    let (ann, bob) = (try server.signUp("ann"), try server.signUp("bob"))
    let shared = try bob.makeList("for both")
    _ = try bob.share(shared, with: "ann")
    try sql.run(
      """
      SET holdfast.account = '\(ann.user)';
      INSERT INTO lists (title) VALUES ('secret list');
      INSERT INTO items (list_id, title) SELECT id, 'secret item ' || n FROM lists, generate_series(1, 700) n
        WHERE title = 'secret list';
      UPDATE items i SET after_id = (SELECT j.id FROM items j WHERE j.id <= i.id ORDER BY j.id DESC LIMIT 1),
        next_id = (SELECT j.id FROM items j WHERE j.id > i.id ORDER BY j.id LIMIT 1);
      """)
    #expect(try sql.texts("SELECT count(*)::text FROM items") == ["700"])
    #expect(try RestClient(ann).send("DELETE", "/v1/account", ["password": "correct horse"]).status == 204)
    for _ in 0..<2 { try server.inline?.purge() }
    #expect(try sql.texts("SELECT title FROM lists") == ["for both"])
    #expect(try sql.texts("SELECT count(*)::text FROM items") == ["0"])
    #expect(try sql.texts("SELECT erasure::text FROM holdfast.accounts WHERE id = '\(ann.user)'") == ["2"])
    #expect(try server.findings().isEmpty)
  }

  @Test("who is being erased is no user to writers in SQL, by id or by name (I10)")
  func writers() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let server = try TestServer(location: { _ in .postgres(PostgresLocation(url)) })
    let sql = try SQLWriter(url: url)
    let (ann, bob) = (try server.signUp("ann"), try server.signUp("bob"))
    let list = try bob.makeList()
    #expect(try RestClient(ann).send("DELETE", "/v1/account", ["password": "correct horse"]).status == 204)
    let name = try sql.texts("SELECT name FROM holdfast.accounts WHERE id = '\(ann.user)'")[0]
    for (column, value) in [("\"user\"", ann.user), ("name", "ann"), ("name", name)] {
      #expect(throws: PostgresError.self) {
        try sql.run(
          "INSERT INTO holdfast.members (zone, \(column), role) VALUES ('\(list)', '\(value)', 'editor')")
      }
    }
    #expect(throws: PostgresError.self) {
      try sql.run("SET holdfast.account = '\(ann.user)'; INSERT INTO lists (id, title) VALUES ('L9', 'hers')")
    }
    try server.inline?.purge()
    #expect(try server.findings().isEmpty)
  }
}
