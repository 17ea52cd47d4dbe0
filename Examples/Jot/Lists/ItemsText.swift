import Holdfast

/// A list for people: a heading, and a line for each item.
enum ItemsText {
  static func text(_ title: String, _ items: [Item], _ terminal: Terminal) -> String {
    let done = items.count(where: \.done)
    var text =
      "\(terminal.paint(title.shown, .bold))  \(terminal.paint("\(done) of \(items.count) done", .dim))\n"
    let width = min(items.filter { remark(on: $0) != nil }.map(\.title.count).max() ?? 0, 40)
    for item in items {
      let mark = item.done ? terminal.paint("[x]", .green) : "[ ]"
      let remark = remark(on: item)
      let title = remark == nil ? item.title.shown : item.title.shown.padded(to: width)
      let note = remark.map { "  " + terminal.paint($0.shown, .dim) } ?? ""
      text += "  \(mark) \(item.done ? terminal.paint(title, .dim) : title)\(note)\n"
    }
    return text
  }

  /// What stands behind the title: how many, the tags and the note.
  private static func remark(on item: Item) -> String? {
    let amount = item.amount == 1 ? [] : ["x\(item.amount)"]
    let parts = amount + (item.tags ?? []).map { "#\($0)" } + [item.note].compactMap { $0 }
    return parts.isEmpty ? nil : parts.joined(separator: "  ")
  }
}
