import HoldfastCore
import HoldfastPostgres
import HoldfastService

extension PostgresPurge {
  /// How far devices are behind, by their numbers.
  package func lag(of user: String?) throws -> [DeviceLag] {
    let rows = try connection.query(PostgresPurgeStatements.findLag, PostgresParameters(user))
    return rows.indices.map { row in
      DeviceLag(
        id: rows.text(row, 0), name: rows.text(row, 1), seenAt: rows.int64(row, 2),
        client: rows.optionalText(row, 3).map {
          ClientVersion(app: $0, schema: rows.optionalText(row, 4) ?? "")
        },
        zones: Int(rows.int64(row, 5)), behind: Int(rows.int64(row, 6)), changes: rows.int64(row, 7))
    }
  }
}
