import HoldfastCore
import Testing

@Suite("Text on a terminal")
struct TerminalTextTests {
  @Test("what would steer the terminal, or turn the writing around, is escaped; all else stands as it is")
  func shown() {
    #expect("a\u{1B}[2Jb\n".shown == #"a\u{1B}[2Jb\u{A}"#)
    #expect("invoice\u{202E}fdp.exe".shown == #"invoice\u{202E}fdp.exe"#)
    let marks = ["\u{61C}", "\u{200E}", "\u{200F}", "\u{2028}", "\u{2029}", "\u{FEFF}", "\u{7F}", "\u{9B}"]
    for mark in marks + (0x202A...0x202E).map({ "\(Unicode.Scalar($0) ?? " ")" })
      + (0x2066...0x2069).map({ "\(Unicode.Scalar($0) ?? " ")" })
    {
      #expect(mark.shown.hasPrefix(#"\u{"#))
    }
    for text in ["", "Milch & Brot", "שלום", "👩‍👧 é e\u{301}", "買い物"] { #expect(text.shown == text) }
  }

  @Test("JSON for people escapes the same, and is the same value")
  func json() throws {
    let value = JSONValue.object([.init("a\u{202E}", .array([.string("b\u{9B}c"), .string("line\nbreak")]))])
    let text = value.formatted()
    #expect(text.contains(#"\u202e"#) && text.contains(#"\u009b"#))
    #expect(try JSONValue(parsing: text) == value)
  }
}
