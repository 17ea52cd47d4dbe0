import HoldfastCore
import HoldfastSQLite

/// A request with one change set that the server can't take at all. See PROTOCOL.md, section 6.2.
struct UnacceptableRequest {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var outbox: Outbox { Outbox(database: database) }
  private var sealing: Sealing { Sealing(database: database) }
  private var recoveredRecords: RecoveredRecords { RecoveredRecords(database: database) }
  private var quarantine: Quarantine { Quarantine(database: database) }
  private var rebase: Rebase { Rebase(database: database) }
  private var missingCreates: MissingCreates { MissingCreates(database: database) }
  private var orphans: Orphans { Orphans(database: database) }

  /// Moves the oldest change set, or what was recovered, which was alone in a request, into quarantine: the server can't take it.
  ///
  /// - Returns: false when it is no longer the oldest, as when another process was told the same.
  func quarantineOldest(of request: PreparedRequest, problem: [UInt8]) throws -> Bool {
    if !request.recovered.isEmpty {
      return try database.transaction(.immediate) {
        try database.whileApplying {
          try recoveredRecords.settle(recovered: request.recovered, refused: [(index: 0, problem: problem)])
            > 0
        }
      }
    }
    return try database.transaction(.immediate) {
      guard
        let row = try connection.row("SELECT first, body, chain FROM holdfast_outbox ORDER BY first LIMIT 1"),
        let first = row[0].integer, let body = row[1].blob, row[2].text == request.oldest
      else { return false }
      try sealing.sealForeign()
      try database.whileApplying {
        let taken = try rebase.rollBack([first])
        var lacking = try quarantine.lackingRecords()
        try quarantine.add(first: first, body: body, operation: first, problem: problem, taken, &lacking)
        try missingCreates.await(taken.back)
        try orphans.settle()
        // What a deletion that is rolled back brings back may have lost its parent since.
        try orphans.remove()
      }
      // The number was never dealt with by the server: what follows takes its place.
      try outbox.renumber(from: first)
      return true
    }
  }
}
