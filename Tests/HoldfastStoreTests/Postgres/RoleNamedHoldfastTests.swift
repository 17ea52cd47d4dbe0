import HoldfastCore
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// The server's role has the name of Holdfast's own schema, so that its `search_path` begins there by default.
@Suite struct RoleNamedHoldfastTests {
  private static let schema = """
    {"holdfast": 1, "name": "role", "tables": {
      "devices": {"zone": "root", "columns": {"title": {"type": "text"}}},
      "accounts": {"zone": {"parent": "device_id"}, "columns": {"device_id": {"type": "reference", "to": "devices", "required": true}}}}}
    """
  private static let team = """
    CREATE TABLE lists (id text PRIMARY KEY, title text NOT NULL);
    CREATE TABLE items (id text PRIMARY KEY, list_id text NOT NULL REFERENCES lists, title text);
    INSERT INTO lists VALUES ('L1', 'a'), ('L2', 'b'); INSERT INTO items VALUES ('i1', 'L1', 'x');
    """
  private static let counts = """
    SELECT concat_ws(' ', (SELECT count(*) FROM public.lists), (SELECT count(*) FROM public.items))
    """

  private let url: String
  private let sql: SQLWriter
  private let location: PostgresLocation

  init() throws {
    url = try TemporaryPostgres.shared.makeDatabaseOfRoleHoldfast()
    sql = try SQLWriter(url: url)
    location = PostgresLocation(url)
  }

  private func open(_ schema: String? = Self.schema) throws {
    _ = try PostgresOpening.open(
      location, schema: schema.map { try SyncSchema(json: Array($0.utf8)) }
    ) { [UInt8](repeating: 7, count: $0) }
  }

  private func refusal(of body: () throws -> Void) -> String? {
    do { try body() } catch let error as ServerError {
      return error.code == .refused ? error.description : nil
    } catch {}
    return nil
  }

  @Test(
    "the app's tables are made in public, also those with a name of Holdfast's own tables, and stay when Holdfast is removed (I2)"
  )
  func madeTables() throws {
    let server = try TestServer(adopted: url, SyncSchema(json: Array(Self.schema.utf8)))
    #expect(
      try sql.texts("SELECT schemaname FROM pg_tables WHERE tablename = 'devices' ORDER BY 1")
        == ["holdfast", "public"])
    let device = try server.signUp("ann")
    let id = device.newID()
    try device.sync([.create("devices", id, ["title": "phone"])])
    try sql.run("SET search_path = public; INSERT INTO accounts (id, device_id) VALUES ('a1', '\(id)')")
    try device.pull()
    #expect(device.has("accounts", "a1"))
    #expect(try Administration(server.location).doctor() == [])
    #expect(try Adoption(location).remove() == ["public.accounts", "public.devices"])
    #expect(try sql.texts("SELECT id || title FROM devices") == [id + "phone"])
    #expect(try sql.texts("SELECT id FROM accounts") == ["a1"])
  }

  @Test("adopted tables are found beside Holdfast's own, and stay when Holdfast is removed (I2)")
  func adoptedTables() throws {
    try sql.run(Self.team)
    let adoption = Adoption(location)
    let proposed = try adoption.propose().text
    var schema = try SyncSchema(json: Array(proposed.utf8))
    schema = try SyncSchema(
      name: schema.name,
      tables: schema.tables.filter { !$0.isBuiltIn }
        + [TableSchema("notes", zone: .root, columns: [ColumnSchema("text", .text)])])
    try adoption.apply(schema)
    // With the schema holdfast, the proposal is the same.
    #expect(try adoption.propose(tables: ["lists", "items"]).text == proposed)
    try sql.run(
      "SET search_path = public; INSERT INTO notes (text) VALUES ('n'); INSERT INTO items VALUES ('i2', 'L2', 'y')"
    )
    #expect(try sql.ledger("L2") == ["1 lists L2 1 live", "2 items i2 1 live"])
    try open(nil)
    #expect(try Administration(.postgres(location)).doctor() == [])
    #expect(try adoption.remove() == ["public.notes"])
    #expect(try sql.texts(Self.counts) == ["2 2"])
    #expect(try sql.texts("SELECT text FROM notes") == ["n"])
    #expect(try sql.texts("SELECT count(*)::text FROM pg_namespace WHERE nspname = 'holdfast'") == ["0"])
  }

  @Test(
    "tables that stand in the schema holdfast, where earlier versions made them, are moved out before it is dropped (I2)"
  )
  func earlierTables() throws {
    try open(Self.schema.replacing("accounts", with: "items").replacing("\"devices\"", with: "\"lists\""))
    try sql.run(
      """
      ALTER TABLE public.lists SET SCHEMA holdfast; CREATE TABLE holdfast.holdfast_removed_1_old (id text);
      UPDATE holdfast.tables SET relation = '"holdfast"."lists"' WHERE name = 'lists';
      """)
    // The server goes on with the table where it is.
    try open(nil)
    try sql.run("INSERT INTO holdfast.lists (id, title) VALUES ('d1', 'x')")
    #expect(try Administration(.postgres(location)).doubts() == [])
    #expect(try DatabaseLocation.postgres(location).removedData().count == 1)
    #expect(try Adoption(location).remove() == ["public.items", "public.lists"])
    #expect(try sql.texts("SELECT id FROM public.lists") == ["d1"])
    #expect(try sql.texts("SELECT count(*)::text FROM public.holdfast_removed_1_old") == ["0"])
  }

  @Test("while a table or view of the team would go with Holdfast, nothing is removed (I2)")
  func strangers() throws {
    try open()
    // As psql would for this role.
    try sql.run("CREATE TABLE remarks (id int); INSERT INTO remarks VALUES (1)")
    #expect(try sql.texts("SELECT count(*)::text FROM holdfast.remarks") == ["1"])
    #expect(try Administration(.postgres(location)).doubts().map(\.kind) == [.structure])
    let adoption = Adoption(location)
    #expect(
      refusal { try adoption.remove() }?.contains("ALTER TABLE holdfast.remarks SET SCHEMA public") == true)
    try sql.run(
      "ALTER TABLE holdfast.remarks SET SCHEMA public; CREATE VIEW public.people AS SELECT name FROM holdfast.accounts"
    )
    #expect(try Administration(.postgres(location)).doubts() == [])
    #expect(refusal { try adoption.remove() }?.contains("public.people") == true)
    #expect(try sql.texts("SELECT count(*)::text FROM public.people") == ["0"])
    try open(nil)
    try sql.run("DROP VIEW public.people")
    try adoption.remove()
    #expect(try sql.texts("SELECT id::text FROM remarks") == ["1"])
  }
}
