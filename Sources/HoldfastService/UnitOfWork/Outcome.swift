package import HoldfastCore

/// The result of a command.
package enum Outcome: Sendable, Equatable {
  case done
  case synced(SyncOutcome)
  case session(NewSession)
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

/// A change set that only created records, each exactly as it was sent.
package struct CreatedSet: Sendable, Equatable {
  /// The number of its first operation.
  var first: Int64 = 0
  let zone: String
  /// The seqs of its records.
  fileprivate(set) var seqs: ClosedRange<Int64>

  init(zone: String, seq: Int64) { (self.zone, seqs) = (zone, seq...seq) }

  /// Adds the next record.
  ///
  /// - Returns: whether it is the next change of the same zone.
  mutating func add(zone: String, seq: Int64) -> Bool {
    guard zone == self.zone, seq == seqs.upperBound + 1 else { return false }
    seqs = seqs.lowerBound...seq
    return true
  }
}

/// The reason why a recovered item was refused.
package struct RefusedRecovery: Sendable, Equatable {
  /// The index of the item in the request.
  package let index: Int
  package let problem: Problem
}
