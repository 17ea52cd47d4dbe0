package import HoldfastPostgres
import HoldfastService

/// Transactions that alter tables, in turns: readers and writers of a table queue behind who waits to alter it.
package enum LockTurns {
  /// Sets how long a turn waits for each lock. Say it in the transaction.
  package static let limit = "SET LOCAL lock_timeout = '1s'"
  /// The number of turns, and the seconds between two, in which others proceed.
  private static let (count, pause) = (400, "0.5")

  /// Runs `body` until no lock is in its way, for ten minutes.
  ///
  /// - Parameters:
  ///   - blocked: called with the number of each turn that was blocked, from 0. It may throw to give up.
  ///   - body: a transaction from its beginning to its commit.
  /// - Throws: `ServerError.unreachable` after the last turn; what `body` and `blocked` throw.
  package static func take<Result>(
    on connection: PostgresConnection, blocked: (_ turn: Int) throws -> Void = { _ in },
    _ body: () throws -> Result
  ) throws -> Result {
    for turn in 0..<count {
      do { return try body() } catch let error as PostgresError where error.isTransient {
        try connection.execute("ROLLBACK")
        try blocked(turn)
        try connection.execute("SELECT pg_sleep(\(pause))")
      }
    }
    throw ServerError(
      .unreachable,
      "Somebody has held a table that is to be altered for ten minutes.\(holders(on: connection)) End that, or begin again later."
    )
  }

  /// Who holds locks of tables.
  static func holders(on connection: PostgresConnection) -> String {
    LockHolders.sentence(of: "l.relation IS NOT NULL", on: connection)
  }
}
