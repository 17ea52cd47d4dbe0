import HoldfastPostgres
import HoldfastService

/// The origins of carried change sets in PostgreSQL.
final class PostgresCarried: CarriedTable {
  private unowned let store: PostgresStore

  private static let find: PostgresStatement =
    "SELECT c.zone FROM holdfast.carried c WHERE c.account = $1 AND c.origin = $2"
  private static let add: PostgresStatement = """
    INSERT INTO holdfast.carried (account, origin, zone, at) VALUES ($1, $2, $3, $4)
    ON CONFLICT (account, origin, zone) DO NOTHING RETURNING zone
    """
  private static let drop: PostgresStatement = "DELETE FROM holdfast.carried WHERE zone = $1"
  fileprivate static let list: PostgresStatement = """
    SELECT c.account, c.origin, c.zone, c.at FROM holdfast.carried c WHERE c.zone = $1 AND (c.account, c.origin) > ($2, $3)
    ORDER BY c.account, c.origin LIMIT $4
    """

  init(_ store: PostgresStore) { self.store = store }

  func zones(of origin: String, by user: String) throws -> [String] {
    try store.reading.query(Self.find, PostgresParameters(user, origin)).texts
  }

  func add(_ origin: CarriedOrigin) throws -> Bool {
    try !store.connection.query(
      Self.add, PostgresParameters(origin.user, origin.origin, origin.zone, origin.at)
    ).isEmpty
  }

  func removeAll(of zone: String) throws {
    try store.connection.run(Self.drop, PostgresParameters(zone))
  }
}

extension PostgresReader {
  package func carried(into zone: String, after last: CarriedOrigin?, limit: Int) throws -> [CarriedOrigin] {
    let rows = try connection.query(
      PostgresCarried.list,
      PostgresParameters(zone, last?.user ?? "", last?.origin ?? "", Int64(limit)))
    return rows.indices.map {
      CarriedOrigin(
        user: rows.text($0, 0), origin: rows.text($0, 1), zone: rows.text($0, 2), at: rows.int64($0, 3))
    }
  }
}
