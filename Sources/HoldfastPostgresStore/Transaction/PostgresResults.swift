import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Stores query results in PostgreSQL.
final class PostgresResults: ResultTable {
  private unowned let store: PostgresStore

  private static let findExpired: PostgresStatement =
    "SELECT p.account, p.token_hash FROM holdfast.results p WHERE p.expires <= $1 OR p.expires > $2 LIMIT $3"
  private static let findOldest: PostgresStatement = """
    SELECT p.account, p.token_hash FROM holdfast.results p WHERE p.account = $1 ORDER BY p.expires DESC OFFSET $2
    """
  private static let drop: PostgresStatement =
    "DELETE FROM holdfast.results WHERE account = $1 AND token_hash = $2"
  private static let dropIDs: PostgresStatement =
    "DELETE FROM holdfast.result_ids WHERE account = $1 AND token_hash = $2"
  private static let add: PostgresStatement = """
    INSERT INTO holdfast.results (account, token_hash, record_table, shown, page_size, id_count, expires)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    """
  private static let addIDs: PostgresStatement =
    "INSERT INTO holdfast.result_ids (account, token_hash, chunk, ids) VALUES ($1, $2, $3, $4)"

  init(_ store: PostgresStore) { self.store = store }

  func keep(_ result: KeptResult, at now: Int64) throws {
    let connection = try store.connection
    let old = try connection.pipeline { pipe in
      pipe.send(Self.findExpired, PostgresParameters(now, now + KeptResult.life, Int64(KeptResult.sweep)))
      pipe.send(Self.findOldest, PostgresParameters(result.user, Int64(KeptResult.userLimit - 1)))
    }
    let (head, token) = (result.head, result.token.withBytes { Array($0) })
    try connection.pipeline { pipe in
      for rows in old {
        for row in rows.indices {
          let key = PostgresParameters(rows.text(row, 0), rows.bytes(row, 1))
          pipe.send(Self.drop, key)
          pipe.send(Self.dropIDs, key)
        }
      }
      pipe.send(
        Self.add,
        PostgresParameters(
          result.user, token, head.table, KeptResult.text(head.columns), Int64(head.limit),
          Int64(head.count), head.expires))
      for (number, chunk) in result.chunks.enumerated() {
        pipe.send(Self.addIDs, PostgresParameters(result.user, token, Int64(number), chunk))
      }
    }
  }
}
