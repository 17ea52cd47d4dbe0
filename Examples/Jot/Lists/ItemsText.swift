/// A list for people: a heading, and a line for each item.
enum ItemsText {
  static func text(_ title: String, _ items: [Item], _ terminal: Terminal) -> String {
    let done = items.count(where: \.done)
    var text =
      "\(terminal.paint(title.shown, .bold))  \(terminal.paint("\(done) of \(items.count) done", .dim))\n"
    let width = min(items.filter { $0.note != nil }.map(\.title.count).max() ?? 0, 40)
    for item in items {
      let mark = item.done ? terminal.paint("[x]", .green) : "[ ]"
      let title = item.note == nil ? item.title.shown : item.title.shown.padded(to: width)
      let note = item.note.map { "  " + terminal.paint($0.shown, .dim) } ?? ""
      text += "  \(mark) \(item.done ? terminal.paint(title, .dim) : title)\(note)\n"
    }
    return text
  }
}
