import HoldfastCore
import HoldfastSQLite

/// The outbox of a database that is a copy of another device's.
struct CopiedOutbox {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var orphans: Orphans { Orphans(database: database) }
  private var missingCreates: MissingCreates { MissingCreates(database: database) }
  private var rebase: Rebase { Rebase(database: database) }
  private var quarantine: Quarantine { Quarantine(database: database) }

  /// Leaves out of the outbox of a copy what the device that it is a copy of has brought through already. What may have arrived, as the server does not
  /// remember so far back, or was refused there, waits in quarantine. What is carried from another database stays: the server tells by its origin whether it
  /// took effect.
  func leaveOut(_ applied: AppliedChangeSets, confirmed: Int64) throws {
    var uncertain: [(first: Int64, body: [UInt8])] = []
    let (dealt, refused, completeFrom) = (Set(applied.entries), Set(applied.refused), applied.completeFrom)
    try database.whileApplying {
      let sets = try connection.rows(
        "SELECT first, last, chain, body FROM holdfast_outbox WHERE origin IS NULL ORDER BY first"
      )
      .compactMap { row -> (first: Int64, took: AppliedChangeSets.Entry, body: [UInt8])? in
        guard let first = row[0].integer, let last = row[1].integer,
          let chain = row[2].text.flatMap(Fingerprint.init), let body = row[3].blob
        else { return nil }
        return (first, .init(last: last, chain: chain), body)
      }
      let arrived = sets.last { dealt.contains($0.took) }?.first ?? 0
      for (first, took, body) in sets {
        if dealt.contains(took) {
          Trace.took(.copyLeftOut)
          let created = try missingCreates.records(inSets: first...first)
          try connection.run("DELETE FROM holdfast_edits WHERE change_set = ?", [.integer(first)])
          try UndoTable(connection: connection).settle("first = ?1", [.integer(first)])
          try missingCreates.await(created)
        } else if refused.contains(took) || first < arrived
          || confirmed < completeFrom && took.last <= completeFrom
        {
          uncertain.append((first, body))
        }
      }
      if uncertain.isEmpty { return }
      Trace.took(.copyUncertain)
      let taken = try rebase.rollBack(uncertain.map(\.first))
      let problem = Problem(.changeSetUncertain).document
      var lacking = try quarantine.lackingRecords()
      for set in uncertain {
        try quarantine.add(
          first: set.first, body: set.body, operation: set.first, problem: problem, taken, &lacking)
      }
      try missingCreates.await(taken.back)
      try orphans.settle()
      // A deletion that was rolled back brings a record back under one that is deleted by a set that arrived.
      try orphans.remove()
    }
  }
}
