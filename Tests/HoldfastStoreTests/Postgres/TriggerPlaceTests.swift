import HoldfastCore
import HoldfastPostgres
import ServerScenes
import TemporaryPostgres
import Testing

/// What SQL does to records that stay in their zone with another parent, or that it does not see.
@Suite struct TriggerPlaceTests {
  @Test("another parent in the same zone is a change of the record, also below users and in public (I4, I7)")
  func otherParent() throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    try sql.run(
      """
      SET holdfast.account = 'ann';
      INSERT INTO lists (id, title) VALUES ('L1', 'one');
      INSERT INTO items (id, list_id, title) VALUES ('i1', 'L1', 'a'), ('i2', 'L1', 'b');
      INSERT INTO comments (id, item_id) VALUES ('c1', 'i1'), ('c2', 'i1');
      INSERT INTO likes (id, comment_id) VALUES ('k1', 'c1');
      INSERT INTO notes (id, text) VALUES ('n1', 'one'), ('n2', 'two');
      INSERT INTO tags (id, note_id) VALUES ('t1', 'n1');
      UPDATE comments SET item_id = 'i2' WHERE id = 'c1';
      UPDATE tags SET note_id = 'n2';
      """)
    #expect(
      try sql.ledger("L1").suffix(3) == ["6 comments c2 1 live", "7 likes k1 1 live", "8 comments c1 2 live"])
    #expect(try sql.ledger("ann").last == "4 tags t1 2 live")
    #expect(
      try sql.texts("SELECT zone || seq FROM holdfast.zones WHERE zone IN ('L1', 'ann') ORDER BY zone")
        == ["L18", "ann4"])
    let text = try sql.texts("SELECT stamps FROM holdfast.records WHERE id = 'c1'")
    #expect(try #require(RecordStamps(text[0]))["item_id"].rev == 2)
    // Another id of the parent, with what is under it, in one transaction.
    try sql.run(
      """
      BEGIN; INSERT INTO items (id, list_id, title) VALUES ('i3', 'L1', 'c');
      UPDATE comments SET item_id = 'i3' WHERE item_id = 'i1'; DELETE FROM items WHERE id = 'i1'; COMMIT
      """)
    #expect(try sql.ledger("L1").suffix(2) == ["10 comments c2 2 live", "11 items i1 2 deleted"])
    #expect(try ledger.findings() == [])
  }

  @Test("a record that row-level security hides is not gone for the triggers: its writer gets an error (I3)")
  func hidden() throws {
    let ledger = try TestLedger()
    let sql = ledger.writer
    try sql.run(
      """
      INSERT INTO lists (id, title) VALUES ('L1', 'one'), ('L2', 'two');
      INSERT INTO items (id, list_id, title) VALUES ('i1', 'L1', 'a');
      """)
    let before = try sql.ledger("L1")
    try sql.run(
      """
      ALTER TABLE items ENABLE ROW LEVEL SECURITY; ALTER TABLE items FORCE ROW LEVEL SECURITY;
      CREATE POLICY all_to_admin ON items TO CURRENT_USER USING (current_setting('app.admin', true) = 'yes')
      """)
    #expect(throws: PostgresError.self) {
      try sql.run("SET app.admin = 'yes'; UPDATE items SET list_id = 'L2' WHERE id = 'i1'")
    }
    #expect(try sql.ledger("L1") == before)
  }
}
