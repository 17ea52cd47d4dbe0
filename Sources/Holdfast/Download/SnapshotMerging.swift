import HoldfastCore
import HoldfastSQLite

/// A snapshot's file that has taken up what the device has: Holdfast's own tables, the records of other zones, and those with edits as they are here.
struct SnapshotMerging {
  /// The change token of the zone.
  let token: String
  /// The server's form of the records that have edits, by table.
  private(set) var edited: [(table: Int, records: [[SQLiteValue]])] = []

  /// Writes into the attached `snapshot`, which must have the same tables. A failure leaves it useless, and the device's database as it was.
  ///
  /// - Parameter connection: the device's, without foreign keys.
  init(_ source: SnapshotSource, on connection: SQLiteConnection) throws {
    token = source.token
    // Nobody needs the file after a crash.
    try connection.execute("PRAGMA snapshot.journal_mode = MEMORY; PRAGMA snapshot.synchronous = OFF")
    try connection.transaction {
      try connection.withoutTriggers {
        for table in source.tables { try merge(table, of: source, connection) }
        try takeOwnTables(connection)
      }
    }
  }

  private mutating func merge(
    _ table: SnapshotSource.Table, of source: SnapshotSource, _ connection: SQLiteConnection
  ) throws {
    let records = try source.edited(table, on: connection)
    if !records.isEmpty { edited.append((table.index, records)) }
    try connection.run(
      """
      DELETE FROM snapshot."\(table.name)" WHERE "id" IN
      (SELECT id FROM main.holdfast_edits WHERE record_table = '\(table.here)')
      """)
    let sets = table.names.split(separator: ", ").map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    // What `TableStatements.onConflict` says, seen from the other side.
    try connection.run(
      """
      INSERT INTO snapshot."\(table.name)" (\(table.names)) SELECT \(table.names) FROM main."\(table.here)" WHERE true
      ON CONFLICT ("id") DO UPDATE SET \(sets) WHERE "zone" IS NOT excluded."zone" AND "rev" < excluded."rev" AND NOT EXISTS
      (SELECT 1 FROM main.holdfast_zones AS known WHERE known.zone = excluded."zone" AND known.resync <> '')
      """)
  }

  /// Takes Holdfast's own tables. The last is that of the numbers SQLite has given, which writing the others changes.
  private func takeOwnTables(_ connection: SQLiteConnection) throws {
    let names = try connection.rows(
      """
      SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name LIKE 'holdfast\\_%' ESCAPE '\\'
      UNION ALL SELECT 'sqlite_sequence'
      """)
    for name in names.compactMap({ $0[0].text }) {
      try connection.execute(
        "DELETE FROM snapshot.\"\(name)\"; INSERT INTO snapshot.\"\(name)\" SELECT * FROM main.\"\(name)\"")
    }
  }
}
