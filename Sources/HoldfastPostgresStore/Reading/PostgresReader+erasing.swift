import HoldfastCore
import HoldfastPostgres
import HoldfastService

extension PostgresReader {
  private static let findErased: PostgresStatement =
    "SELECT id FROM holdfast.accounts WHERE erasure = 1 AND id > $1 ORDER BY id LIMIT 1"
  private static let findErasedZones: PostgresStatement =
    "SELECT z.zone, z.erased FROM holdfast.zones z WHERE z.erased > 0"

  package func erasedUser(after id: String) throws -> String? {
    try connection.query(Self.findErased, PostgresParameters(id)).texts.first
  }

  package func erasedZones() throws -> TextMap<Int64> {
    let rows = try connection.query(Self.findErasedZones, PostgresParameters())
    return TextMap(
      rows.indices.map { (rows.text($0, 0), rows.int64($0, 1)) }, uniquingKeysWith: { first, _ in first })
  }

  /// Its log is not the server's to empty.
  func emptyLog() -> Bool { true }
}
