extension MergePolicy {
  /// Adds both increments to the base; null counts as 0. Nil if the sum exceeds 64 bits.
  static func sum(_ base: Value, _ mine: Value, _ theirs: Value) -> Combination? {
    guard let base = number(base), let mine = number(mine), let theirs = number(theirs) else { return nil }
    let increment = mine.subtractingReportingOverflow(base)
    let sum = theirs.addingReportingOverflow(increment.partialValue)
    return increment.overflow || sum.overflow ? nil : Combination(.integer(sum.partialValue))
  }

  private static func number(_ value: Value) -> Int64? {
    switch value {
    case .null: 0
    case .integer(let number): number
    case .real, .text: nil
    }
  }
}
