import HoldfastCore
import HoldfastPostgres
import ServerScenes
import Testing

@testable import HoldfastServer

/// Columns with the policy `set`, which apps read as lists of texts, and writers that go round the server.
@Suite struct SetColumnTests {
  private static let schema = """
    {"holdfast": 1, "name": "sets", "tables": {
      "lists": {"zone": "root", "columns": {"title": {"type": "text"}, "labels": {"type": "json", "merge": "set"}}}}}
    """

  @Test(
    "take no value from SQL that is no array of texts, whatever the statement, and nothing is written (I12)",
    arguments: [#"{"a":1}"#, "[1]", #"["a",null]"#, #"[["a"]]"#, "\"a\"", "7", "true"])
  func refused(_ value: String) throws {
    let sql = try TestLedger(Self.schema).writer
    try sql.run("SET holdfast.account = 'ann'; INSERT INTO lists (id, labels) VALUES ('L1', '[\"a\"]')")
    for statement in [
      "INSERT INTO lists (id, labels) VALUES ('L2', '\(value)')",
      "INSERT INTO lists (id, labels) VALUES ('L1', '\(value)') ON CONFLICT (id) DO UPDATE SET labels = excluded.labels",
      "UPDATE lists SET labels = '\(value)'",
    ] {
      let error = #expect(throws: PostgresError.self) { try sql.run(statement) }
      #expect(error?.code.rawValue == "23514")
    }
    #expect(try sql.texts("SELECT labels::text FROM lists") == ["[\"a\"]"])
  }

  @Test("take arrays of texts, the empty one, NULL and the null of JSON")
  func taken() throws {
    let ledger = try TestLedger(Self.schema)
    try ledger.writer.run(
      """
      SET holdfast.account = 'ann';
      INSERT INTO lists (id, labels) VALUES ('L1', '["a", "b"]'), ('L2', '[]'), ('L3', NULL), ('L4', 'null');
      UPDATE lists SET labels = '["é"]'; UPDATE lists SET title = 'x';
      """)
    #expect(try ledger.findings() == [])
  }
}
