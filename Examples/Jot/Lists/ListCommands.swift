import Holdfast

extension Command {
  static let lists = Command("lists", "show all lists", options: [.json]) { call in
    let lines = try await call.open().store.read { database in
      try database.fetch(ListLine.self, ListLine.query)
    }
    call.show(.array(lines.map(\.json))) { terminal in
      if lines.isEmpty { return "No lists yet. `jot add LIST ITEM...` makes one.\n" }
      let width = lines.map(\.title.count).max() ?? 0
      return lines.map { line in
        let shared = line.isShared ? terminal.paint("  shared by \(line.members)", .dim) : ""
        return "\(terminal.paint(line.title.shown.padded(to: width), .bold))  \(line.progress)\(shared)\n"
      }.joined()
    }
  }

  static let newList = Command(
    "new", taking: "LIST", words: 1...1, "make an empty list", options: [.sync]
  ) { call in
    try await call.edit { database in
      try database.addList(call.words[0])
      return "Made \(call.words[0])."
    }
  }

  static let renameList = Command(
    "rename-list", taking: "LIST TITLE", words: 2...2, "give a list another title", options: [.sync]
  ) { call in
    try await call.edit { database in
      let list = try database.list(call.words[0])
      try database.update(List.self, id: list.id) { $0.title = call.words[1] }
      return "\(list.title) is \(call.words[1]) now."
    }
  }

  static let remove = Command(
    "remove", taking: "LIST [ITEM...]", words: 1...1000, "remove items, or a whole list",
    details:
      "What is removed goes on all devices of all members. To leave a list of others, `jot unshare LIST YOUR-NAME`.",
    options: [.sync]
  ) { call in
    try await call.edit { database in
      let list = try database.list(call.words[0])
      let items = try call.words.dropFirst().map { try database.item($0, in: list) }
      try database.removeItems(items.map(\.id))
      if call.words.count > 1 { return "Removed \(items.map(\.title).joined(separator: ", "))." }
      try database.delete(List.self, id: list.id)
      return "Removed the list \(list.title)."
    }
  }
}
