package import HoldfastCore

/// The statements for applying changes to one table.
package struct TableStatements {
  /// The names of the columns, in order.
  package let columns: [String]
  /// Parameters: zone, id, rev, then the columns.
  package let upsert: String
  /// The same for `batch` rows of one zone: the zone, then the other parameters of each row.
  package let upsertBatch: String
  /// Writes a row unconditionally. The same parameters as `upsert`.
  package let replace: String
  /// The conflict clause for a record that already exists.
  package let onConflict: String
  /// The number of rows in a batch: as many as fit into 999 parameters, SQLite's oldest limit, and at most 32.
  package let batch: Int
  /// Columns: zone, rev, then the columns.
  package let select: String
  package let delete: String
  /// Makes a record that was created here the server's. Parameters: zone, id.
  package let confirm: String

  package init(_ table: TableSchema) {
    columns = table.columns.map(\.name)
    let names = (["zone", "rev"] + columns).map { "\"\($0)\"" }
    let parameters = [names[0], "\"id\""] + names.dropFirst()
    let row = "(?1" + String(repeating: ", ?", count: names.count) + ")"
    let sets = names.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    batch = max(1, min(32, 998 / names.count))
    // Without OR FAIL, SQLite would keep a statement journal. A failure rolls back the whole transaction anyway.
    let begin = "INSERT OR FAIL INTO \"\(table.name)\" (\(parameters.joined(separator: ", "))) VALUES "
    // A page that waited can be older than a change that arrived in another zone. A zone marked for resync does not count.
    onConflict = """
       ON CONFLICT ("id") DO UPDATE SET \(sets) WHERE "zone" IS excluded."zone" OR "rev" <= excluded."rev"
      OR EXISTS (SELECT 1 FROM holdfast_zones WHERE holdfast_zones.zone = "\(table.name)"."zone" AND resync <> '')
      """
    upsert = begin + row + onConflict
    // Not INSERT OR REPLACE, which gives the row another number, and deletes what tables of the app keep of the record.
    replace = begin + row + " ON CONFLICT (\"id\") DO UPDATE SET \(sets)"
    upsertBatch = begin + Array(repeating: row, count: batch).joined(separator: ", ") + onConflict
    select = "SELECT \(names.joined(separator: ", ")) FROM \"\(table.name)\" WHERE \"id\" = ?"
    delete = "DELETE FROM \"\(table.name)\" WHERE \"id\" = ?"
    confirm = "UPDATE \"\(table.name)\" SET \"zone\" = ?, \"rev\" = 1 WHERE \"id\" = ?"
  }
}
