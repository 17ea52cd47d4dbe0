/// Draws frames, and sends only the lines that changed.
struct Renderer {
  private let terminal: Terminal
  private var shown: Frame?

  init(_ terminal: Terminal) { self.terminal = terminal }

  /// Forgets what is on the screen: the next frame is drawn whole.
  mutating func reset() { shown = nil }

  /// The text that makes a terminal show a frame.
  mutating func draw(_ frame: Frame) -> String {
    if frame == shown { return "" }
    var text = "\u{1B}[?25l"
    if shown?.lines.count != frame.lines.count {
      shown = nil
      text += "\u{1B}[0m\u{1B}[2J"
    }
    for (row, line) in frame.lines.enumerated() where shown?.lines[row] != line {
      text += "\u{1B}[\(row + 1);1H\u{1B}[2K" + encoded(line)
    }
    if let cursor = frame.cursor { text += "\u{1B}[\(cursor.row + 1);\(cursor.column + 1)H\u{1B}[?25h" }
    shown = frame
    return text
  }

  private func encoded(_ line: Line) -> String {
    var (text, run, style, column) = ("", "", line.cells.first?.style, 0)
    func painted() -> String { style.map { terminal.paint(run, $0) } ?? run }
    for cell in line.cells {
      if cell.style != style {
        text += painted()
        (run, style) = ("", cell.style)
      }
      run += cell.text
      column += cell.width
      // The next character is where it belongs, however wide the terminal has drawn this one.
      if cell.isDoubtful || cell.width > 1 { run += "\u{1B}[\(column + 1)G" }
    }
    return text + painted()
  }
}
