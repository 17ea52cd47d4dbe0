import Holdfast

/// Rows of cells in aligned columns under headings.
struct Columns {
  let headings: [String]
  private var rows: [[String]] = []

  init(_ headings: String...) { self.headings = headings }

  mutating func add(_ cells: String...) { rows.append(cells.map(\.shown)) }

  func text(_ terminal: Terminal) -> String {
    let widths = headings.indices.map { column in
      ([headings] + rows).map { $0[column].count }.max() ?? 0
    }
    func line(_ cells: [String]) -> String {
      let padded = zip(cells, widths).map { $0.padded(to: $1) }.joined(separator: "  ")
      return String(padded.reversed().drop { $0 == " " }.reversed())
    }
    return terminal.paint(line(headings), .dim) + "\n" + rows.map { line($0) + "\n" }.joined()
  }
}
