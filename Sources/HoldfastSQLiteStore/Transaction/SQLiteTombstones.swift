import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The statements of `holdfast_tombstones`, prepared once.
final class SQLiteTombstones: TombstoneTable {
  private let find: Statement
  private let add: Statement
  private let depart: Statement
  private let drop: Statement

  init(on connection: SQLiteConnection) throws {
    find = try connection.statement(
      """
      SELECT zone, rev, stamp, device, deleted_seq, seq FROM holdfast_tombstones
      WHERE id = ? AND record_table = ? AND departed = 0
      """)
    // A record has one tombstone in a zone: a later one replaces the earlier.
    add = try connection.statement(
      """
      INSERT OR REPLACE INTO holdfast_tombstones (zone, seq, record_table, id, rev, stamp, device, departed, deleted_seq)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    depart = try connection.statement(
      "UPDATE holdfast_tombstones SET departed = 1 WHERE id = ? AND record_table = ? AND zone = ?")
    drop = try connection.statement(
      "DELETE FROM holdfast_tombstones WHERE id = ? AND record_table = ? AND zone = ?")
  }

  func deletion(_ id: String, of table: String) throws -> Tombstone? {
    try find.bind(id, at: 1)
    try find.bind(table, at: 2)
    defer { find.reset() }
    guard try find.step() else { return nil }
    return Tombstone(
      zone: find.text(0), rev: find.integer(1), stamp: Stamp(rawValue: find.integer(2)),
      device: find.integer(3), deletedSeq: find.integer(4), seq: find.integer(5))
  }

  func insert(_ tombstone: Tombstone, seq: Int64, of id: String, in table: String, isDeparture: Bool) throws {
    try add.bind(tombstone.zone, at: 1)
    try add.bind(seq, at: 2)
    try add.bind(table, at: 3)
    try add.bind(id, at: 4)
    try add.bind(tombstone.rev, at: 5)
    try add.bind(tombstone.stamp.rawValue, at: 6)
    try add.bind(tombstone.device, at: 7)
    try add.bind(isDeparture ? 1 : 0, at: 8)
    try add.bind(tombstone.deletedSeq ?? seq, at: 9)
    try add.run()
  }

  func becomeDeparture(_ id: String, of table: String, in zone: String) throws {
    try run(depart, id, table, zone)
  }

  func remove(_ id: String, of table: String, in zone: String) throws { try run(drop, id, table, zone) }

  private func run(_ statement: Statement, _ id: String, _ table: String, _ zone: String) throws {
    try statement.bind(id, at: 1)
    try statement.bind(table, at: 2)
    try statement.bind(zone, at: 3)
    try statement.run()
  }
}
