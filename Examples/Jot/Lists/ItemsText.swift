import Holdfast

/// A list for people: a heading, and a line for each item.
enum ItemsText {
  static func text(_ title: String, _ items: [Item], _ terminal: Terminal) -> String {
    let done = items.count(where: \.done)
    var text =
      "\(terminal.paint(title.shown, .bold))  \(terminal.paint("\(done) of \(items.count) done", .dim))\n"
    let width = min(items.filter { $0.remark != nil }.map(\.title.count).max() ?? 0, 40)
    for item in items {
      let mark = item.done ? terminal.paint("[x]", .green) : "[ ]"
      let remark = item.remark
      let title = remark == nil ? item.title.shown : item.title.shown.padded(to: width)
      let note = remark.map { "  " + terminal.paint($0.shown, .dim) } ?? ""
      text += "  \(mark) \(item.done ? terminal.paint(title, .dim) : title)\(note)\n"
    }
    return text
  }
}

extension Item {
  /// What stands behind the title: the amount, the tags and the note; nil when there is none of them.
  var remark: String? {
    let amount = amount == 1 ? [] : ["x\(amount)"]
    let parts = amount + (tags ?? []).map { "#\($0)" } + [note].compactMap { $0 }
    return parts.isEmpty ? nil : parts.joined(separator: "  ")
  }
}
