import Testing

@testable import HoldfastCore

/// The policy `text`: PROTOCOL.md, section 5.1.
@Suite("Merging texts by words")
struct TextMergeTests {
  private struct Three: CustomStringConvertible {
    var base: [String]
    var mine: [String]
    var theirs: [String]

    var description: String { "base \(base), mine \(mine), theirs \(theirs)" }

    var smaller: [Three] {
      Property.shorter(base).map { Three(base: $0, mine: mine, theirs: theirs) }
        + Property.shorter(mine).map { Three(base: base, mine: $0, theirs: theirs) }
        + Property.shorter(theirs).map { Three(base: base, mine: mine, theirs: $0) }
    }
  }

  /// Pieces that are hard to tell apart, run together, or must not be torn.
  private static let pieces = [
    "a", "b", "cc", " ", "  ", "\n", "-", ".", "é", "e\u{301}", "\u{301}", "買", "い", "👩‍👧", "👍🏽", "_", "7",
  ]

  private static func three(_ random: inout SeededRandom) -> Three {
    func text(_ random: inout SeededRandom) -> [String] {
      (0..<Int.random(in: 0...9, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
    }
    func edited(_ base: [String], _ random: inout SeededRandom) -> [String] {
      var text = base
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        let place = Int.random(in: 0...text.count, using: &random)
        let end = min(text.count, place + Int.random(in: 0...2, using: &random))
        text.replaceSubrange(
          place..<end,
          with: Bool.random(using: &random) ? [] : [pieces.randomElement(using: &random) ?? ""])
      }
      return text
    }
    let base = text(&random)
    return Three(base: base, mine: edited(base, &random), theirs: edited(base, &random))
  }

  private static func merge(_ base: String, _ mine: String, _ theirs: String, minePrevails: Bool = true)
    -> Combination?
  {
    MergePolicy.text.combined(
      base: .text(base), mine: .text(mine), theirs: .text(theirs), minePrevails: minePrevails)
  }

  private static func words(_ text: String) -> Set<[UInt8]> {
    let tokens = TextTokens([text])
    return Set(tokens.texts[0].filter(\.isWord).map { Array(tokens.bytes[$0.start..<$0.end]) })
  }

  @Test("what one side changed stays, and what both changed alike is there once")
  func examples() {
    func text(_ base: String, _ mine: String, _ theirs: String) -> Combination? {
      Self.merge(base, mine, theirs)
    }
    #expect(text("buy milk", "buy oat milk", "buy milk today") == Combination(.text("buy oat milk today")))
    #expect(text("a b c", "a x c", "a x c d") == Combination(.text("a x c d")))
    #expect(text("a b c", "x b c", "a b z") == Combination(.text("x b z")))
    #expect(text("a b", "a", "a b c") == Combination(.text("a c")))
    #expect(text("one two", "one 2", "one zwei") == Combination(.text("one 2"), isLossy: true))
  }

  @Test("two insertions at one place both stay, in an order that does not depend on who arrives first (I7)")
  func insertions() {
    #expect(Self.merge("buy", "buy milk", "buy eggs") == Combination(.text("buy eggs milk")))
    #expect(Self.merge("buy", "buy eggs", "buy milk") == Combination(.text("buy eggs milk")))
    #expect(Self.merge("", "milk", "eggs") == Combination(.text("eggs milk")))
    #expect(Self.merge("a", "a b", "a b") == Combination(.text("a b")))
  }

  @Test("two spellings of one character are two texts")
  func bytes() {
    #expect(Self.merge("e\u{301} x", "\u{E9} x", "e\u{301} y") == Combination(.text("\u{E9} y")))
    let lossy = Self.merge("z", "e\u{301}", "\u{E9}", minePrevails: false)
    #expect(lossy == Combination(.text("\u{E9}"), isLossy: true))
  }

  @Test("a merge with an unchanged side is the other, one with itself is itself, and both orders agree (I7)")
  func laws() {
    Property.check(20_000, Self.three, shrink: \.smaller) { three in
      let (base, mine, theirs) = (three.base.joined(), three.mine.joined(), three.theirs.joined())
      if Self.merge(base, mine, base)?.value != .text(mine) { return "an unchanged side counts" }
      if Self.merge(base, mine, mine)?.value != .text(mine) { return "the same twice is something else" }
      for prevails in [true, false] {
        let there = Self.merge(base, mine, theirs, minePrevails: prevails)
        let back = Self.merge(base, theirs, mine, minePrevails: !prevails)
        if there != back {
          return "\(String(describing: there)) is \(String(describing: back)) the other way"
        }
      }
      return nil
    }
  }

  @Test("a merge has no word that is in none of the three texts")
  func words() {
    Property.check(20_000, seed: 2, Self.three, shrink: \.smaller) { three in
      let (base, mine, theirs) = (three.base.joined(), three.mine.joined(), three.theirs.joined())
      guard case .text(let text)? = Self.merge(base, mine, theirs)?.value else { return "no text" }
      let known = Self.words(base).union(Self.words(mine)).union(Self.words(theirs))
      return Self.words(text).isSubset(of: known) ? nil : "invented in \(text)"
    }
  }

  @Test("changes of different words both survive, whatever they are (I3)")
  func survive() {
    struct Edits: CustomStringConvertible {
      var words: [(text: String, mine: Int, theirs: Int)]
      var description: String { "\(words)" }
    }
    /// 0 leaves a word, 1 changes it, 2 adds one behind it.
    func text(_ edits: Edits, _ side: (Int, Int) -> (Int, String)) -> String {
      edits.words.enumerated().map { index, word in
        let (kind, mark) = side(word.mine, word.theirs)
        return kind == 0 ? word.text : kind == 1 ? "\(mark)\(index)" : "\(word.text) \(mark)\(index)"
      }.joined(separator: " ")
    }
    Property.check(
      5000, seed: 3,
      { random in
        Edits(
          words: (0..<Int.random(in: 1...12, using: &random)).map { index in
            let (kind, isMine) = (Int.random(in: 0...2, using: &random), Bool.random(using: &random))
            return ("w\(index)", isMine ? kind : 0, isMine ? 0 : kind)
          })
      }, shrink: { edits in Property.shorter(edits.words).map { Edits(words: $0) } }
    ) { edits in
      let merged = Self.merge(
        text(edits) { _, _ in (0, "") }, text(edits) { mine, _ in (mine, "m") },
        text(edits) { _, theirs in (theirs, "t") })
      guard case .text(let value)? = merged?.value else { return "no text" }
      for (index, word) in edits.words.enumerated() {
        let mark = word.mine > 0 ? "m\(index)" : word.theirs > 0 ? "t\(index)" : nil
        if let mark, !Self.words(value).contains(Array(mark.utf8)) { return "\(mark) is not in \(value)" }
      }
      return merged?.isLossy == false ? nil : "lossy"
    }
  }

  @Test("changes of many words of a long text all survive, as long as they are at different places (I3)")
  func long() {
    var random = SeededRandom(seed: 4)
    let words = (0..<12_000).map { _ in "w\(Int.random(in: 0..<5000, using: &random))" }
    func edited(_ remainder: Int, _ mark: String) -> String {
      words.enumerated().map { $0.offset % 20 == remainder ? "\(mark)\($0.offset)" : $0.element }
        .joined(separator: " ")
    }
    let merged = Self.merge(words.joined(separator: " "), edited(3, "m"), edited(13, "t"))
    guard case .text(let text)? = merged?.value else { return #expect(Bool(false), "no text") }
    #expect(merged?.isLossy == false)
    let here = Self.words(text)
    for place in 0..<600 {
      #expect(
        here.contains(Array("m\(place * 20 + 3)".utf8)) && here.contains(Array("t\(place * 20 + 13)".utf8)))
    }
  }

  @Test(
    "the work of a comparison grows with the length of the texts alone",
    arguments: [("a b ", "b a "), (". ", ", "), ("x", "y"), (".", ",")])
  func work(_ one: String, _ other: String) {
    for size in [500, 5000, 50_000] {
      var random = SeededRandom(seed: 5)
      let mixed = (0..<size).map { _ in Bool.random(using: &random) ? one : other }.joined()
      let texts = TextTokens([String(repeating: one + other, count: size / 2), mixed]).texts.map {
        $0.map(\.number)
      }
      let difference = TokenDifference(from: texts[0], to: texts[1])
      let tokens = texts[0].count + texts[1].count
      #expect(difference.stepsLeft >= -(tokens + TokenDifference.depthLimit))
    }
  }

  @Test(
    "texts made to take long are merged with bounded work, and keep the ends that they share",
    arguments: [
      ("a b ", "b a "), (". ", ", "), ("x", "y"), ("ab cd ", "cd ef "), ("\u{301}", "a"), ("買", "い"),
    ])
  func adversarial(_ mine: String, _ theirs: String) {
    let size = 40_000
    func many(_ text: String) -> String { String(repeating: text, count: size / text.unicodeScalars.count) }
    let (start, end) = ("start of all. ", " .end of all")
    let base = start + many(mine + theirs) + end
    let merged = Self.merge(base, start + many(mine) + end, start + many(theirs) + end)
    guard case .text(let text)? = merged?.value else { return #expect(Bool(false), "no text") }
    #expect(text.utf8.starts(with: start.utf8) && text.utf8.reversed().starts(with: end.utf8.reversed()))
  }
}
