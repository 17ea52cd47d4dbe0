import HoldfastCore
import HoldfastPostgresStore
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// What of a team's own tables uses the schema `holdfast`, when Holdfast is removed. Invariants I2 and I10.
@Suite struct AdoptionRemovalTests {
  @Test(
    "what of the team's tables uses Holdfast's is named, and nothing is removed (I10)",
    arguments: [
      (
        "CREATE TABLE tickets (id text REFERENCES holdfast.accounts (id))",
        "constraint tickets_id_fkey on table public.tickets"
      ),
      (
        "CREATE TABLE tickets (id text DEFAULT holdfast.new_id())",
        "default value for column id of table public.tickets"
      ),
      (
        "CREATE TABLE tickets (id text CHECK (holdfast.stamp_text(1) <> id))",
        "constraint tickets_id_check on table public.tickets"
      ),
      (
        """
        CREATE TABLE tickets (id text); ALTER TABLE tickets ENABLE ROW LEVEL SECURITY;
        CREATE POLICY everybody ON tickets USING (true); CREATE POLICY members_only ON tickets AS RESTRICTIVE
        USING (EXISTS (SELECT FROM holdfast.access a WHERE a."user" = current_user))
        """, "policy members_only on table public.tickets"
      ),
      (
        """
        CREATE TABLE tickets (id text);
        CREATE TRIGGER count AFTER INSERT ON tickets EXECUTE FUNCTION holdfast.items_insert()
        """, "trigger count on table public.tickets"
      ),
      (
        "CREATE TABLE tickets (id holdfast.accounts)", "column id of table public.tickets"
      ),
    ])
  func used(_ making: String, _ name: String) throws {
    let server = try TestServer(engine: .postgres)
    guard case .postgres(let location) = server.location else { throw PostgresOnly() }
    let anna = try server.signUp("anna")
    let list = try anna.makeList()
    let sql = try SQLWriter(server)
    try sql.run(making)
    let error = #expect(throws: ServerError.self) { try Adoption(location).remove() }
    #expect(error?.description.contains(name) == true, "\(error?.description ?? "")")
    try server.reopen()
    let item = try anna.makeItem(list)
    #expect(try server.findings() == [])
    server.inline = nil
    try sql.run("DROP TABLE tickets")
    #expect(try Adoption(location).remove().contains("public.items"))
    #expect(try sql.texts("SELECT id FROM items") == [item])
    #expect(try sql.texts("SELECT to_regnamespace('holdfast')::text") == ["null"])
  }
}
