import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// Tables that were changed behind the ledger, and databases that hold or do something else than the service expects.
@Suite struct MismatchTests {
  private let server: TestServer
  private let alice: TestDevice
  private let list: String
  private let sql: SQLWriter

  init() throws {
    server = try TestServer(engine: .postgres)
    alice = try server.signUp("alice")
    list = try alice.makeList()
    sql = try SQLWriter(server)
  }

  @Test("a record that the ledger has alone is passed over, in its zone and in all others (I4, I12)")
  func missingRow() throws {
    let (gone, kept) = (try alice.makeItem(list, "gone"), try alice.makeItem(list, "kept"))
    let other = try alice.makeItem(alice.makeList("other"), "elsewhere")
    try sql.run("BEGIN; SET LOCAL holdfast.service = 'on'; DELETE FROM items WHERE id = '\(gone)'; COMMIT")
    let second = try server.signIn("alice")
    try second.pull()
    #expect(!second.has("items", gone))
    #expect(second.has("items", kept) && second.has("items", other))
    #expect(try server.findings().contains { $0.hasPrefix("ledger: items \(gone) is in the ledger alone") })
    let answer = try alice.sync([.update("items", gone, ["title": "still there?"])])
    #expect(answer.refused.isEmpty)
    #expect(!alice.has("items", gone))
    #expect(alice.all("conflicts").first?["loser_value"] == "still there?")
    #expect(try alice.makeItem(list, "and on").isEmpty == false)
    #expect(try server.findings() == [])
  }

  @Test("nor is it shown by its address, among others, on a page or in a delta (I4)") func missingRowByREST()
    throws
  {
    let items = try [alice.makeItem(list), alice.makeItem(list)].sorted()
    let (kept, gone) = (items[0], items[1])
    let logged = TestServer.Failures()
    try #require(server.inline).api.database.reportMismatches { line in
      logged.lines.withLock { $0.append(line) }
    }
    let first = try alice.get("/v1/tables/items?limit=1")
    #expect(first.ids == [kept])
    var follower = DeltaFollower(device: alice, target: "/v1/tables/items")
    try follower.follow()
    follower.records[gone] = nil
    // Its row of the ledger is new to the follower.
    try sql.run(
      """
      BEGIN; SET LOCAL holdfast.service = 'on'; DELETE FROM items WHERE id = '\(gone)';
      UPDATE holdfast.zones SET seq = seq + 1 WHERE zone = '\(list)';
      UPDATE holdfast.records r SET seq = z.seq FROM holdfast.zones z WHERE z.zone = r.zone AND r.id = '\(gone)'; COMMIT
      """)
    let rest = RestClient(alice)
    #expect(try rest.get("/v1/tables/items/\(gone)").code == "record-unknown")
    #expect(try rest.get("/v1/tables/items?ids=\(gone),\(kept)").statuses == [404, 200])
    let next = try alice.get(#require(first.next))
    #expect(next.records.map { $0["columns"] } == [nil])
    #expect(next.records.map { $0["deleted"] } == [true])
    try follower.follow()
    #expect(follower.deltas == 1)
    #expect(follower.records.map(\.key) == [kept])
    #expect(logged.lines.withLock { $0.count } == 1)
    #expect(logged.lines.withLock { $0.first?.contains(gone) } == true)
  }

  @Test(
    "what the database passes over without a word refuses its own change set alone (I12)",
    arguments: ["INSERT", "UPDATE", "DELETE"])
  func passedOver(event: String) throws {
    let item = try alice.makeItem(list, "stays")
    try sql.run(
      """
      CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
        IF TG_OP = ''INSERT'' AND NEW.title <> ''no'' OR TG_OP = ''UPDATE'' AND NEW.title <> ''no'' THEN RETURN NEW; END IF;
        RETURN NULL; END';
      CREATE TRIGGER nothing BEFORE \(event) ON items FOR EACH ROW EXECUTE FUNCTION nothing();
      """)
    let set: Sent =
      switch event {
      case "INSERT": .create("items", alice.newID(), ["list_id": .string(list), "title": "no"])
      case "UPDATE": .update("items", item, ["title": "no"])
      default: .delete("items", item)
      }
    let answer = try alice.sync([set], [.create("lists", alice.newID(), ["title": "beside it"])])
    #expect(answer.refused.count == 1)
    #expect(try Administration(server.location).doctor() == [])
    #expect(server.failures.lines.withLock { $0.count } == 1)
    #expect(try sql.texts("SELECT title FROM items") == ["stays"])
  }

  @Test("a value that no statement should give is an error of the next statement, and ends no process")
  func unexpectedValues() throws {
    let rows = try sql.connection.query("SELECT NULL::bigint, 'text'::text, true")
    #expect(rows.int64(0, 0) == 0)
    #expect(throws: PostgresError.self) { try sql.connection.checkValues() }
    for read in [
      { _ = rows.int64(0, 1) }, { _ = rows.text(0, 2) }, { _ = rows.bool(0, 1) }, { _ = rows.text(0, 0) },
      { _ = rows.double(0, 2) }, { _ = rows.int64(1, 0) }, { _ = rows.text(0, 3) },
      { _ = rows.isNull(-1, 0) },
    ] {
      read()
      let failure = #expect(throws: PostgresError.self) { try sql.connection.query("SELECT 1") }
      #expect(failure?.code == .unexpectedValue)
      #expect(try sql.connection.query("SELECT 1").count == 1)
    }
  }

  @Test("a column whose type was changed under a running server is a failed request, and ends no process")
  func changedType() throws {
    _ = try alice.makeItem(list, "one")
    try sql.run("ALTER TABLE items ALTER done DROP DEFAULT, ALTER done TYPE text USING done::text")
    for _ in 0..<3 {
      let response = try server.respond(to: alice.request([]))
      #expect(response.status >= 500 || response.status == 200)
    }
  }

  @Test("a server does not start where rows are hidden from it, or rules rewrite what it writes")
  func refused() throws {
    try sql.run("CREATE RULE aside AS ON DELETE TO items DO INSTEAD NOTHING")
    #expect(throws: ServerError.self) { try server.reopen() }
    try sql.run(
      """
      DROP RULE aside ON items;
      ALTER TABLE items ENABLE ROW LEVEL SECURITY
      """)
    // The owner is not concerned.
    try server.reopen()
  }
}
