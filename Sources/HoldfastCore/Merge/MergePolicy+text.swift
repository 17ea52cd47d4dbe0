extension MergePolicy {
  /// Merges two texts word by word.
  static func weave(_ base: Value, _ mine: Value, _ theirs: Value, minePrevails: Bool) -> Combination? {
    guard case .text = base, case .text = mine, case .text = theirs else { return nil }
    if mine == theirs || theirs == base { return Combination(mine) }
    if mine == base { return Combination(theirs) }
    return Combination(minePrevails ? mine : theirs, isLossy: true)
  }
}
