import Holdfast

/// Draws the model. Pure: a model gives a frame, and of long lists only the rows that are visible are looked at.
struct ScreenView {
  /// With fewer columns, one pane is shown at a time.
  private static let columnsForTwo = 60

  let model: ScreenModel

  private var columns: Int { model.columns }
  private var hasTwoPanes: Bool { columns >= Self.columnsForTwo }
  private var listsWidth: Int { hasTwoPanes ? min(columns / 3, 28) : columns }

  func frame() -> Frame {
    var (lines, cursor) = content()
    lines = Array(lines.prefix(model.height + 1))
    while lines.count < model.height + 1 { lines.append(Line()) }
    let (bottom, column) = bottomLine
    if let notice { lines += notice } else { lines += [statusLine, bottom] }
    if let column { cursor = Frame.Place(row: lines.count - 1, column: column) }
    // Of a terminal with one or two rows, the last ones are what is needed.
    let dropped = max(0, lines.count - model.rows)
    cursor = cursor.map {
      Frame.Place(row: max(0, $0.row - dropped), column: max(0, min($0.column, columns - 1)))
    }
    return Frame(lines: lines.dropFirst(dropped).map { $0.cut(to: columns) }, cursor: cursor)
  }

  /// The heading and what is below it.
  private func content() -> (lines: [Line], cursor: Frame.Place?) {
    switch model.mode {
    case .conflicts: return (DetailView(model: model).conflicts(), nil)
    case .quarantine, .asking(.discard): return (DetailView(model: model).quarantine(), nil)
    case .help(let first): return (DetailView(model: model).help(from: first), nil)
    case .browsing, .typing, .asking: break
    }
    let lists = PaneView(model: model, width: listsWidth)
    if !hasTwoPanes, model.pane == .lists { return (lists.lists(), lists.fieldPlace(isItem: false)) }
    let left = hasTwoPanes ? listsWidth + 1 : 0
    let items = PaneView(model: model, width: columns - left)
    guard hasTwoPanes else { return (items.items(), items.fieldPlace(isItem: true)) }
    let (first, second) = (lists.lists(), items.items())
    let lines = (0...model.height).map { row in
      var line = row < first.count ? first[row] : Line()
      line.fill(to: listsWidth)
      line.put("│", .dim, width: 1)
      if row < second.count { line.append(second[row]) }
      return line
    }
    let place = items.fieldPlace(isItem: true).map { Frame.Place(row: $0.row, column: $0.column + left) }
    return (lines, lists.fieldPlace(isItem: false) ?? place)
  }

  private static let answers = " y/n"

  /// A message or question that is too long for a line, where the keys can give way to it.
  private var notice: [Line]? {
    switch model.mode {
    case .typing: nil
    case .asking(let question): twoLines(of: question.text, .bold, end: Self.answers)
    case .browsing, .conflicts, .quarantine, .help: model.message.flatMap { twoLines(of: $0, .yellow) }
    }
  }

  /// A text in two lines, with an end that is not cut off; nil when it fits into one.
  private func twoLines(of text: String, _ style: Terminal.Style, end: String = "") -> [Line]? {
    let cells = text.cells
    if cells.width + end.count <= columns { return nil }
    let first = cells.wrapped(to: columns)[0]
    var lines = [Line(), Line()]
    lines[0].put(first, style, width: columns)
    lines[1].put(Array(cells.dropFirst(first.count)), style, width: columns - end.count)
    lines[1].put(end, style, width: end.count)
    return lines
  }

  /// The sync in words, what waits for the person, and the answer to the last key.
  private var statusLine: Line {
    let noStatus = model.hasServer ? "Opening" : "No server: edits stay on this device"
    var parts = [model.status?.text ?? noStatus]
    let questions = model.conflicts.count
    if questions > 0 { parts.append("\(questions.of("conflict")): c") }
    if !model.refused.isEmpty { parts.append("\(model.refused.count.of("refusal")): Q") }
    var line = Line()
    let needsPerson = model.status?.needsSignIn == true || parts.count > 1
    if let message = model.message {
      line.put(message, .yellow, width: columns)
      if line.width + 3 < columns { line.put(" · ", .dim, width: 3) }
    }
    line.put(parts.joined(separator: " · "), needsPerson ? .yellow : .dim, width: columns - line.width)
    return line
  }

  /// The keys, or the question or text that the person is asked for, with the column of the cursor in it.
  private var bottomLine: (Line, cursor: Int?) {
    if case .asking(let question) = model.mode {
      return (Line(question.text + Self.answers, .bold, width: columns), nil)
    }
    if case .typing(let typing) = model.mode, PaneView(model: model, width: columns).fieldRow == nil {
      var line = Line()
      line.put(typing.prompt, .bold, width: max(0, columns - 8))
      let (cells, cursor) = typing.field.drawn(width: columns - line.width)
      let column = line.width + cursor
      line.put(cells, width: columns - line.width)
      return (line, column)
    }
    var text = ""
    for hint in KeyHelp.hints(model) {
      let longer = text.isEmpty ? hint : "\(text)  \(hint)"
      if longer.count > columns { break }
      text = longer
    }
    return (Line(text, .dim, width: columns), nil)
  }
}
