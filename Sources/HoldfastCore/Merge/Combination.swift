/// The result of combining two edits of one column.
package struct Combination: Hashable, Sendable {
  /// The combined value.
  package let value: Value
  /// Whether a part of the losing edit is missing.
  package let isLossy: Bool

  /// Creates a combination.
  package init(_ value: Value, isLossy: Bool = false) {
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

  /// Makes one value of two edits of the same base. Pure: the same on the device and on the server.
  ///
  /// - Parameters:
  ///   - base: the value that both edits began from.
  ///   - mine: what one made of it.
  ///   - theirs: what the other made of it.
  ///   - minePrevails: whose words stand where both changed the same ones.
  /// - Returns: nil when the policy does not combine, or the values are not such that it can.
  package func combined(base: Value, mine: Value, theirs: Value, minePrevails: Bool) -> Combination? {
    switch self {
    case .latest, .server, .client, .ask, .resolver: nil
    case .counter: Self.sum(base, mine, theirs)
    case .set: Self.union(base, mine, theirs)
    case .text: Self.weave(base, mine, theirs, minePrevails: minePrevails)
    }
  }
}
