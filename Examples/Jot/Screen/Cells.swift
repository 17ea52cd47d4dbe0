import HoldfastCore

/// What one character takes of a line of a terminal.
struct Cell: Hashable, Sendable {
  let text: String
  /// 1 or 2 columns.
  let width: Int
  var style: Terminal.Style?

  /// Whether terminals differ in the width that they give it.
  var isDoubtful: Bool { text.unicodeScalars.count > 1 }
}

extension String {
  /// The cells of the text, in which nothing does more to a terminal than to be read.
  var cells: [Cell] { shown.compactMap(\.cell) }
}

extension Character {
  /// More scalars of one character are not drawn: a text may have thousands of marks on one letter.
  private static let mostScalars = 8

  fileprivate var cell: Cell? {
    var scalars = unicodeScalars.prefix(Self.mostScalars).map { $0 }
    guard let first = scalars.first else { return nil }
    if first.properties.generalCategory == .format { return nil }
    if first.isCombining { scalars.insert("\u{25CC}", at: 0) }
    let isEmoji = scalars.contains("\u{FE0F}") || scalars.filter(\.isRegional).count > 1
    var text = ""
    text.unicodeScalars.append(contentsOf: scalars)
    return Cell(text: text, width: isEmoji || first.isWide ? 2 : 1)
  }
}

extension Unicode.Scalar {
  fileprivate var isCombining: Bool {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark: true
    default: false
    }
  }

  fileprivate var isRegional: Bool { (0x1F1E6...0x1F1FF).contains(value) }

  /// Whether it takes two columns. Source: Unicode Standard Annex 11, classes W and F; emoji are W.
  fileprivate var isWide: Bool {
    switch value {
    case 0..<0x1100: false
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F: true
    case 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60: true
    case 0xFFE0...0xFFE6, 0x16FE0...0x18D08, 0x1AFF0...0x1B2FB, 0x20000...0x3FFFD: true
    default: properties.isEmojiPresentation && !isRegional
    }
  }
}

extension [Cell] {
  /// The columns that they take.
  var width: Int { reduce(0) { $0 + $1.width } }

  /// Those that fit into some columns; the last is an ellipsis when not all do.
  func fitted(to columns: Int) -> [Cell] {
    if prefixWidth(upTo: columns + 1) <= columns { return self }
    return Array(cut(to: columns - 1)) + (columns > 0 ? [Cell(text: "…", width: 1, style: last?.style)] : [])
  }

  /// As many of the first as fit.
  func cut(to columns: Int) -> ArraySlice<Cell> {
    var (used, end) = (0, startIndex)
    while end < endIndex, used + self[end].width <= columns {
      used += self[end].width
      end += 1
    }
    return self[..<end]
  }

  /// Lines of at most so many columns, broken between words where one is.
  func wrapped(to columns: Int) -> [[Cell]] {
    var (lines, rest) = ([[Cell]](), self[...])
    while !rest.isEmpty {
      let part = Array(rest).cut(to: Swift.max(columns, 2))
      var count = part.count
      if count < rest.count, let space = part.lastIndex(where: { $0.text == " " }), space > 0 {
        count = space + 1
      }
      lines.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return lines
  }

  private func prefixWidth(upTo most: Int) -> Int {
    var used = 0
    for cell in self where used < most { used += cell.width }
    return used
  }
}
