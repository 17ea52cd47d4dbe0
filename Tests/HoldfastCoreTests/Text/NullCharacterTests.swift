import Testing

@testable import HoldfastCore

@Suite("U+0000 in texts")
struct NullCharacterTests {
  @Test(
    "a text column takes no U+0000, wherever it is, and every other character", arguments: [1, 15, 16, 200])
  func everywhere(length: Int) throws {
    let column = ColumnSchema("text", .text)
    let text = String(repeating: "\u{1}\u{FF}", count: length)
    try column.check(.text(text))
    for place in 0...length {
      let index = text.unicodeScalars.index(text.startIndex, offsetBy: place)
      let wrong = text[..<index] + "\u{0}" + text[index...]
      #expect(throws: Problem.self) { try column.check(.text(String(wrong))) }
    }
  }

  @Test("an id has no U+0000")
  func ids() {
    #expect(Identifier.isPossible("a") && !Identifier.isPossible("a\u{0}") && !Identifier.isPossible("\u{0}"))
  }
}
