package import HoldfastCore

/// The words of a text of SQL.
package enum SQLWords {
  /// The keywords and bare names of a text, in capital letters: nothing that is in quotes or in comments.
  package static func of(_ text: String) -> TextSet {
    var words: TextSet = []
    var rest = Array(text.utf8)[...]
    func skip(through end: String) {
      let end = Array(end.utf8)
      while !rest.isEmpty, !rest.starts(with: end) { rest.removeFirst() }
      rest = rest.dropFirst(end.count)
    }
    while let first = rest.first {
      switch first {
      case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"):
        rest.removeFirst()
        skip(through: String(UnicodeScalar(first)))
      case UInt8(ascii: "["): skip(through: "]")
      case UInt8(ascii: "-") where rest.starts(with: "--".utf8): skip(through: "\n")
      case UInt8(ascii: "/") where rest.starts(with: "/*".utf8): skip(through: "*/")
      case let byte where isPart(byte):
        let word = rest.prefix(while: isPart)
        rest = rest.dropFirst(word.count)
        words.insert(String(decoding: word, as: UTF8.self).uppercased())
      default: rest.removeFirst()
      }
    }
    return words
  }

  private static func isPart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
      true
    default: false
    }
  }
}
