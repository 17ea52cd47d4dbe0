extension MergePolicy {
  /// Merges two texts word by word. Null can't be merged.
  static func weave(_ base: Value, _ mine: Value, _ theirs: Value, minePrevails: Bool) -> Combination? {
    guard case .text(let baseText) = base, case .text(let myText) = mine, case .text(let theirText) = theirs
    else { return nil }
    if mine == theirs || theirs == base { return Combination(mine) }
    if mine == base { return Combination(theirs) }
    let merge = TextMerge(base: baseText, mine: myText, theirs: theirText, minePrevails: minePrevails)
    return Combination(.text(merge.text), isLossy: merge.isLossy)
  }
}
