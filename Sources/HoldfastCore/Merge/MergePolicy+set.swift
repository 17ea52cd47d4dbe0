extension MergePolicy {
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
}
