import Foundation
import HoldfastSQLite
import Testing

@testable import Holdfast

@Suite("The form of the device's database")
struct DeviceFormTests {
  /// What takes a database back to a form from the one behind it, the latest first.
  private static let stepsBack: [(form: Int64, sql: String)] = [
    (
      7,
      """
      ALTER TABLE holdfast_local DROP COLUMN proof; ALTER TABLE holdfast_zones DROP COLUMN proof;
      ALTER TABLE holdfast_zones DROP COLUMN claimed_role; ALTER TABLE holdfast_awaiting_recovery DROP COLUMN is_unknown;
      DROP TABLE holdfast_recovery_claims; DROP TABLE holdfast_replaced; DROP TABLE holdfast_cascaded;
      """
    ),
    (6, "ALTER TABLE holdfast_local DROP COLUMN heard; DROP TABLE holdfast_unapplied;"),
    (5, "ALTER TABLE holdfast_quarantine DROP COLUMN deleted;"),
    (
      4,
      "ALTER TABLE holdfast_local DROP COLUMN server_schema; ALTER TABLE holdfast_local DROP COLUMN renamed;"
    ),
    (3, "DROP TABLE holdfast_recovered; DROP TABLE holdfast_deleted; DROP TABLE holdfast_awaiting_recovery;"),
    (2, "DROP INDEX holdfast_members_unique_1; ALTER TABLE members DROP COLUMN \"group\";"),
    (
      1,
      """
      ALTER TABLE conflicts DROP COLUMN base; ALTER TABLE conflicts DROP COLUMN resolution;
      ALTER TABLE conflicts DROP COLUMN resolved_by; ALTER TABLE conflicts DROP COLUMN resolved_at;
      CREATE TRIGGER holdfast_conflicts_guard_update BEFORE UPDATE ON conflicts
      WHEN (SELECT applying FROM holdfast_local) = 0 BEGIN SELECT RAISE(ABORT, 'holdfast: read only'); END;
      ALTER TABLE holdfast_quarantine DROP COLUMN because; DROP TABLE holdfast_undo;
      """
    ),
  ]

  /// Makes of a database what an earlier form was.
  private static func goBack(_ path: String, to form: Int64) throws {
    let connection = try SQLiteConnection(path: path)
    let triggers = try connection.rows(
      "SELECT name FROM sqlite_master WHERE type = 'trigger'")
    for row in triggers { try connection.execute("DROP TRIGGER \"\(row[0].text ?? "")\"") }
    for step in stepsBack where step.form >= form { try connection.execute(step.sql) }
    try connection.execute("PRAGMA user_version = \(form)")
  }

  @Test(
    "a database of an earlier form opens with all that it had, and has what the later ones have (I3)",
    arguments: stepsBack.map(\.form))
  func upgraded(from form: Int64) async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange))
    try await fixture.store.write { try $0.insert(Item(id: IDs.item, list_id: IDs.list, title: "Milk")) }
    try await fixture.store.write { try $0.update(List.self, id: IDs.list) { $0.title = "Mine" } }
    try await fixture.refuse(1)
    try await fixture.store.writer.perform { local in
      try local.whileApplying {
        try local.connection.run(
          """
          INSERT INTO conflicts (id, zone, rev, record_table, record_id, column_name, policy)
          VALUES ('c1', ?, 1, 'lists', ?, 'title', 'ask')
          """, [.text(IDs.list), .text(IDs.list)])
      }
    }
    try Self.goBack(fixture.path, to: form)
    for _ in 0..<2 {
      let store = try Store(path: fixture.path, schema: fixture.store.schema)
      #expect(try await store.quarantined().count == 1)
      #expect(try await store.waitingOperations() == 1)
      #expect(try await store.read { try $0.conflicts(onlyOpen: true) }.count == 1)
      #expect(try await store.undoable().isEmpty == (form < 2))
    }
    try await fixture.store.write { try $0.execute("UPDATE conflicts SET resolution = 'winner'") }
    #expect(try await fixture.value("PRAGMA user_version") == .integer(DeviceTables.formatVersion))
  }
}
