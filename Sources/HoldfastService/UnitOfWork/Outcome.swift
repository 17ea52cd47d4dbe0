package import HoldfastCore

/// What became of a command.
package enum Outcome: Sendable, Equatable {
  case done
  /// What could not be taken of what a device recovers; nil when none of it was looked at.
  case synced(refusedRecoveries: [RefusedRecovery]?)
  case session(NewSession)
  /// The sender is a member of a zone, and was not one unless `isNew`.
  case membership(Membership, isNew: Bool)
  /// How a request of REST is answered, and whether it was so before.
  case rest(RestAnswer, isReplay: Bool)
  /// A part of a request is done; the rest is for another transaction, behind those who wait.
  case unfinished(RestProgress)
  case purged(Purged)
  case time(TimeStep)
}

/// Why something that a device recovered can't be taken.
package struct RefusedRecovery: Sendable, Equatable {
  /// Its place in the request.
  package let index: Int
  package let problem: Problem
}
