/// What two edits of one column come to, where the column's policy makes one value of both.
public struct Combination: Hashable, Sendable {
  /// The value that holds both edits.
  public let value: Value
  /// Whether something of the edit that does not prevail is not in it.
  public let isLossy: Bool

  /// A combination of its parts.
  public init(_ value: Value, isLossy: Bool = false) {
    self.value = value
    self.isLossy = isLossy
  }
}

extension MergePolicy {
  /// Whether it makes one value of two edits, where their values can be combined.
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
  public func combined(base: Value, mine: Value, theirs: Value, minePrevails: Bool) -> Combination? {
    switch self {
    case .latest, .server, .client, .ask, .resolver: nil
    case .counter: Self.sum(base, mine, theirs)
    case .set: Self.union(base, mine, theirs)
    case .text: Self.weave(base, mine, theirs, minePrevails: minePrevails)
    }
  }
}
