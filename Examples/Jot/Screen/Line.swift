/// A line of the screen, from its first column on.
struct Line: Hashable, Sendable {
  private(set) var cells: [Cell] = []
  private(set) var width = 0

  init() {}

  init(_ text: String, _ style: Terminal.Style? = nil, width: Int) { put(text, style, width: width) }

  /// Adds a text, of which no more is drawn than fits into some columns.
  mutating func put(_ text: String, _ style: Terminal.Style? = nil, width: Int) {
    // More characters than columns do not fit, so a long text need not be taken apart.
    put(String(text.prefix(max(0, width) + 1)).cells, style, width: width)
  }

  mutating func put(_ cells: [Cell], _ style: Terminal.Style? = nil, width: Int) {
    for var cell in cells.fitted(to: max(0, width)) {
      cell.style = style ?? cell.style
      self.width += cell.width
      self.cells.append(cell)
    }
  }

  /// Adds spaces up to a column.
  mutating func fill(to column: Int, _ style: Terminal.Style? = nil) {
    while width < column {
      cells.append(Cell(text: " ", width: 1, style: style))
      width += 1
    }
  }

  mutating func append(_ line: Line) {
    cells += line.cells
    width += line.width
  }

  /// As much of it as fits.
  func cut(to columns: Int) -> Line {
    if width <= columns { return self }
    var line = Line()
    line.cells = Array(cells.cut(to: columns))
    line.width = line.cells.width
    return line
  }

  /// The same with one style for all of it.
  func styled(_ style: Terminal.Style) -> Line {
    var line = Line()
    line.put(cells, style, width: width)
    return line
  }
}

/// What is on the screen at one moment.
struct Frame: Hashable, Sendable {
  var lines: [Line]
  /// Where the cursor of the terminal is; nil when it is hidden.
  var cursor: Place?

  struct Place: Hashable, Sendable {
    let row: Int
    let column: Int
  }
}
