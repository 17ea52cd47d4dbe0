import HoldfastCore

/// The estimated work of a change set. A change set is one transaction, and other writers wait for it.
///
/// The unit is microseconds, estimated instead of measured. The same change set is thus treated alike on every machine and under any load.
struct ChangeSetWork {
  /// Two seconds. The maximum number of operations of a device takes half of it.
  static let limit = 2_000_000
  private static let operation = 100
  static let follower = 40
  private static let edit = 200
  private static let access = 100
  private static let wholeAccess = 1000
  private static let mergedBytes = 12
  private static let loggedBytes = 64
  private static let countedRows = 20
  private static let elementBytes = 4
  private static let joinedZone = 3

  private(set) var microseconds = 0

  /// Counts an operation.
  mutating func addOperation() { microseconds += Self.operation }

  /// Counts a record that is deleted or moved along with another.
  mutating func addFollower() { microseconds += Self.follower }

  /// Counts a record that is changed because another is deleted.
  mutating func addEdit() { microseconds += Self.edit }

  /// Counts a recomputation of a user's access to a zone.
  mutating func addAccess() { microseconds += Self.access }

  /// Counts a recomputation of all access to a zone, which asks the database for its members and groups.
  ///
  /// - Parameter users: the number of examined users.
  mutating func addAccess(users: Int) { microseconds += Self.wholeAccess + Self.access * users / 10 }

  /// Counts zones that are gone through to compare users, or to count.
  mutating func addCompared(zones: Int) { microseconds += zones }

  /// Counts zones of a user in which the database looks for another user.
  mutating func addJoined(zones: Int) { microseconds += Self.joinedZone * zones }

  /// Counts rows that a query counts.
  mutating func addCounted(rows: Int) { microseconds += rows / Self.countedRows }

  /// Counts values that are copied to the conflict log.
  mutating func addLogged(_ values: Value...) {
    for value in values { microseconds += (value.text?.utf8.count ?? 0) / Self.loggedBytes }
  }

  /// Counts a comparison of set elements.
  mutating func addElements(_ values: Value?...) {
    for value in values { microseconds += (value?.text?.utf8.count ?? 0) / Self.elementBytes }
  }

  /// Counts a merge of texts by word, or of JSON by member.
  mutating func addMerge(_ values: Value?...) {
    for value in values { microseconds += (value?.text?.utf8.count ?? 0) / Self.mergedBytes }
  }
}
