import HoldfastCore
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Foreign keys of a team whose actions write tables of the schema in the service's transactions, where no trigger feeds them: I4, I7.
@Suite struct ReferentialActionTests {
  private static let team = """
    CREATE TABLE boards (id uuid PRIMARY KEY, title text);
    CREATE TABLE cards (id uuid PRIMARY KEY, board_id uuid NOT NULL REFERENCES boards ON DELETE CASCADE, code text UNIQUE,
      title text, UNIQUE (board_id, id));
    """
  private let url: String
  private let sql: SQLWriter
  private let adoption: Adoption

  init() throws {
    url = try TemporaryPostgres.shared.makeDatabase()
    sql = try SQLWriter(url: url)
    adoption = Adoption(PostgresLocation(url))
    try sql.run(Self.team)
  }

  /// A table under boards with more columns and constraints.
  private func notes(_ rest: String, before: String = "") throws {
    try sql.run(
      """
      \(before);
      CREATE TABLE notes (id uuid PRIMARY KEY, board_id uuid NOT NULL REFERENCES boards ON DELETE CASCADE, body text, \(rest))
      """)
  }

  private func apply(_ schema: SyncSchema) -> String? {
    do { try adoption.apply(schema) } catch { return "\(error)" }
    return nil
  }

  private func propose(_ tables: [String]? = ["boards", "cards", "notes"]) throws -> (
    schema: SyncSchema, notes: [String]
  ) {
    let proposal = try adoption.propose(tables: tables)
    return (try SyncSchema(json: Array(proposal.text.utf8)), proposal.notes)
  }

  @Test(
    "an action that the schema does not name is noted and refused, with a statement that ends it (I4, I7)",
    arguments: [
      ("card_code text REFERENCES cards (code) ON DELETE CASCADE", "ON DELETE CASCADE"),
      ("card_code text REFERENCES cards (code) ON UPDATE CASCADE", "ON UPDATE CASCADE"),
      (
        "card_code text REFERENCES cards (code) ON UPDATE SET NULL ON DELETE SET DEFAULT",
        "ON DELETE SET DEFAULT, ON UPDATE SET NULL"
      ),
      (
        "card_id uuid, FOREIGN KEY (board_id, card_id) REFERENCES cards (board_id, id) ON DELETE SET NULL",
        "ON DELETE SET NULL"
      ),
      ("card_id uuid REFERENCES cards ON DELETE SET DEFAULT", "ON DELETE SET DEFAULT"),
    ])
  func refused(column: String, clause: String) throws {
    try notes(column)
    let (schema, notes) = try propose()
    #expect(notes.contains { $0.hasPrefix("notes can't be adopted") && $0.contains("(\(clause))") })
    let refusal = try #require(apply(schema))
    #expect(refusal.contains("(\(clause))"))
    let remedy = try #require(refusal.split(separator: "ALTER TABLE").last)
    try sql.run("ALTER TABLE" + remedy)
    #expect(apply(schema) == nil)
    #expect(
      try adoption.propose(tables: ["boards", "cards", "notes"]).notes.allSatisfy {
        !$0.contains("can't be adopted")
      })
  }

  @Test(
    "actions that the service does itself, that never act, or that no device can see are taken",
    arguments: [
      "card_id uuid REFERENCES cards ON DELETE CASCADE ON UPDATE CASCADE",
      "card_id uuid REFERENCES cards ON DELETE SET NULL ON UPDATE CASCADE",
      "card_id uuid REFERENCES cards ON DELETE CASCADE, FOREIGN KEY (board_id, card_id) REFERENCES cards (board_id, id) ON DELETE CASCADE",
      "card_code text REFERENCES cards (code)",
      "hidden text[], card_codes bigint GENERATED ALWAYS AS IDENTITY",
    ])
  func taken(column: String) throws {
    try notes(column)
    let (schema, notes) = try propose()
    #expect(!notes.contains { $0.contains("can't be adopted") })
    #expect(apply(schema) == nil)
    #expect(try Administration(.postgres(PostgresLocation(url))).doctor() == [])
  }

  @Test(
    "an action through a table that the schema does not have is found, and one that nothing reaches is not (I4)"
  )
  func through() throws {
    try notes(
      "audit_id uuid REFERENCES audits ON DELETE SET NULL, kind_id uuid REFERENCES kinds ON DELETE CASCADE",
      before: """
        CREATE TABLE audits (id uuid PRIMARY KEY, card_id uuid REFERENCES cards ON DELETE CASCADE);
        CREATE TABLE kinds (id uuid PRIMARY KEY, name text)
        """)
    let refusal = try #require(apply(try propose().schema))
    #expect(refusal.contains("notes_audit_id_fkey"))
    #expect(!refusal.contains("notes_kind_id_fkey"))
  }

  @Test(
    "a trigger of a table that the schema does not have is found where the service's writes reach it (I4)")
  func triggers() throws {
    try notes(
      "n integer",
      before: """
        CREATE TABLE audits (id uuid PRIMARY KEY, card_id uuid REFERENCES cards ON DELETE CASCADE);
        CREATE TABLE others (id uuid PRIMARY KEY, card_id uuid REFERENCES cards);
        CREATE FUNCTION counts() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN UPDATE notes SET n = n + 1; RETURN NULL; END';
        CREATE TRIGGER counted AFTER DELETE ON audits FOR EACH ROW EXECUTE FUNCTION counts();
        CREATE TRIGGER other AFTER DELETE ON others FOR EACH ROW EXECUTE FUNCTION counts()
        """)
    let schema = try propose().schema
    let refusal = try #require(apply(schema))
    #expect(refusal.contains("The trigger counted on audits writes tables"))
    #expect(!refusal.contains("other on others"))
    try sql.run("DROP TRIGGER counted ON audits")
    #expect(apply(schema) == nil)
  }

  @Test(
    "an action that a table gets later is refused by the next start, and named by the doctor and the check (I4)"
  )
  func later() throws {
    try notes("card_code text")
    let schema = try propose().schema
    try adoption.apply(schema)
    let server = try TestServer(adopted: url, schema)
    let administration = try Administration(server.location)
    try sql.run("ALTER TABLE notes ADD FOREIGN KEY (card_code) REFERENCES cards (code) ON DELETE CASCADE")
    #expect(try administration.doctor().filter { $0.description.contains("notes_card_code_fkey") }.count == 1)
    let error = #expect(throws: ServerError.self) { try server.reopen(schema) }
    #expect(error?.description.contains("notes_card_code_fkey") == true)
  }

  @Test("an action that the team adds to a table that Holdfast made is refused, too (I4)")
  func made() throws {
    let server = try TestServer(engine: .postgres)
    let writer = try SQLWriter(server)
    try writer.run(
      """
      CREATE UNIQUE INDEX list_titles ON lists (title);
      ALTER TABLE items ADD CONSTRAINT titles FOREIGN KEY (title) REFERENCES lists (title) ON UPDATE CASCADE NOT VALID
      """)
    let error = #expect(throws: ServerError.self) { try server.reopen() }
    #expect(error?.description.contains("The foreign key titles") == true)
  }
}
