extension MergePolicy {
  /// What either added is in, what either removed is out; null counts as the empty set. The elements come in the order of their bytes.
  static func union(_ base: Value, _ mine: Value, _ theirs: Value) -> Combination? {
    guard let base = elements(base), let mine = elements(mine), let theirs = elements(theirs) else {
      return nil
    }
    let added = mine.subtracting(base).union(theirs.subtracting(base))
    let kept = base.intersection(mine).intersection(theirs)
    return Combination(json(of: added.union(kept)))
  }

  /// The JSON of a set: its elements in the order of their bytes.
  package static func json(of elements: Set<[UInt8]>) -> Value {
    let sorted = elements.sorted { $0.lexicographicallyPrecedes($1) }
    let array = JSONValue.array(sorted.map { .string(String(decoding: $0, as: UTF8.self)) })
    return .text(String(decoding: array.bytes, as: UTF8.self))
  }

  /// Whether a text is the JSON of a set: texts, each once.
  static func isSet(_ text: String) -> Bool {
    texts(text).map { Set($0).count == $0.count } ?? false
  }

  /// The elements of a set as their bytes: `String` takes two spellings of one text for equal.
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
