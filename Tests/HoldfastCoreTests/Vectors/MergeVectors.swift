import HoldfastCore

/// Cases of `MergePolicy.combined`.
enum MergeVectors {
  static var cases: [JSONValue] { counters + sets + texts }

  private static func merge(
    _ policy: MergePolicy, _ base: Value, _ mine: Value, _ theirs: Value, minePrevails: Bool = true
  ) -> JSONValue {
    let combination = policy.combined(base: base, mine: mine, theirs: theirs, minePrevails: minePrevails)
    return [
      "policy": .string(policy.rawValue), "base": VectorFiles.json(base), "mine": VectorFiles.json(mine),
      "theirs": VectorFiles.json(theirs), "mine_prevails": .bool(minePrevails),
      "result": combination.map { ["value": VectorFiles.json($0.value), "lossy": .bool($0.isLossy)] }
        ?? .null,
    ]
  }

  private static var counters: [JSONValue] {
    [
      merge(.counter, .integer(1), .integer(3), .integer(5)),
      merge(.counter, .null, .integer(2), .integer(7)),
      merge(.counter, .integer(4), .null, .integer(9)),
      merge(.counter, .integer(4), .integer(6), .null),
      merge(.counter, .integer(0), .integer(1), .integer(.max)),
      merge(.counter, .integer(0), .integer(-1), .integer(.min)),
      merge(.counter, .integer(.min), .integer(.max), .integer(0)),
      merge(.counter, .integer(.max - 1), .integer(.max), .integer(.max - 5)),
      merge(.counter, .integer(9_007_199_254_740_993), .integer(9_007_199_254_740_995), .integer(1)),
      merge(.counter, .text("1"), .integer(3), .integer(5)),
      merge(.latest, .integer(1), .integer(3), .integer(5)),
    ]
  }

  private static var sets: [JSONValue] {
    func set(_ text: String) -> Value { .text(text) }
    return [
      merge(.set, set(#"["a","b"]"#), set(#"["a","c"]"#), set(#"["a","b","d"]"#)),
      merge(.set, .null, set(#"["b"]"#), set(#"["a"]"#)),
      merge(.set, set(#"["a"]"#), .null, set(#"["a","b"]"#)),
      merge(.set, set("[]"), set("[]"), set("[]")),
      // By bytes of UTF-8: U+FF5E is before U+1F600, though not by units of UTF-16. Two spellings are two elements.
      merge(.set, set("[]"), set("[\"\u{1F600}\",\"\u{FF5E}\"]"), set("[\"\u{E9}\",\"e\u{301}\"]")),
      merge(.set, set(#"["x"]"#), set(#"[ "x" , "y\n" ]"#), set(#"["x","\u0041"]"#)),
      merge(.set, set(#"["a"]"#), set(#"{"a":1}"#), set(#"["a"]"#)),
      merge(.set, set(#"["a"]"#), set(#"["a",1]"#), set(#"["a"]"#)),
      merge(.set, set("no json"), set(#"["a"]"#), set(#"["a"]"#)),
    ]
  }

  private static let pieces = [
    "a", "b", "cc", "milk", " ", "  ", "\n", "-", ".", ",", "\u{E9}", "e\u{301}", "\u{301}", "\u{8CB7}",
    "\u{3044}", "\u{1F469}\u{200D}\u{1F467}", "\u{1F44D}\u{1F3FD}", "_", "7", "\u{5D0}", "\u{661}", "\u{A0}",
    "\u{2028}", "\u{BD}", "\u{E01}\u{E33}",
  ]

  static func text(_ random: inout SeededRandom, _ count: Int) -> [String] {
    (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }
  }

  static func edited(_ base: [String], _ random: inout SeededRandom, edits: Int = 3) -> [String] {
    var text = base
    for _ in 0..<Int.random(in: 0...edits, using: &random) {
      let place = Int.random(in: 0...text.count, using: &random)
      let end = min(text.count, place + Int.random(in: 0...2, using: &random))
      text.replaceSubrange(place..<end, with: Bool.random(using: &random) ? [] : self.text(&random, 1))
    }
    return text
  }

  private static var texts: [JSONValue] {
    var cases = [
      merge(.text, .text("buy milk today"), .text("buy oat milk today"), .text("buy milk tomorrow")),
      merge(.text, .text("buy milk"), .text("buy tea"), .text("buy juice")),
      merge(.text, .text("buy milk"), .text("buy tea"), .text("buy juice"), minePrevails: false),
      merge(.text, .text(""), .text("mine"), .text("theirs")),
      merge(.text, .text("a"), .text(""), .text("a b")),
      merge(.text, .null, .text("mine"), .text("theirs")),
      merge(.text, .text("a"), .null, .text("b")),
      merge(.text, .text("a"), .text("b"), .text("a")),
      merge(.text, .text("a"), .text("a"), .text("b")),
      merge(.text, .text("a"), .text("c"), .text("c")),
    ]
    var random = SeededRandom(seed: 20)
    for index in 0..<220 {
      let base = text(&random, Int.random(in: 0...9, using: &random))
      let (mine, theirs) = (edited(base, &random), edited(base, &random))
      cases.append(
        merge(
          .text, .text(base.joined()), .text(mine.joined()), .text(theirs.joined()),
          minePrevails: index.isMultiple(of: 2)))
    }
    // Beyond the depth of one search, so that parts are divided at tokens that both have once.
    for _ in 0..<4 {
      let words = (0..<400).map { _ in "w\(Int.random(in: 0..<900, using: &random)) " }
      let mine = edited(words, &random, edits: 150)
      cases.append(
        merge(
          .text, .text(words.joined()), .text(mine.joined()),
          .text(edited(words, &random, edits: 4).joined())))
    }
    return cases
  }
}
