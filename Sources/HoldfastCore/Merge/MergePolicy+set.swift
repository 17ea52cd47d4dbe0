extension MergePolicy {
  /// What either added is in, what either removed is out; null counts as the empty set. The elements come in the order of their bytes.
  static func union(_ base: Value, _ mine: Value, _ theirs: Value) -> Combination? {
    guard let base = elements(base), let mine = elements(mine), let theirs = elements(theirs) else {
      return nil
    }
    let added = mine.subtracting(base).union(theirs.subtracting(base))
    let kept = base.intersection(mine).intersection(theirs)
    let union = added.union(kept).map { String(decoding: $0, as: UTF8.self) }
    let sorted = union.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    return Combination(
      .text(String(decoding: JSONValue.array(sorted.map { .string($0) }).bytes, as: UTF8.self)))
  }

  /// The elements of a set as their bytes: `String` takes two spellings of one text for equal.
  static func elements(_ value: Value) -> Set<[UInt8]>? {
    if case .null = value { return [] }
    guard case .text(let text) = value, let elements = (try? JSONValue(parsing: text))?.elements else {
      return nil
    }
    let texts = elements.compactMap(\.stringValue)
    return texts.count == elements.count ? Set(texts.map { Array($0.utf8) }) : nil
  }
}
