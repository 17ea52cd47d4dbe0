/// The result of combining two edits of one column.
public struct Combination: Hashable, Sendable {
  /// The combined value.
  public let value: Value
  /// Whether a part of the losing edit is missing.
  public let isLossy: Bool

  /// Creates a combination.
  public init(_ value: Value, isLossy: Bool = false) {
    self.value = value
    self.isLossy = isLossy
  }
}

extension MergePolicy {
  /// Whether the policy combines concurrent edits.
  package var combines: Bool {
    switch self {
    case .counter, .set, .text: true
    case .latest, .server, .client, .ask, .resolver: false
    }
  }

  /// Combines two edits with the same base. Pure: device and server get the same result.
  ///
  /// - Parameters:
  ///   - base: the value before both edits.
  ///   - mine: the value after one edit.
  ///   - theirs: the value after the other edit.
  ///   - minePrevails: whether `mine` wins where both changed the same words.
  /// - Returns: nil if the policy does not combine, or the values can't be combined.
  public func combined(base: Value, mine: Value, theirs: Value, minePrevails: Bool) -> Combination? {
    switch self {
    case .latest, .server, .client, .ask, .resolver: nil
    case .counter: Self.sum(base, mine, theirs)
    case .set: Self.union(base, mine, theirs)
    case .text: Self.weave(base, mine, theirs, minePrevails: minePrevails)
    }
  }
}
