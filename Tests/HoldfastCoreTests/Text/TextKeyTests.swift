import Testing

@testable import HoldfastCore

/// Two texts that `String` takes for equal, in two spellings.
private let (one, two) = ("\u{E9}", "e\u{301}")

@Suite("Texts as keys")
struct TextKeyTests {
  private struct Place: Hashable {
    let zone: String
    let parent: String?
  }

  private enum Name: Hashable { case text(String) }

  /// What the standard library says, asked where it does not know the type.
  private static func standard<Text: Hashable>(_ left: Text, _ right: Text) -> Bool { left == right }

  @Test(
    "in the modules of the product texts are compared by their bytes, also by what the compiler derives (I4)")
  func operators() {
    #expect(Self.standard(one, two), "The standard library compares bytes now: ByteComparison.swift can go.")
    #expect(one != two && !(one == two) && two < one && !(one < two) && min(one, two) == two)
    let (place, other): (Place?, Place) = (Place(zone: one, parent: one), Place(zone: two, parent: two))
    #expect(place?.zone != two && place?.parent != other.parent && other.parent != one && [one].first != two)
    #expect(
      [one] != [two] && ![one].starts(with: [two]) && ![one].elementsEqual([two]) && (one, "") != (two, ""))
    #expect(one[...] != two[...])
    #expect(
      ![one].contains(two) && [one, two].firstIndex(of: two) == 1 && [one, two].sorted() == [two, one])
    #expect(Place(zone: one, parent: nil) != Place(zone: two, parent: nil))
    #expect(Place(zone: "", parent: one) != Place(zone: "", parent: two) && Name.text(one) != .text(two))
    #expect(Value.text(one) != .text(two) && JSONValue.string(one) != .string(two))
    #expect(Set([Name.text(one), .text(two)]).count == 2)
    switch two {
    case "\u{E9}": Issue.record("A case is equal that has other bytes.")
    default: break
    }
  }

  @Test("a quote with an accent is a quote still: texts are cut by scalars, never by characters")
  func cutting() {
    #expect("a'\u{301}b".split(separator: "'") == ["a", "\u{301}b"])
    #expect("a'\u{301}b"[...].split(separator: "'") == ["a", "\u{301}b"])
    #expect("a\r\nb".split(separator: "\n") == ["a\r", "b"])
    #expect("'\u{301}".contains("'") && "x'\u{301}".firstIndex(of: "'") != nil && !one.contains("e"))
    #expect(two.hasPrefix("e") && two.hasSuffix("\u{301}") && !one.hasPrefix(two) && !"a".hasPrefix("ab"))
  }

  @Test("texts are in the order of their bytes, and a text is before those that begin with it")
  func order() {
    let texts = ["", "A", "a", "a\u{0}", "aa", "ab", "b", two, one, "\u{FFFF}", "\u{10FFFF}"]
    for (place, text) in texts.enumerated() {
      for (other, next) in texts.enumerated() {
        #expect((text < next) == (place < other) && (text >= next) == (place >= other))
      }
    }
  }

  @Test("a text contains its parts, also those at its ends, and no more")
  func parts() {
    let text = "abcab"
    #expect(["", "a", "ab", "bca", "cab", text].allSatisfy { text.contains($0) })
    #expect(!["d", "abb", "abcabc", "cabc"].contains { text.contains($0) })
    #expect("".contains("") && !"".contains("a") && text[...].dropFirst().contains("ca"))
    #expect(!text[...].dropLast().contains("cab"))
  }

  @Test("maps and sets keep both spellings, and nothing given twice ends a process")
  func collections() {
    var map: TextMap<Int> = [one: 1, two: 2]
    #expect(map.count == 2 && map[one] == 1 && map[two] == 2 && map.keys == [two, one])
    map[one] = nil
    #expect(map == [two: 2] && TextMap([("a", 1), ("a", 2)])["a"] == 2)
    var set: TextSet = [one]
    #expect(set.insert(two).inserted && !set.insert(two).inserted && set.count == 2)
    #expect(set.subtracting([one]) == [two] && !TextSet([one]).contains(two))
    #expect(
      TextSet([one]).isDisjoint(with: [two]) && TextMap(grouping: [one, two, one]) { $0 }[one] == [one, one])
  }

  @Test("equivalent spellings have hashes of their own: nobody can choose keys that collide")
  func hashes() {
    let accents = ["\u{E9}", "e\u{301}"]
    var spellings = [""]
    for _ in 0..<10 { spellings = spellings.flatMap { start in accents.map { start + $0 } } }
    #expect(Set(spellings.map { TextKey($0).hashValue }).count > 1000)
  }
}
