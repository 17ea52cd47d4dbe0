/// A three-way merge of texts by words (diff3). A change of one side is taken. If both sides change the same words differently, the
/// prevailing side wins.
///
/// Two insertions at one place are both kept, in byte order. A space separates words of different sides that would otherwise join.
struct TextMerge {
  /// The merged text.
  private(set) var text = ""
  /// Whether both sides changed the same words differently.
  private(set) var isLossy = false

  private typealias Stretch = TokenDifference.Stretch
  private let tokens: TextTokens
  private let minePrevails: Bool
  private var merged: [UInt8] = []
  private var end: TextTokens.Token?

  private var base: [TextTokens.Token] { tokens.texts[0] }
  private var mine: [TextTokens.Token] { tokens.texts[1] }
  private var theirs: [TextTokens.Token] { tokens.texts[2] }

  init(base: String, mine: String, theirs: String, minePrevails: Bool) {
    tokens = TextTokens([base, mine, theirs])
    self.minePrevails = minePrevails
    let numbers = tokens.texts.map { $0.map(\.number) }
    merge(
      TokenDifference(from: numbers[0], to: numbers[1]).stretches,
      TokenDifference(from: numbers[0], to: numbers[2]).stretches)
    text = String(decoding: merged, as: UTF8.self)
  }

  private mutating func merge(_ mine: [Stretch], _ theirs: [Stretch]) {
    var (mineNext, theirsNext, done) = (0, 0, 0)
    while let region = Region(mine, theirs, &mineNext, &theirsNext) {
      append(base[done..<region.base.lowerBound])
      append(region, mine, theirs)
      done = region.base.upperBound
    }
    append(base[done...])
  }

  private mutating func append(_ region: Region, _ mine: [Stretch], _ theirs: [Stretch]) {
    let own = self.mine[region.tokens(mine[region.mine])]
    let other = self.theirs[region.tokens(theirs[region.theirs])]
    if region.theirs.isEmpty { return append(own) }
    if region.mine.isEmpty || own.elementsEqual(other, by: { $0.number == $1.number }) {
      return append(other)
    }
    if region.base.isEmpty {
      let isOwnFirst = bytes(of: own).lexicographicallyPrecedes(bytes(of: other))
      append(isOwnFirst ? own : other)
      return append(isOwnFirst ? other : own)
    }
    isLossy = true
    append(minePrevails ? own : other)
  }

  private mutating func append(_ part: ArraySlice<TextTokens.Token>) {
    guard let first = part.first, let last = part.last else { return }
    if let end, end.isWord && first.isWord || end.endsJoining || first.startsAttached {
      merged.append(UInt8(ascii: " "))
    }
    merged += bytes(of: part)
    end = last
  }

  /// The bytes of adjacent tokens.
  private func bytes(of part: ArraySlice<TextTokens.Token>) -> ArraySlice<UInt8> {
    guard let first = part.first, let last = part.last else { return [] }
    return tokens.bytes[first.start..<last.end]
  }
}

/// A changed part of the base, with the stretches of each side within it.
private struct Region {
  private(set) var base: Range<Int>
  /// The indexes of the stretches of each side.
  private(set) var mine: Range<Int>
  private(set) var theirs: Range<Int>

  /// The next region. It unites stretches that share tokens of the base, and two insertions at one place.
  init?(
    _ mine: [TokenDifference.Stretch], _ theirs: [TokenDifference.Stretch], _ mineNext: inout Int,
    _ theirsNext: inout Int
  ) {
    // An insertion before a token does not change the token.
    func order(_ stretches: [TokenDifference.Stretch], _ next: Int) -> (Int, Int) {
      if next == stretches.count { return (.max, .max) }
      return (stretches[next].base.lowerBound, stretches[next].base.isEmpty ? 0 : 1)
    }
    let (mineOrder, theirsOrder) = (order(mine, mineNext), order(theirs, theirsNext))
    if mineNext == mine.count, theirsNext == theirs.count { return nil }
    base = mineOrder <= theirsOrder ? mine[mineNext].base : theirs[theirsNext].base
    (self.mine, self.theirs) = (mineNext..<mineNext, theirsNext..<theirsNext)
    var (takesMine, takesTheirs) = (mineOrder <= theirsOrder, theirsOrder <= mineOrder)
    while takesMine || takesTheirs {
      if takesMine { Self.take(mine, &mineNext, &self.mine, &base) }
      if takesTheirs { Self.take(theirs, &theirsNext, &self.theirs, &base) }
      takesMine = mineNext < mine.count && mine[mineNext].base.lowerBound < base.upperBound
      takesTheirs = theirsNext < theirs.count && theirs[theirsNext].base.lowerBound < base.upperBound
    }
  }

  private static func take(
    _ stretches: [TokenDifference.Stretch], _ next: inout Int, _ taken: inout Range<Int>,
    _ base: inout Range<Int>
  ) {
    base = base.lowerBound..<max(base.upperBound, stretches[next].base.upperBound)
    next += 1
    taken = taken.lowerBound..<next
  }

  /// The tokens of one side that replace the region.
  func tokens(_ stretches: ArraySlice<TokenDifference.Stretch>) -> Range<Int> {
    guard let first = stretches.first, let last = stretches.last else { return 0..<0 }
    let lower = first.own.lowerBound - (first.base.lowerBound - base.lowerBound)
    return lower..<(last.own.upperBound + (base.upperBound - last.base.upperBound))
  }
}
