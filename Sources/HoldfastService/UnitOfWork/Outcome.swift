package import HoldfastCore

/// The result of a command.
package enum Outcome: Sendable, Equatable {
  case done
  case synced(SyncOutcome)
  case session(NewSession)
  /// The token of the device whose ticket was taken.
  case ticket(TokenHash)
  /// The sender's membership of a zone, and whether this command created it.
  case membership(Membership, isNew: Bool)
  /// The answer to a REST request, and whether it repeats an earlier answer.
  case rest(RestAnswer, isReplay: Bool)
  /// A part of a request is done. Another transaction continues it, after the commands that are waiting.
  case unfinished(RestProgress)
  /// The id of the device for whose session a pass is made.
  case pass(device: String)
  case purged(Purged)
  case time(TimeStep)
}

/// What a sync request came to.
package struct SyncOutcome: Sendable, Equatable {
  /// What became of the recovered items; nil if no item was processed.
  var recovery: RecoveryOutcome?
  /// The applied change sets that only created records.
  var created: [CreatedSet] = []
  /// The number of its transaction; see `StoreWriter.committed`.
  var written: Int64?

  package init() {}
}

/// What became of the recovered items of a request.
package struct RecoveryOutcome: Sendable, Equatable {
  /// How many were dealt with, from the first one. The device sends the others again.
  package var count: Int
  package var refused: [RefusedRecovery] = []

  package init(count: Int) { self.count = count }
}

/// The reason why a recovered item was refused.
package struct RefusedRecovery: Sendable, Equatable {
  /// The index of the item in the request.
  package let index: Int
  package let problem: Problem
}
