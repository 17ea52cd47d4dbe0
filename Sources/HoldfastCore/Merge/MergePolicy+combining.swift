/// The values that both sides' changes make together.
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

  /// Adds the elements that either side added, and removes those that either side removed. Null counts as the empty set. Sorted by bytes.
  static func union(_ base: Value, _ mine: Value, _ theirs: Value) -> Combination? {
    guard let base = elements(base), let mine = elements(mine), let theirs = elements(theirs) else {
      return nil
    }
    let added = mine.subtracting(base).union(theirs.subtracting(base))
    let kept = base.intersection(mine).intersection(theirs)
    return Combination(json(of: added.union(kept)))
  }

  /// The JSON array of a set, with its elements sorted by bytes.
  package static func json(of elements: Set<[UInt8]>) -> Value {
    let sorted = elements.sorted { $0.lexicographicallyPrecedes($1) }
    let array = JSONValue.array(sorted.map { .string(String(decoding: $0, as: UTF8.self)) })
    return .text(String(decoding: array.bytes, as: UTF8.self))
  }

  /// Whether a text is the JSON of a set: an array of distinct texts.
  static func isSet(_ text: String) -> Bool {
    texts(text).map { Set($0).count == $0.count } ?? false
  }

  /// The elements of a set as bytes, because `String` compares by canonical equivalence.
  package static func elements(_ value: Value) -> Set<[UInt8]>? {
    switch value {
    case .null: []
    case .text(let text): texts(text).map { Set($0) }
    case .integer, .real: nil
    }
  }

  private static func texts(_ json: String) -> [[UInt8]]? {
    guard let elements = (try? JSONValue(parsing: json))?.elements else { return nil }
    let texts = elements.compactMap(\.stringValue)
    return texts.count == elements.count ? texts.map { Array($0.utf8) } : nil
  }

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
