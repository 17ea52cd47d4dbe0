import HoldfastCore

/// How much work a change set is. A change set is one transaction, and while it is applied nobody else writes.
///
/// The work is counted in microseconds as they are estimated, not measured: the same change set is decided alike on every machine and at any load.
struct ChangeSetWork {
  /// Two seconds. The greatest number of operations that a device may send takes half of it.
  static let limit = 2_000_000
  private static let operation = 100
  static let follower = 40
  private static let edit = 200
  private static let access = 100
  private static let mergedBytes = 12
  private static let loggedBytes = 64
  private static let countedRows = 20
  private static let elementBytes = 4

  private(set) var microseconds = 0

  /// An operation begins.
  mutating func addOperation() { microseconds += Self.operation }

  /// A record goes along with one that is deleted or moved.
  mutating func addFollower() { microseconds += Self.follower }

  /// A record is changed that goes along with one that is deleted.
  mutating func addEdit() { microseconds += Self.edit }

  /// It is worked out again what users may do in a zone.
  ///
  /// - Parameter users: how many are looked at.
  mutating func addAccess(users: Int = 1) { microseconds += Self.access * (1 + users / 10) }

  /// So many rows are counted.
  mutating func addCounted(rows: Int) { microseconds += rows / Self.countedRows }

  /// Values are copied to the log of conflicts.
  mutating func addLogged(_ values: Value...) {
    for value in values { microseconds += (value.text?.utf8.count ?? 0) / Self.loggedBytes }
  }

  /// The elements of sets are compared.
  mutating func addElements(_ values: Value?...) {
    for value in values { microseconds += (value?.text?.utf8.count ?? 0) / Self.elementBytes }
  }

  /// Texts are compared word by word, or JSON member by member.
  mutating func addMerge(_ values: Value?...) {
    for value in values { microseconds += (value?.text?.utf8.count ?? 0) / Self.mergedBytes }
  }
}
