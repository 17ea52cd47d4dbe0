/// A place in a list that is in the order of a column of type `position`.
///
/// ```swift
/// try await store.write { try $0.move(Item.self, ids: [milk], to: .after(bread)) }
/// ```
public enum Place: Hashable, Sendable {
  /// Before all others.
  case first
  /// Behind all others.
  case last
  /// Directly before the record of this id.
  case before(String)
  /// Directly behind the record of this id.
  case after(String)
}
