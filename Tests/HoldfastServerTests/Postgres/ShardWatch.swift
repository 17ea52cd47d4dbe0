import HoldfastCore
import Synchronization
import Testing

/// Looks at each statement that a server prepares.
final class ShardWatch: Sendable {
  /// What was found in each statement, by any.
  private static let faults = Mutex<TextMap<[String]>>([:])

  private let known = Mutex<TextSet>([])

  /// All of them.
  var statements: TextSet { known.withLock { $0 } }

  /// Looks at a statement.
  func see(_ sql: String) {
    guard known.withLock({ $0.insert(sql).inserted }) else { return }
    let faults = Self.faults.withLock { $0[sql] } ?? ShardRules.faults(sql)
    Self.faults.withLock { $0[sql] = faults }
    for fault in faults { Issue.record(Comment(rawValue: fault)) }
  }
}
