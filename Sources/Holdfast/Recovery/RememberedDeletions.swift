import HoldfastCore
import HoldfastSQLite

/// Deletions that the server told of, remembered in case it is restored. See docs/RESTORING.md, section 4.
struct RememberedDeletions {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }

  private static let deletionLimit = 10_000
  private static let deletionTime: Int64 = 30 * 86_400_000

  /// Remembers a deletion that the server told of.
  func remember(deletionOf table: Int, _ id: String, zone: String, rev: Int64, at clock: Stamp) throws {
    try connection.run(
      "INSERT OR REPLACE INTO holdfast_deleted (record_table, id, zone, rev, at) VALUES (?, ?, ?, ?, ?)",
      [
        .text(schema.tables[table].name), .text(id), .text(zone), .integer(rev), .integer(clock.milliseconds),
      ])
  }

  /// Purges deletions that are old, or too many.
  func purgeOld(at clock: Stamp) throws {
    try connection.run(
      "DELETE FROM holdfast_deleted WHERE at < ?", [.integer(clock.milliseconds - Self.deletionTime)])
    let surplus = try database.count("SELECT count(*) FROM holdfast_deleted") - Self.deletionLimit
    if surplus <= 0 { return }
    try connection.run(
      """
      DELETE FROM holdfast_deleted WHERE (record_table, id) IN
      (SELECT record_table, id FROM holdfast_deleted ORDER BY at, id LIMIT ?)
      """, [.integer(Int64(surplus))])
  }
}
