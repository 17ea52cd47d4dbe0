/// A text of one line that a person types.
struct TextField: Hashable, Sendable {
  private(set) var before: String
  private(set) var after = ""

  init(_ text: String = "") { before = text }

  var text: String { before + after }

  /// Takes a key.
  ///
  /// - Returns: whether it was one that edits a text.
  mutating func take(_ key: Key) -> Bool {
    switch key {
    case .scalar(let scalar): before.unicodeScalars.append(scalar)
    case .paste(let text): before += Self.line(text)
    case .backspace: _ = before.popLast()
    case .delete: if !after.isEmpty { after.removeFirst() }
    case .left: if let character = before.popLast() { after = String(character) + after }
    case .right:
      if let character = after.first {
        (before, after) = (before + String(character), String(after.dropFirst()))
      }
    case .home, .control("a"): (before, after) = ("", text)
    case .end, .control("e"): (before, after) = (text, "")
    case .control("u"): before = ""
    case .control("k"): after = ""
    case .control("w"): removeWord()
    default: return false
    }
    return true
  }

  private mutating func removeWord() {
    while before.last?.isWhitespace == true { before.removeLast() }
    while let last = before.last, !last.isWhitespace { before.removeLast() }
  }

  /// A pasted text as one line: line breaks and tabs are spaces, other control characters are left out.
  private static func line(_ text: String) -> String {
    var line = ""
    for scalar in text.unicodeScalars {
      if scalar.properties.isWhitespace {
        line.unicodeScalars.append(" ")
      } else if scalar.properties.generalCategory != .control {
        line.unicodeScalars.append(scalar)
      }
    }
    return line
  }

  /// The part around the cursor that fits, and the column of the cursor in it.
  func drawn(width: Int) -> (cells: [Cell], cursor: Int) {
    let (left, right) = (before.cells, after.cells)
    // One column is for the cursor behind the text.
    let shown = Array(Array(left.reversed()).cut(to: max(0, width - 1)).reversed())
    return (shown + [Cell](right).cut(to: max(0, width - shown.width)), shown.width)
  }
}
