import HoldfastCore
import HoldfastSQLite

/// The zones of a file of this library whose records an import leaves out.
///
/// The server refuses them from an account that has no access to the zone, and one refused record refuses the change set with all others in it. A
/// zone of somebody else comes with an invitation, a public one by itself.
struct DeviceZones {
  /// All of them, for `json_each`.
  let list: SQLiteValue
  /// Those of others.
  private let others: SQLiteValue

  /// Whether a record is in none of the zones `?1`.
  static let isOwn = """
    ("zone" IS NULL OR "zone" NOT IN (SELECT value FROM json_each(?1)))
    """

  /// - Parameter writable: the zones to which the import may write.
  init(_ connection: SQLiteConnection, writable: [String], public publicZones: [String]) throws {
    let zones = try connection.rows(
      """
      SELECT zone FROM holdfast_zones WHERE role NOT IN ('', 'owner')
      AND zone NOT IN (SELECT value FROM json_each(?))
      """, [.list(writable)]
    ).compactMap { $0[0].text }.filter { !publicZones.contains($0) }
    (list, others) = (.list(zones + publicZones), .list(zones))
  }

  /// What a person is told of the records of a table that are left out.
  func problems(of source: String, named table: String, _ connection: SQLiteConnection) throws
    -> [ImportReport.Problem]
  {
    try connection.rows(
      """
      SELECT "zone", count(*) FROM \(SQLiteName.quoted(source))
      WHERE "zone" IN (SELECT value FROM json_each(?)) GROUP BY "zone" ORDER BY "zone"
      """, [others]
    ).map { row in
      let count = row[1].integer ?? 0
      return .init(
        table: table, key: row[0].text ?? "", isLeftOut: true,
        reason:
          "\(count) of its records are in this zone of somebody else. Be invited to it, sync, and import again."
      )
    }
  }
}
