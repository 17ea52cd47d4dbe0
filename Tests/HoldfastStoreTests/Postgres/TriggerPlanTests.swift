import HoldfastPostgres
import ServerScenes
import Testing

@testable import HoldfastPostgresStore
@testable import HoldfastServer

/// What the triggers do with many rows that PostgreSQL has no statistics of.
@Suite struct TriggerPlanTests {
  /// How often the ledger was read row by row, or from its beginning to its end, since the statistics were reset.
  private func scans(_ sql: SQLWriter) throws -> [String] {
    try sql.texts(
      """
      SELECT 'read whole: ' || seq_scan FROM pg_stat_xact_user_tables
      WHERE schemaname = 'holdfast' AND relname IN ('records', 'zones') AND seq_scan > 0
      """)
  }

  private static let many = """
    INSERT INTO items (id, list_id, title) SELECT 'i' || n, 'L1', 't' || n FROM generate_series(1, 8000) n
    """

  @Test(
    "a statement on thousands of records looks each up by its key, whatever the statistics say",
    arguments: [
      "DELETE FROM items; \(many)", "UPDATE items SET note = 'x'",
      "UPDATE items SET list_id = 'L2' WHERE id < 'i4'", "DELETE FROM items WHERE list_id = 'L1'",
      "INSERT INTO comments (id, item_id) SELECT 'c' || id, id FROM items", "DELETE FROM lists",
    ])
  func plans(statements: String) throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    // Statistics of a table with one row, which is what PostgreSQL goes by for the thousands that come.
    try sql.run(
      """
      INSERT INTO lists (id, title) VALUES ('L1', 'one'), ('L2', 'two');
      INSERT INTO items (id, list_id, title) VALUES ('first', 'L1', 'first');
      ANALYZE; \(Self.many); BEGIN; \(statements)
      """)
    #expect(try scans(sql) == [])
    try sql.run("COMMIT")
    #expect(try ledger.findings() == [])
  }

  @Test("the doctor reads each of thousands of records of one zone a few times, not each with each (I12)")
  func doctorPlans() throws {
    let ledger = try TestLedger()
    try ledger.writer.run(
      """
      INSERT INTO lists (id, title) VALUES ('L1', 'one'), ('L2', 'two');
      INSERT INTO items (id, list_id, title) VALUES ('first', 'L1', 'first');
      ANALYZE; \(Self.many); UPDATE items SET note = 'x'
      """)
    let administration = try Administration(.postgres(PostgresLocation(ledger.url)))
    let operators = try #require(administration.operators as? PostgresAdministration)
    let read = try operators.comparing {
      #expect(try operators.counts() == [])
      return try operators.rows(
        """
        SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::text FROM pg_stat_xact_user_tables
        WHERE relname IN ('records', 'items')
        """)
    }
    #expect(try #require(Int(read[0][0])) < 10 * 8000)
  }
}
