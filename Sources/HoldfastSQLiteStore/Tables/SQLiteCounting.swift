import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// Computes the counts of zones from the tables in SQLite.
struct SQLiteCounting {
  /// A zone with wrong counts in its row.
  struct Difference {
    let zone: String
    let held: ZoneCounts

    /// The doctor's line for the zone.
    var finding: Finding { held.finding(of: zone) }
  }

  let schema: SyncSchema
  let connection: SQLiteConnection

  func differences() throws -> [Difference] {
    let all = schema.tables.map { table in
      let sizes = table.columns.map { " + " + Self.size("\"\($0.name)\"", $0.type) }
      let isRecord = table.name == TableSchema.conflicts.name ? 0 : 1
      return """
        SELECT zone, count(*) * \(isRecord) AS records, sum(\(Self.size("id", .text))\(sizes.joined())) AS bytes
        FROM "\(table.name)" GROUP BY zone
        """
    }
    return try connection.rows(
      """
      SELECT z.zone, coalesce(h.records, 0) AS held, coalesce(h.bytes, 0) AS size FROM holdfast_zones z LEFT JOIN (
        SELECT zone, sum(records) AS records, sum(bytes) AS bytes FROM (\(all.joined(separator: " UNION ALL "))) GROUP BY zone
      ) h ON h.zone = z.zone WHERE z.records <> held OR z.bytes <> size ORDER BY z.zone
      """
    ).map {
      Difference(
        zone: $0[0].text ?? "",
        held: ZoneCounts(records: $0[1].integer ?? 0, bytes: $0[2].integer ?? 0))
    }
  }

  /// Corrects the counts in the rows of zones, in the connection's transaction.
  ///
  /// - Returns: the number of corrected zones.
  @discardableResult
  func mend() throws -> Int {
    let differences = try differences()
    for difference in differences {
      try connection.run(
        "UPDATE holdfast_zones SET records = ?, bytes = ? WHERE zone = ?",
        [
          .integer(difference.held.records), .integer(difference.held.bytes), .text(difference.zone),
        ])
    }
    return differences.count
  }

  private static func size(_ column: String, _ type: ColumnType) -> String {
    switch type {
    case .integer, .real, .boolean: "iif(\(column) IS NULL, 0, 8)"
    case .text, .json, .reference, .position, .timestamp: "coalesce(length(CAST(\(column) AS BLOB)), 0)"
    }
  }
}
