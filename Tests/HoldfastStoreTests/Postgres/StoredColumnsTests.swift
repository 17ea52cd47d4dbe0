import HoldfastCore
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Statements that change the values of all rows and write none: I4, I7.
@Suite struct StoredColumnsTests {
  private let url: String
  private let sql: SQLWriter
  private let schema: SyncSchema
  private let server: TestServer
  private let device: TestDevice
  private let list: String

  init() throws {
    url = try TemporaryPostgres.shared.makeDatabase()
    sql = try SQLWriter(url: url)
    try sql.run(
      """
      CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN feeling AS mood;
      CREATE TABLE lists (id uuid PRIMARY KEY, title text, other text, n integer, mood feeling);
      """)
    let adoption = Adoption(PostgresLocation(url))
    schema = try SyncSchema(json: Array(adoption.propose().text.utf8))
    try adoption.apply(schema)
    server = try TestServer(adopted: url, schema)
    device = try server.signUp("alice")
    list = device.newID()
    try device.sync([.create("lists", list, ["title": "a", "other": "b", "n": 10, "mood": "ok"])])
    try device.pull()
  }

  private func repair() throws -> [String] {
    try DatabaseRepair(server.location, environment: server.world.environment).run()
  }

  @Test(
    "a column that is another one than before is refused by the start and the doctor, and a repair feeds it (I4, I7)",
    arguments: [
      ("ALTER TABLE lists DROP COLUMN n; ALTER TABLE lists ADD COLUMN n integer DEFAULT 0", "n"),
      ("ALTER TABLE lists DROP COLUMN n; ALTER TABLE lists ADD COLUMN n integer", "n"),
      (
        """
        ALTER TABLE lists RENAME COLUMN title TO kept; ALTER TABLE lists RENAME COLUMN other TO title;
        ALTER TABLE lists RENAME COLUMN kept TO other
        """, "title"
      ),
      ("ALTER TYPE mood RENAME VALUE 'ok' TO 'fine'", "mood"),
    ])
  func replaced(statement: String, column: String) throws {
    try sql.run(statement)
    // The doctor of a running server finds it, too.
    #expect(try server.findings().contains { $0.hasPrefix("ledger: tables.lists.columns.\(column)") })
    for attempt in [{ try server.reopen(schema) }, { _ = try server.findings() }] {
      let error = #expect(throws: ServerError.self) { try attempt() }
      #expect(error?.description.contains("tables.lists.columns.\(column): The column was dropped") == true)
    }
    let changes = try server.location.report(of: schema).changes
    #expect(changes.contains { $0.place == "tables.lists.columns.\(column)" })
    #expect(try repair().first == "repaired: lists, 1 records")
    #expect(try server.findings() == [])
    #expect(try repair() == [])
    try server.reopen(schema)
    try device.pull()
    let now = try sql.texts("SELECT coalesce(\(column)::text, 'null') FROM lists")
    let value = device.column("lists", list, column)
    let text = value?.stringValue ?? value?.integerValue.map { String($0) }
    #expect(text ?? "null" == now[0])
  }

  @Test("columns that the schema does not have, new labels, and rows that are written anew are none of these")
  func others() throws {
    try sql.run(
      """
      ALTER TABLE lists ADD COLUMN more text; ALTER TABLE lists DROP COLUMN more; ALTER TABLE lists ADD COLUMN more text;
      ALTER TYPE mood ADD VALUE 'great' BEFORE 'sad'; ALTER TABLE lists ALTER n SET DEFAULT 5
      """)
    try sql.run("VACUUM FULL lists")
    try server.reopen(schema)
    #expect(try server.findings() == [])
    #expect(try repair() == [])
  }
}
