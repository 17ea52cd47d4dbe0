import HoldfastCore

/// How much work a change set is. A change set is one transaction, and while it is applied nobody else writes.
///
/// The work is counted in microseconds as they are estimated, not measured: the same change set is decided alike on every machine and at any load.
struct ChangeSetWork {
  /// Two seconds. The greatest number of operations that a device may send takes half of it.
  static let limit = 2_000_000
  private static let operation = 100
  static let follower = 40
  private static let mergedBytes = 12
  private static let elementBytes = 4

  private(set) var microseconds = 0

  /// An operation begins.
  mutating func addOperation() { microseconds += Self.operation }

  /// A record goes along with one that is deleted or moved.
  mutating func addFollower() { microseconds += Self.follower }

  /// The elements of sets are compared.
  mutating func addElements(_ values: Value?...) {
    for value in values { microseconds += (value?.text?.utf8.count ?? 0) / Self.elementBytes }
  }

  /// Texts are compared word by word, or JSON member by member.
  mutating func addMerge(_ values: Value?...) {
    for value in values { microseconds += (value?.text?.utf8.count ?? 0) / Self.mergedBytes }
  }
}
