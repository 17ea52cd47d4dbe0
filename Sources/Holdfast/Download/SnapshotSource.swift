import HoldfastCore
import HoldfastSQLite

/// The attached database `snapshot`: what it has of a zone and of this app's tables.
struct SnapshotSource {
  struct Table {
    /// Of the app's schema.
    let index: Int
    /// What the device calls it.
    let here: String
    /// What the server calls it.
    let name: String
    /// The columns of the device's table: id, zone, rev, then the app's.
    let names: String
    /// What they get.
    let values: String
  }

  let zone: String
  /// The change token of the zone.
  let token: String
  let tables: [Table]

  init(_ schema: SyncSchema, of zone: String, on connection: SQLiteConnection) throws {
    try SnapshotFile.requireTables(connection, in: "snapshot")
    guard try connection.value("PRAGMA snapshot.application_id")?.integer == DeviceTables.applicationID,
      let version = try connection.value("PRAGMA snapshot.user_version")?.integer,
      version <= DeviceTables.formatVersion,
      let text = try connection.value("SELECT schema FROM snapshot.holdfast_local")?.text,
      let token = try connection.value(
        "SELECT token FROM snapshot.holdfast_zones WHERE zone = ?", [.text(zone)])?.text,
      ChangeToken(token) != nil
    else { throw SnapshotFile.Unfit(reason: "it is no snapshot of \(zone).") }
    (self.zone, self.token) = (zone, token)
    let theirs = try SyncSchema(json: Array(text.utf8))
    let names = FormerNames(theirs)
    tables = try schema.tables.enumerated().compactMap { index, table in
      // What the server does not know yet, it has no records of; what this app does not know, it leaves out.
      guard let their = theirs.tables.first(where: { names.isName($0.name, of: table) }) else { return nil }
      var (columns, values) = (["\"id\"", "\"zone\"", "\"rev\""], ["\"id\"", "\"zone\"", "\"rev\""])
      for column in table.columns {
        columns.append("\"\(column.name)\"")
        if let same = their.columns.first(where: { names.isName($0.name, of: column, in: their.name) }) {
          guard same.type == column.type else {
            throw SnapshotFile.Unfit(reason: "its \(table.name).\(column.name) is of another type.")
          }
          values.append("\"\(same.name)\"")
        } else {
          values.append(column.absentValue.literal)
        }
      }
      return Table(
        index: index, here: table.name, name: their.name, names: columns.joined(separator: ", "),
        values: values.joined(separator: ", "))
    }
  }

  /// The records of a table that have edits on the device.
  func edited(_ table: Table, on connection: SQLiteConnection) throws -> [[SQLiteValue]] {
    try connection.rows(
      """
      SELECT \(table.values) FROM snapshot."\(table.name)" AS source WHERE "zone" = ?
      AND "id" IN (SELECT id FROM main.holdfast_edits WHERE record_table = '\(table.here)')
      """, [.text(zone)])
  }
}
