import HoldfastCore
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// What the types of adopted columns say beside the columns themselves.
@Suite struct AdoptedDomainTests {
  private let url: String
  private let sql: SQLWriter

  init() throws {
    url = try TemporaryPostgres.shared.makeDatabase()
    sql = try SQLWriter(url: url)
  }

  private func propose() throws -> (schema: SyncSchema, notes: [String]) {
    let proposal = try Adoption(PostgresLocation(url)).propose()
    return (try SyncSchema(json: Array(proposal.text.utf8)), proposal.notes)
  }

  @Test(
    "NOT NULL, DEFAULT and a length in a domain count as in the column, also in a domain of a domain (I12)")
  func domains() throws {
    try sql.run(
      """
      CREATE DOMAIN named AS text NOT NULL; CREATE DOMAIN titled AS named; CREATE DOMAIN code AS varchar(5);
      CREATE DOMAIN inner_code AS code; CREATE DOMAIN stated AS text NOT NULL DEFAULT 'new'; CREATE DOMAIN later AS timestamptz NOT NULL DEFAULT now();
      CREATE DOMAIN tags AS text[] NOT NULL;
      CREATE TABLE lists (id uuid PRIMARY KEY, title titled, code inner_code, state stated, made later, other stated DEFAULT 'old', tags tags DEFAULT '{}');
      """)
    let (schema, notes) = try propose()
    let lists = try #require(schema.table("lists"))
    #expect(lists.columns.map(\.name) == ["title", "code", "state", "made", "other"])
    #expect(lists.columns.map(\.required) == [true, false, true, false, true])
    #expect(lists.columns.map(\.defaultValue) == [nil, nil, .text("new"), nil, .text("old")])
    #expect(lists.columns[1].maximumLength == 5)
    #expect(notes.count == 1 && notes[0].hasPrefix("lists.tags is left out"), "\(notes)")
    let server = try TestServer(adopting: url)
    let device = try server.signUp("ann")
    let id = device.newID()
    #expect(try device.sync([.create("lists", id, ["title": "Groceries", "code": "abcde"])]).refused.isEmpty)
    #expect(
      try sql.texts("SELECT concat_ws(' ', title, code, state, made IS NULL, other) FROM lists") == [
        "Groceries abcde new f old"
      ])
    try device.pull()
    #expect(device.column("lists", id, "state") == "new")
    #expect(try server.findings() == [])
  }

  @Test("every label of an enum is in one_of, and constant defaults of each type are kept (I12)")
  func constants() throws {
    try sql.run(
      """
      CREATE TYPE mood AS ENUM ('', 'ok', E'two\\nlines'); CREATE DOMAIN felt AS mood;
      CREATE TABLE lists (id uuid PRIMARY KEY, mood mood NOT NULL DEFAULT '', felt felt NOT NULL DEFAULT 'ok',
        data jsonb NOT NULL DEFAULT '{"a": [1]}', plain json NOT NULL DEFAULT '[]', none jsonb NOT NULL DEFAULT 'null',
        n int NOT NULL DEFAULT -1, ratio double precision NOT NULL DEFAULT -0.5);
      """)
    let lists = try #require(try propose().schema.table("lists"))
    for column in lists.columns.prefix(2) {
      #expect(column.oneOf == ["", "ok", "two\nlines"], "\(column.name)")
    }
    let columns = lists.columns.filter { $0.name != "felt" }
    #expect(columns.map(\.required) == [true, true, true, false, true, true])
    #expect(
      columns.map(\.defaultValue) == [
        .text(""), .text(#"{"a":[1]}"#), .text("[]"), nil, .integer(-1), .real(-0.5),
      ])
    let server = try TestServer(adopting: url)
    let device = try server.signUp("ann")
    let id = device.newID()
    #expect(try device.sync([.create("lists", id, ["none": true])]).refused.isEmpty)
    try device.pull()
    #expect(device.column("lists", id, "mood") == "" && device.column("lists", id, "data") == ["a": [1]])
    #expect(device.column("lists", id, "n") == -1)
    #expect(try server.findings() == [])
  }

  @Test("rules that no schema has are noted, and a device that breaks one learns its name and no value (I12)")
  func rules() throws {
    try sql.run(
      """
      CREATE DOMAIN small AS int CHECK (VALUE < 10);
      CREATE TABLE lists (id uuid PRIMARY KEY, name text, n small, slot int, hidden text[], room int,
        CONSTRAINT no_three CHECK (slot <> 3), CONSTRAINT one_a_room EXCLUDE (room WITH =), UNIQUE (name, hidden));
      CREATE UNIQUE INDEX names ON lists (lower(name));
      CREATE UNIQUE INDEX slots ON lists (slot) WHERE n IS NULL;
      """)
    let notes = try propose().notes
    for rule in [
      "no_three CHECK", "one_a_room EXCLUDE", "lower(name)", "WHERE (n IS NULL)", "VALUE < 10",
      "UNIQUE (name, hidden)",
    ] {
      #expect(
        notes.contains { $0.hasPrefix("lists: no device knows the rule") && $0.contains(rule) }, "\(rule)")
    }
    let server = try TestServer(adopting: url)
    let device = try server.signUp("ann")
    try device.sync([.create("lists", device.newID(), ["name": "secret", "slot": 1, "room": 7])])
    for (columns, name) in [
      (["name": "SECRET"], "names"), (["slot": 1], "slots"), (["room": 7], "one_a_room"),
      (["slot": 3], "no_three"),
      (["n": 10], "small_check"),
    ] as [(JSONValue, String)] {
      let problem = try device.refused(.create("lists", device.newID(), columns))
      #expect(problem.code == .invalidOperation)
      #expect(problem.detail.contains("constraint \(name)"), "\(problem.detail)")
      #expect(!problem.detail.lowercased().contains("secret"))
    }
  }
}
