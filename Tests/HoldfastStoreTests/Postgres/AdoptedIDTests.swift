import Foundation
import HoldfastCore
import HoldfastHTTP
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastPostgresStore
@testable import HoldfastServer

/// Ids and references of adopted tables whose columns have a limit.
@Suite struct AdoptedIDTests {
  private let url: String
  private let sql: SQLWriter
  private let adoption: Adoption

  init() throws {
    url = try TemporaryPostgres.shared.makeDatabase()
    sql = try SQLWriter(url: url)
    adoption = Adoption(PostgresLocation(url))
  }

  @Test("a table whose ids are too short for those of devices is not adopted, also with domains (I1, I2)")
  func shortIDs() throws {
    try sql.run(
      """
      CREATE DOMAIN code AS varchar(35); CREATE DOMAIN inner_code AS code;
      CREATE TABLE plain (id varchar(20) PRIMARY KEY, title text);
      CREATE TABLE coded (id inner_code PRIMARY KEY, title text);
      CREATE TABLE lists (id varchar(36) PRIMARY KEY, title text);
      """)
    let proposal = try adoption.propose()
    let schema = try SyncSchema(json: Array(proposal.text.utf8))
    #expect(schema.tables.map(\.name).first == "lists")
    for (table, length) in [("plain", 20), ("coded", 35)] {
      #expect(
        proposal.notes.contains {
          $0.hasPrefix("\(table) is left out") && $0.contains("\(length) characters")
        },
        "\(table)")
      let forced = proposal.text.replacingOccurrences(of: "\"lists\"", with: "\"\(table)\"")
      let error = #expect(throws: ServerError.self) {
        try adoption.apply(SyncSchema(json: Array(forced.utf8)))
      }
      #expect(error?.description.contains("takes \(length) characters") == true)
    }
    // One that became short later is refused at the next start.
    try adoption.apply(schema)
    let server = try TestServer(adopted: url, schema)
    let device = try server.signUp("ann")
    try device.sync([.create("lists", device.newID(), ["title": "Groceries"])])
    #expect(try sql.texts("SELECT title FROM lists") == ["Groceries"])
    try sql.run("DELETE FROM lists; ALTER TABLE lists ALTER id TYPE varchar(20)")
    let error = #expect(throws: ServerError.self) { try server.reopen(schema) }
    #expect(error?.description.contains("takes 20 characters") == true)
  }

  @Test("a value that its column can't hold is refused, and never cut by a cast (I1, I2)")
  func casts() throws {
    try sql.run(
      """
      CREATE DOMAIN code AS varchar(40); CREATE DOMAIN price AS numeric(5,2);
      CREATE TABLE lists (id varchar(36) PRIMARY KEY, title varchar(5), code code, price price, rate numeric(4,1), flag char(3));
      CREATE TABLE marks (id code PRIMARY KEY);
      """)
    let schema = try SyncSchema(json: Array(adoption.propose(tables: ["lists"]).text.utf8))
    try adoption.apply(schema)
    let database = try PostgresDatabase(PostgresLocation(url), schema: schema, random: TestWorld().random)
    let relation = try #require(database.layout.relations.first)
    #expect(relation.idCast == "::character varying")
    #expect(relation.columns.map(\.cast) == ["", "", "::numeric", "::numeric", ""])
    database.close()
    let device = try TestServer(adopted: url, schema).signUp("ann")
    try sql.run("ALTER TABLE lists ALTER title TYPE varchar(3)")
    let problem = try device.refused(.create("lists", device.newID(), ["title": "abcd"]))
    #expect(problem.detail.contains("22001"))
    try device.sync([
      .create("lists", device.newID(), ["price": "1.25", "code": "c", "rate": "2.5", "flag": "x"])
    ])
    #expect(try sql.texts("SELECT concat_ws(' ', price, code, rate, flag) FROM lists") == ["1.25 c 2.5 x  "])
  }

  @Test(
    "a reference too short for the ids of devices is a plain value, and one shorter than its target is noted")
  func references() throws {
    try sql.run(
      """
      CREATE DOMAIN code AS varchar(16);
      CREATE TABLE lists (id varchar(64) PRIMARY KEY, title text);
      CREATE TABLE items (id uuid PRIMARY KEY, list_id varchar(36) NOT NULL REFERENCES lists ON DELETE CASCADE,
        other_id code REFERENCES lists, same_id uuid REFERENCES items ON DELETE CASCADE);
      """)
    let proposal = try adoption.propose()
    let schema = try SyncSchema(json: Array(proposal.text.utf8))
    let items = try #require(schema.table("items"))
    #expect(items.columns.map(\.type) == [.reference, .text, .reference])
    #expect(
      proposal.notes.contains {
        $0.hasPrefix("items.other_id is a plain value") && $0.contains("16 characters")
      })
    #expect(proposal.notes.contains { $0.hasPrefix("items.list_id is character varying(36), shorter than") })
    #expect(!proposal.notes.contains { $0.hasPrefix("items.same_id") })
    try adoption.apply(schema)
    try sql.run("ALTER TABLE items ALTER list_id TYPE varchar(30)")
    let error = #expect(throws: ServerError.self) { try TestServer(adopted: url, schema) }
    #expect(error?.description.contains("tables.items.columns.list_id") == true)
  }

  @Test("an id of a deleted record that is no UUID stops nobody who reads or writes a table of UUIDs (I12)")
  func foreignIDs() throws {
    try sql.run("CREATE TABLE lists (id uuid PRIMARY KEY, title text)")
    let schema = try SyncSchema(json: Array(adoption.propose().text.utf8))
    try adoption.apply(schema)
    let server = try TestServer(adopted: url, schema)
    let ann = try server.signUp("ann")
    let list = ann.newID()
    try ann.sync([.create("lists", list, ["title": "Groceries"])])
    var follower = DeltaFollower(device: ann, target: "/v1/tables/lists?zone=\(list)")
    try follower.follow()
    try sql.run(
      """
      UPDATE holdfast.zones SET seq = seq + 1 WHERE zone = '\(list)';
      INSERT INTO holdfast.records (zone, seq, record_table, id, rev, state, stamp, device, deleted_seq, size)
      SELECT zone, seq, 'lists', 'abc', 2, 1, 1, 0, seq, 0 FROM holdfast.zones WHERE zone = '\(list)'
      """)
    try follower.follow()
    #expect(try ann.get("/v1/tables/lists/abc").status == 410)
    let edits: [Sent] = [.delete("lists", "abc", rev: 2), .update("lists", list, ["title": "Wine"])]
    #expect(try server.respond(to: ann.request([edits])).status == 200)
  }
}
