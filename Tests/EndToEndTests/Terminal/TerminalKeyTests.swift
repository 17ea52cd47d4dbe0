import Testing

@testable import Jot

@Suite("The keys in the bytes of a terminal")
struct TerminalKeyTests {
  /// The keys of bytes that arrive in pieces of a length.
  private static func keys(_ text: String, inPiecesOf length: Int) -> [Key] {
    keys(Array(text.utf8), inPiecesOf: length)
  }

  private static func keys(_ bytes: [UInt8], inPiecesOf length: Int) -> [Key] {
    var parser = KeyParser()
    var keys: [Key] = []
    for start in stride(from: 0, to: bytes.count, by: length) {
      keys += parser.take(Array(bytes[start..<min(start + length, bytes.count)]))
    }
    return keys + parser.endEscape()
  }

  @Test("are the same in whatever pieces they arrive", arguments: [1, 2, 3, 5, 100])
  func pieces(_ length: Int) {
    let text =
      "aé牛👍\r\t\u{7F}\u{3}\u{1B}[A\u{1B}OB\u{1B}[1;2A\u{1B}[3~\u{1B}[Z\u{1B}[200~x\n\u{1B}[Ay\u{1B}[201~z\u{1B}"
    let expected: [Key] = [
      .scalar("a"), .scalar("é"), .scalar("牛"), .scalar("👍"), .enter, .tab, .backspace, .control("c"), .up,
      .down,
      .shiftUp, .delete, .shiftTab, .paste("x\n\u{1B}[Ay"), .scalar("z"), .escape,
    ]
    #expect(Self.keys(text, inPiecesOf: length) == expected)
  }

  @Test("bytes that are no UTF-8, and sequences of no key, stop nothing", arguments: [1, 2, 3, 100])
  func malformed(_ length: Int) {
    let bytes: [UInt8] = [
      0xFF, 0xC3, 0x61, 0xE7, 0x89, 0x1B, 0x5B, 0x39, 0x39, 0x75, 0x62, 0xF0, 0x9F, 0x63, 0xC2, 0x9B,
    ]
    let expected: [Key] = [
      .scalar("\u{FFFD}"), .scalar("\u{FFFD}"), .scalar("a"), .scalar("\u{FFFD}"), .scalar("b"),
      .scalar("\u{FFFD}"),
      .scalar("c"),
    ]
    #expect(Self.keys(bytes, inPiecesOf: length) == expected)
  }

  @Test("random bytes never stop the parser, and an end of a paste ends it")
  func random() {
    var random = SeededRandom(seed: 7)
    var parser = KeyParser()
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 1...20, using: &random)).map { _ in
        [0x1B, 0x5B, 0x7E, 0x32, 0x30, UInt8.random(in: 0...255, using: &random)].randomElement(
          using: &random) ?? 0
      }
      _ = parser.take(bytes)
    }
    _ = parser.take(Array("\u{1B}[201~".utf8))
    _ = parser.endEscape()
    #expect(parser.take(Array("a".utf8)).last == .scalar("a"))
  }

  @Test("of a paste only its beginning counts, and its end is found")
  func longPaste() {
    let text = String(repeating: "x", count: 3 * KeyParser.longestPaste)
    let keys = Self.keys("\u{1B}[200~\(text)\u{1B}[201~q", inPiecesOf: 4096)
    #expect(keys == [.paste(String(text.prefix(KeyParser.longestPaste))), .scalar("q")])
  }
}
