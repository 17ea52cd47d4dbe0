import HoldfastCore

/// Tokens mark people's edits: `~123~`. Each number is written once, so that it can be found wherever it ends up.
enum Tokens {
  private static let mark = UInt8(ascii: "~")

  /// The numbers of the tokens in a text, in order, also inside JSON.
  static func inside(_ text: String) -> [Int] {
    var text = text
    return text.withUTF8 { bytes in
      var found: [Int] = []
      var place = 0
      while let start = bytes[place...].firstIndex(of: mark) {
        var number = 0
        var end = start + 1
        // Eighteen digits can't overflow.
        while end < bytes.count, end - start <= 18, bytes[end] >= 48, bytes[end] <= 57 {
          number = number * 10 + Int(bytes[end] - 48)
          end += 1
        }
        if end > start + 1, end < bytes.count, bytes[end] == mark {
          found.append(number)
          end += 1
        }
        place = end
      }
      return found
    }
  }

  /// The text of a token.
  static func text(_ number: Int) -> String { "~\(number)~" }

  /// Several tokens for people.
  static func text(_ numbers: some Sequence<Int>) -> String {
    let texts = numbers.sorted().map { text($0) }
    return texts.isEmpty ? "no token" : texts.joined(separator: " ")
  }

  /// The numbers of all tokens in all columns of some records.
  static func inside(_ tables: Tables) -> Set<Int> {
    var found: Set<Int> = []
    for row in tables.values {
      for cell in row.values { found.formUnion(cell.tokens) }
    }
    return found
  }
}

extension Cell {
  /// The numbers of the tokens in a text.
  var tokens: [Int] { if case .text(let text) = self { Tokens.inside(text) } else { [] } }
}
