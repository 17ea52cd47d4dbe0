package import HoldfastCore

/// What committed transactions did, in numbers.
package struct Tally: Sendable {
  /// Change sets that were applied. Each request and each item of a REST batch that is not atomic is one.
  package var applied = 0
  /// Change sets that were refused, by the code of their problem.
  package var refused: [ProblemCode: Int] = [:]
  /// Conflicts written to the conflict log.
  package var conflicts = 0

  package init() {}

  /// Adds the numbers of other transactions.
  package mutating func add(_ other: Tally) {
    applied += other.applied
    refused.merge(other.refused, uniquingKeysWith: +)
    conflicts += other.conflicts
  }
}
