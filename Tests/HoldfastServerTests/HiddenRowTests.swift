import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Rows of PostgreSQL that the server may not see any more. A hidden record is not a deleted one.
@Suite("Hidden rows", .enabled(if: Engine.used == .postgres)) struct HiddenRowTests {
  let server: TestServer
  let anna: TestDevice
  let bob: TestDevice
  let item: String

  init() throws {
    server = try TestServer()
    anna = try server.signUp("anna")
    bob = try server.signUp("bob")
    item = try anna.makeItem(anna.makeList())
    try anna.pull()
  }

  /// Changes a setting of the role in the database, and ends the pooler's connections, which have those of before.
  private static func set(_ setting: String, of url: String) throws {
    try TemporaryPostgres.shared.psql(
      url,
      """
      DO $$ BEGIN EXECUTE format('ALTER ROLE CURRENT_USER IN DATABASE %I SET \(setting)', current_database()); END $$;
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
      """)
  }

  private func patch(_ rest: RestClient) throws -> Int {
    try rest.send("PATCH", "/v1/tables/items/\(item)", ["rev": 1, "columns": ["title": "Oat milk"]]).status
  }

  @Test(
    "row-level security and lost rights make reading and writing wait, and never a deletion (I3, I4)",
    arguments: [
      (
        "ALTER TABLE items ENABLE ROW LEVEL SECURITY; ALTER TABLE items FORCE ROW LEVEL SECURITY",
        "ALTER TABLE items NO FORCE ROW LEVEL SECURITY; ALTER TABLE items DISABLE ROW LEVEL SECURITY"
      ),
      (
        """
        ALTER TABLE items ENABLE ROW LEVEL SECURITY; ALTER TABLE items FORCE ROW LEVEL SECURITY;
        CREATE POLICY reads ON items FOR SELECT USING (true);
        CREATE POLICY writes ON items FOR UPDATE USING (title <> 'Milk')
        """,
        "ALTER TABLE items NO FORCE ROW LEVEL SECURITY; ALTER TABLE items DISABLE ROW LEVEL SECURITY"
      ),
      ("REVOKE ALL ON items FROM CURRENT_USER", "GRANT ALL ON items TO CURRENT_USER"),
    ])
  func hidden(taken: String, given: String) throws {
    try server.change(sqlite: "", postgres: taken)
    #expect(try patch(RestClient(anna)) == 503)
    let edit = anna.request([[.update("items", item, ["title": "Oat milk"], base: ["title": "Milk"])]])
    #expect(try server.respond(to: edit).status == 503)
    // A device that is new must not believe that it has all there is.
    let tablet = try server.signIn("anna")
    #expect(try server.respond(to: tablet.request([])).status == 503)
    #expect(try RestClient(anna).get("/v1/tables/items/\(item)").status == 503)
    _ = try bob.makeList("Bob's")
    try server.change(sqlite: "", postgres: given)
    try tablet.pull()
    #expect(tablet.column("items", item, "title") == "Milk")
    #expect(try anna.apply(server.respond(to: edit)).refused.isEmpty)
    #expect(anna.column("items", item, "title") == "Oat milk")
    #expect(try Administration(server.location).doctor() == [])
  }

  @Test(
    "a pooler whose role lacks a setting is not served through, and the error says what to run (I3)",
    .enabled(if: TemporaryPostgres.isPooled),
    arguments: ["row_security = on", "extra_float_digits = 0"])
  func settings(setting: String) throws {
    guard case .postgres(let location) = server.location else { return }
    let url = try #require(location.direct)
    server.inline = nil
    try Self.set(setting, of: url)
    let error = #expect(throws: ServerError.self) { try server.reopen() }
    let name = String(setting.prefix { $0 != " " })
    #expect(error.map { "\($0)".contains("SET \(name) = ") } == true)
    let found = #expect(throws: ServerError.self) {
      try Server.check(Configuration(database: server.location))
    }
    #expect(found?.code == .refused)
    for setting in ["row_security = off", "extra_float_digits = 1"] { try Self.set(setting, of: url) }
    try server.reopen()
    try anna.pull()
  }
}
