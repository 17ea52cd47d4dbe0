import Holdfast

/// Draws the views that take the place of the panes: rows above, and all of the one that is selected below.
struct DetailView {
  let model: ScreenModel

  private var width: Int { model.columns }

  func conflicts() -> [Line] {
    let rows = model.conflicts.map { "\($0.title): \($0.column)" }
    let lines = page(
      "Conflicts", rows, model.conflictCursor.top, model.conflictCursor.index, "No conflict waits.")
    guard let conflict = model.conflict else { return lines }
    return lines
      + text("before  \(conflict.base ?? "not known")", .dim)
      + text("1  \(conflict.line(of: conflict.winner)), kept so far")
      + text("2  \(conflict.line(of: conflict.loser))")
  }

  func quarantine() -> [Line] {
    let rows = model.refused.map { "\($0.number)  \($0.why)" }
    let lines = page(
      "Refused by the server", rows, model.refusedCursor.top, model.refusedCursor.index,
      "Nothing was refused.")
    guard let refusal = model.refusal else { return lines }
    return lines + text("\(refusal.at)  \(refusal.why)")
      + refusal.operations.prefix(model.height).flatMap { text($0.sentence, .dim) }
  }

  func help(from first: Int) -> [Line] {
    [Line("Keys", .bold, width: width)] + lines(KeyHelp.lines(width: width).dropFirst(first), nil)
  }

  private func page(_ heading: String, _ rows: [String], _ top: Int, _ index: Int, _ nothing: String)
    -> [Line]
  {
    let heading = Line(
      rows.isEmpty ? heading : "\(heading)  \(index + 1) of \(rows.count)", .bold, width: width)
    if rows.isEmpty { return [heading, Line(nothing, .dim, width: width)] }
    let shown = rows[top...].prefix(model.detailHeight).enumerated().map { offset, row in
      let isSelected = top + offset == index
      let line = Line((isSelected ? "> " : "  ") + row, width: width)
      return isSelected ? line.styled(.reverse) : line
    }
    return [heading] + shown + [Line()]
  }

  private func text(_ text: String, _ style: Terminal.Style? = nil) -> [Line] {
    lines(text.cells.wrapped(to: width), style)
  }

  private func lines(_ rows: some Collection<[Cell]>, _ style: Terminal.Style?) -> [Line] {
    rows.map { cells in
      var line = Line()
      line.put(cells, style, width: width)
      return line
    }
  }
}
