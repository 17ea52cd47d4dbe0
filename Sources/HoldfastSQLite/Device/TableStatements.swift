package import HoldfastCore

/// The statements of one table that answers are applied with, and what they need of it.
package struct TableStatements {
  /// The names of the columns, in order.
  package let columns: [String]
  /// Parameters: zone, id, rev, then the columns.
  package let upsert: String
  /// The same for `batch` rows of one zone at once: the zone, then the others for each row.
  package let upsertBatch: String
  /// Writes a row whatever was there. The same parameters as `upsert`.
  package let replace: String
  /// What an insertion does with a record that is here already.
  package let onConflict: String
  /// How many rows a batch has: as many as SQLite's oldest limit of 999 parameters holds, 32 at the most.
  package let batch: Int
  /// Columns: zone, rev, then the columns.
  package let select: String
  package let delete: String

  package init(_ table: TableSchema) {
    columns = table.columns.map(\.name)
    let names = (["zone", "rev"] + columns).map { "\"\($0)\"" }
    let parameters = [names[0], "\"id\""] + names.dropFirst()
    let row = "(?1" + String(repeating: ", ?", count: names.count) + ")"
    let sets = names.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    batch = max(1, min(32, 998 / names.count))
    // Without OR FAIL each statement would keep a journal of its own. A failure rolls the whole transaction back anyway.
    let begin = "INSERT OR FAIL INTO \"\(table.name)\" (\(parameters.joined(separator: ", "))) VALUES "
    // A page that waited is older than what another zone has brought since; only a zone to be resynced has no say.
    onConflict = """
       ON CONFLICT ("id") DO UPDATE SET \(sets) WHERE "zone" IS excluded."zone" OR "rev" <= excluded."rev"
      OR EXISTS (SELECT 1 FROM holdfast_zones WHERE holdfast_zones.zone = "\(table.name)"."zone" AND resync <> '')
      """
    upsert = begin + row + onConflict
    replace = "INSERT OR REPLACE INTO \"\(table.name)\" (\(parameters.joined(separator: ", "))) VALUES \(row)"
    upsertBatch = begin + Array(repeating: row, count: batch).joined(separator: ", ") + onConflict
    select = "SELECT \(names.joined(separator: ", ")) FROM \"\(table.name)\" WHERE \"id\" = ?"
    delete = "DELETE FROM \"\(table.name)\" WHERE \"id\" = ?"
  }
}
