import Testing

/// Looks for a case that a property does not hold for, and makes it as small as it can before it says so.
enum Property {
  /// Tries cases of one seed.
  ///
  /// - Parameters:
  ///   - shrink: the smaller cases to try in place of one.
  ///   - fails: what is wrong with a case; nil when the property holds.
  static func check<Case>(
    _ count: Int, seed: UInt64 = 1, _ generate: (inout SeededRandom) -> Case, shrink: (Case) -> [Case],
    fails: (Case) -> String?
  ) {
    var random = SeededRandom(seed: seed)
    for _ in 0..<count {
      var found = generate(&random)
      guard var what = fails(found) else { continue }
      search: while true {
        for smaller in shrink(found) {
          guard let reason = fails(smaller) else { continue }
          (found, what) = (smaller, reason)
          continue search
        }
        break
      }
      Issue.record("\(what): \(found)")
      return
    }
  }

  /// A list without one of its elements, for each of them.
  static func shorter<Element>(_ list: [Element]) -> [[Element]] {
    list.indices.map { index in
      var rest = list
      rest.remove(at: index)
      return rest
    }
  }
}
