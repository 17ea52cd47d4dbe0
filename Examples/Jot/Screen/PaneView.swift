/// Draws the two panes: the lists, and the items of one.
struct PaneView {
  let model: ScreenModel
  let width: Int

  /// Columns before a title.
  private static let listIndent = 2
  private static let itemIndent = 6

  func lists() -> [Line] {
    var lines = [Line("Lists", .bold, width: width)]
    if model.lists.isEmpty { lines.append(Line("  None yet. A adds one.", .dim, width: width)) }
    let first = model.listCursor.top
    for (offset, list) in model.lists[first...].prefix(model.height).enumerated() {
      let isSelected = first + offset == model.listCursor.index
      var line = Line()
      line.put(mark(isSelected, in: .lists), width: Self.listIndent)
      let (remark, room) = remark(of: list)
      if isSelected, let field = field(isItem: false) {
        line.put(field.drawn(width: room).cells, width: room)
      } else {
        line.put(list.title, isSelected ? .bold : nil, width: room)
      }
      line.fill(to: width - remark.count - 1)
      line.put(remark, .dim, width: remark.count)
      lines.append(isSelected && model.pane == .lists ? line.styled(.reverse) : line)
    }
    return lines
  }

  /// What stands at the end of a list's row, and the columns for the title before it.
  private func remark(of list: ListLine) -> (text: String, room: Int) {
    let remark = list.isShared ? "\(list.open) &" : "\(list.open)"
    return (remark, width - Self.listIndent - remark.count - 2)
  }

  func items() -> [Line] {
    var lines = [heading]
    if model.list != nil, model.isLoaded, model.visible.isEmpty {
      let text = model.filter.isEmpty ? "Empty. a adds an item." : "No item has that text."
      lines.append(Line("  \(text)", .dim, width: width))
    }
    let first = model.itemCursor.top
    guard first < model.visible.count else { return lines }
    for (offset, item) in model.visible[first...].prefix(model.height).enumerated() {
      lines.append(line(of: item, isSelected: first + offset == model.itemCursor.index))
    }
    return lines
  }

  private var heading: Line {
    var line = Line()
    guard let list = model.list else { return line }
    var parts = [list.progress]
    if list.isShared { parts.append("shared by \(list.members)") }
    if !model.filter.isEmpty { parts.append("/\(model.filter)") }
    if model.unreadable > 0 { parts.append("\(model.unreadable.of("row")) can't be read") }
    let remark = "  " + parts.joined(separator: ", ")
    line.put(" \(list.title)", .bold, width: max(width / 2, width - remark.count))
    line.put(remark, .dim, width: width - line.width)
    return line
  }

  private func line(of item: Item, isSelected: Bool) -> Line {
    var line = Line()
    line.put(mark(isSelected, in: .items), width: 2)
    line.put(item.done ? "[x] " : "[ ] ", item.done ? .green : nil, width: 4)
    if isSelected, let field = field(isItem: true) {
      line.put(field.drawn(width: width - line.width).cells, width: width - line.width)
      return line
    }
    let style: Terminal.Style? = item.done ? .dim : nil
    // A remark has at least a third of the line, if it needs it.
    let remark = item.remark.map { Line("  \($0)", .dim, width: width) }
    let reserved = min(remark?.width ?? 0, width / 3)
    line.put(item.title, style, width: width - line.width - reserved)
    if let remark { line.put(remark.cells, width: width - line.width) }
    guard isSelected, model.pane == .items else { return line }
    line.fill(to: width)
    return line.styled(.reverse)
  }

  /// What stands before a row: also without colours the cursor is seen.
  private func mark(_ isSelected: Bool, in pane: ScreenModel.Pane) -> String {
    isSelected ? (model.pane == pane ? "> " : "- ") : "  "
  }

  // MARK: A title that is edited in its place

  /// The text field of the row that is selected.
  private func field(isItem: Bool) -> TextField? {
    guard case .typing(let typing) = model.mode else { return nil }
    switch typing.purpose {
    case .itemTitle(let id, _): return isItem && id == model.item?.id ? typing.field : nil
    case .listTitle(let id, _): return !isItem && id == model.list?.id ? typing.field : nil
    case .newList, .newItem, .note, .tags, .filter: return nil
    }
  }

  /// The row of the field; nil when what is edited is not among the rows, or no title is edited.
  var fieldRow: Int? {
    if field(isItem: true) != nil { return model.itemCursor.index - model.itemCursor.top + 1 }
    if field(isItem: false) != nil { return model.listCursor.index - model.listCursor.top + 1 }
    return nil
  }

  /// Where the cursor of the terminal is in the field.
  func fieldPlace(isItem: Bool) -> Frame.Place? {
    guard let field = field(isItem: isItem), let row = fieldRow else { return nil }
    let indent = isItem ? Self.itemIndent : Self.listIndent
    let room = isItem ? width - indent : model.list.map { remark(of: $0).room } ?? 0
    return Frame.Place(row: row, column: indent + field.drawn(width: room).cursor)
  }
}
