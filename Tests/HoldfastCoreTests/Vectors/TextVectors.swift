@testable import HoldfastCore

/// Cases of `TextTokens` and `TokenDifference`.
enum TextVectors {
  static var cases: [JSONValue] {
    var random = SeededRandom(seed: 21)
    var cases = [
      difference("buy milk today", "buy oat milk tomorrow"), difference("", "a"), difference("a", ""),
      difference("a b a b", "a b"), difference("x a a y", "x a y"), difference("same", "same"),
      difference("\u{301}a\u{200D}b", "a\u{301} \u{200D}"),
      difference("one two three", "four five six"),
    ]
    for _ in 0..<120 {
      let base = MergeVectors.text(&random, Int.random(in: 0...10, using: &random))
      cases.append(difference(base.joined(), MergeVectors.edited(base, &random).joined()))
    }
    // What is replaced altogether, what is shuffled, and what has few tokens in common.
    let words = (0..<300).map { "w\($0) " }
    cases.append(difference(words.joined(), words.shuffled(using: &random).joined()))
    cases.append(difference(words.joined(), (0..<300).map { "v\($0) " }.joined()))
    let twins = (0..<400).map { _ in Bool.random(using: &random) ? "a " : "b " }
    cases.append(difference(twins.joined(), twins.shuffled(using: &random).joined()))
    cases.append(
      difference(words.joined(), words.map { Int.random(in: 0..<3, using: &random) > 0 ? $0 : "x " }.joined())
    )
    return cases
  }

  private static func difference(_ base: String, _ own: String) -> JSONValue {
    let tokens = TextTokens([base, own])
    let numbers = tokens.texts.map { $0.map(\.number) }
    let stretches = TokenDifference(from: numbers[0], to: numbers[1]).stretches
    func texts(_ text: Int) -> JSONValue {
      .array(
        tokens.texts[text].map { .string(String(decoding: tokens.bytes[$0.start..<$0.end], as: UTF8.self)) })
    }
    func range(_ range: Range<Int>) -> JSONValue {
      [.integer(Int64(range.lowerBound)), .integer(Int64(range.upperBound))]
    }
    var members: [JSONValue.Member] = [.init("base", .string(base)), .init("own", .string(own))]
    // The long ones are there for their difference.
    if base.utf8.count < 200 {
      members += [.init("base_tokens", texts(0)), .init("own_tokens", texts(1))]
    }
    members.append(
      .init("stretches", .array(stretches.map { ["base": range($0.base), "own": range($0.own)] })))
    return .object(members)
  }
}
