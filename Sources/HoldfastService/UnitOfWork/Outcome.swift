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
  case purged(Purged)
  case time(TimeStep)
}

/// What a sync request came to.
package struct SyncOutcome: Sendable, Equatable {
  /// The recovered items that were refused; nil if no item was processed.
  var refusedRecoveries: [RefusedRecovery]?
  /// The applied change sets that only created records.
  var created: [CreatedSet] = []

  package init() {}
}

/// The reason why a recovered item was refused.
package struct RefusedRecovery: Sendable, Equatable {
  /// The index of the item in the request.
  package let index: Int
  package let problem: Problem
}
