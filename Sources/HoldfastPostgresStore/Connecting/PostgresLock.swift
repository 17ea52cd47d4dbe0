import HoldfastPostgres
import HoldfastService

/// The advisory locks that the servers on one database hold against each other; each has a key of its own.
enum PostgresLock: Int64 {
  /// Making, checking and extending the database.
  case opening = 5_216_694_956_356_254_582
  /// Telling the team's program what moved: of several servers one does.
  case leading = 5_216_694_956_356_254_583
  /// A pass over what may be purged.
  case purging = 5_216_694_956_356_254_584
  /// Making the schema's indexes.
  case indexes = 5_216_694_956_356_254_585

  /// The epoch: shared by the transactions of the service, had alone by the beginning of another.
  case epoch = 5_216_694_956_356_254_586

  /// Takes the lock if nobody has it; it is held until the connection ends, or gives it back.
  func take(over connection: PostgresConnection) throws(PostgresError) -> Bool {
    try connection.query(PostgresStatement("SELECT pg_try_advisory_lock(\(rawValue))")).bool(0, 0)
  }
}
