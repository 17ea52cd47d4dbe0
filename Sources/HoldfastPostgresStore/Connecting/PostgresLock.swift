import HoldfastPostgres
import HoldfastService

/// The advisory locks among the servers of one database, each with its own key.
enum PostgresLock: Int64 {
  /// Creating, checking and migrating the database.
  case opening = 5_216_694_956_356_254_582
  /// Notifying the webhook: one server of the database does it.
  case leading = 5_216_694_956_356_254_583
  /// A retention pass.
  case purging = 5_216_694_956_356_254_584
  /// Creating the schema's indexes.
  case indexes = 5_216_694_956_356_254_585

  /// The epoch: transactions of the service hold the lock shared, and the beginning of an epoch holds it exclusively.
  case epoch = 5_216_694_956_356_254_586

  /// Tries to take the lock. It is held until the connection closes or releases it.
  func take(over connection: PostgresConnection) throws(PostgresError) -> Bool {
    try connection.query(PostgresStatement("SELECT pg_try_advisory_lock(\(rawValue))")).bool(0, 0)
  }
}
