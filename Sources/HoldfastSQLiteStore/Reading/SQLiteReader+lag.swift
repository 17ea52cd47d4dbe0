import HoldfastCore
import HoldfastSQLite
import HoldfastService

extension SQLiteReader {
  package func lag(of user: String?) throws -> [DeviceLag] {
    let rows = try connection.rows(
      """
      SELECT d.id, d.name, d.seen_at, d.app, d.app_schema, count(z.zone), coalesce(sum(z.seq > a.seq), 0),
      coalesce(sum(max(z.seq - a.seq, 0)), 0) FROM holdfast_devices d
      LEFT JOIN holdfast_acks a ON a.device = d.number
      LEFT JOIN holdfast_zones z ON z.zone = a.zone
      WHERE ?1 IS NULL OR d.user = ?1 GROUP BY d.number ORDER BY d.number
      """, [user.map { SQLiteValue.text($0) } ?? .null])
    return rows.map { row in
      let client = row[3].text.map { ClientVersion(app: $0, schema: row[4].text ?? "") }
      var lag = DeviceLag(
        id: row[0].text ?? "", name: row[1].text ?? "", seenAt: row[2].integer ?? 0, client: client)
      lag.zones = Int(row[5].integer ?? 0)
      lag.behind = Int(row[6].integer ?? 0)
      lag.changes = row[7].integer ?? 0
      return lag
    }
  }
}
