import HoldfastSQLite
import HoldfastService

/// The origins of carried change sets in SQLite.
final class SQLiteCarried: CarriedTable {
  private let connection: SQLiteConnection

  init(on connection: SQLiteConnection) { self.connection = connection }

  func zones(of origin: String, by user: String) throws -> [String] {
    try connection.rows(
      "SELECT zone FROM holdfast_carried WHERE user = ? AND origin = ?", [.text(user), .text(origin)]
    ).compactMap { $0[0].text }
  }

  func add(_ origin: CarriedOrigin) throws -> Bool {
    try connection.run(
      "INSERT OR IGNORE INTO holdfast_carried (user, origin, zone, at) VALUES (?, ?, ?, ?)",
      [.text(origin.user), .text(origin.origin), .text(origin.zone), .integer(origin.at)])
    return connection.changes == 1
  }

  func removeAll(of zone: String) throws {
    try connection.run("DELETE FROM holdfast_carried WHERE zone = ?", [.text(zone)])
  }
}

extension SQLiteReader {
  func carried(into zone: String, after last: CarriedOrigin?, limit: Int) throws -> [CarriedOrigin] {
    try connection.rows(
      """
      SELECT user, origin, zone, at FROM holdfast_carried WHERE zone = ? AND (user, origin) > (?, ?)
      ORDER BY user, origin LIMIT ?
      """,
      [.text(zone), .text(last?.user ?? ""), .text(last?.origin ?? ""), .integer(Int64(limit))]
    ).compactMap { row in
      guard let user = row[0].text, let origin = row[1].text, let zone = row[2].text, let at = row[3].integer
      else { return nil }
      return CarriedOrigin(user: user, origin: origin, zone: zone, at: at)
    }
  }
}
