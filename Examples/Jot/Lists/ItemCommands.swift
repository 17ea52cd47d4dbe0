import Foundation
import Holdfast

extension Command {
  static let items = Command(
    "items", taking: "LIST", words: 1...1, "show the items of a list", options: [.json]
  ) { call in
    let (list, items) = try await call.open().store.read { database in
      let list = try database.list(call.words[0])
      return (list, try database.items(of: list))
    }
    call.show(.array(items.map(\.json))) { ItemsText.text(list.title, items, $0) }
  }

  static let add = Command(
    "add", taking: "LIST ITEM...", words: 1...10000,
    "add items to a list, at its end unless a place is said, and make the list when it is new",
    details: """
      The items named are one change set: they arrive everywhere together. The lines of --file are one each, so
      that what was read stays when the reading breaks off.
      """, options: [.file, .note, .first, .last, .before, .after, .sync]
  ) { call in
    let titles = Array(call.words.dropFirst())
    guard !titles.isEmpty || call.arguments.has(.file) else {
      throw Failure(.usage, "Say which items, or --file FILE.")
    }
    let lines = try call.arguments[.file].map(linesOfFile) ?? []
    let notebook = try call.open()
    var (list, isNew, place) = try await notebook.store.write { database in
      let (list, isNew) = try listToAdd(to: call.words[0], database)
      let place = try call.place(in: list, database) ?? .last
      return (list, isNew, try add(titles, to: list, at: place, call, database))
    }
    for line in lines {
      place = try await notebook.store.write { [list, place] in
        try add([line], to: list, at: place, call, $0)
      }
    }
    let added = (titles.count + lines.count).of("item")
    Terminal.output.say("Added \(added) to \(isNew ? "the new list " : "")\(list.title).")
    try await call.syncIfAsked(notebook)
  }

  /// - Returns: the place behind what was added.
  private static func add(
    _ titles: [String], to list: List, at place: Place, _ call: Invocation, _ database: Database
  ) throws -> Place {
    let items = try database.addItems(titles, note: call.arguments[.note], to: list.id, at: place)
    return items.last.map { .after($0.id) } ?? place
  }

  /// The list of a name, or a new one when none begins so.
  private static func listToAdd(to words: String, _ database: Database) throws -> (List, isNew: Bool) {
    let typed = words.lowercased()
    if try database.lists().contains(where: { $0.id == words || $0.title.lowercased().hasPrefix(typed) }) {
      return (try database.list(words), false)
    }
    return (try database.addList(words), true)
  }

  private static func linesOfFile(_ path: String) throws -> [String] {
    guard
      let data = path == "-"
        ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: path)
    else { throw Failure(.data, "\(path) can't be read.") }
    return String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
  }

  static let check = Command(
    "check", taking: "LIST ITEM...", words: 2...1000, "check items off", options: [.undo, .sync]
  ) { call in
    let done = !call.arguments.has(.undo)
    try await call.edit { database in
      let list = try database.list(call.words[0])
      let items = try call.words.dropFirst().map { try database.item($0, in: list) }
      try database.checkItems(items.map(\.id), done: done)
      return "\(done ? "Done" : "Open again"): \(items.map(\.title).joined(separator: ", "))."
    }
  }

  static let rename = Command(
    "rename", taking: "LIST ITEM TITLE", words: 3...3, "give an item another title", options: [.sync]
  ) { call in
    try await call.edit { database in
      let item = try database.item(call.words[1], in: try database.list(call.words[0]))
      try database.update(Item.self, id: item.id) { $0.title = call.words[2] }
      return "\(item.title) is \(call.words[2]) now."
    }
  }

  static let note = Command(
    "note", taking: "LIST ITEM [TEXT]", words: 2...3, "write a note to an item, or take it away",
    options: [.sync]
  ) { call in
    let text = call.words.count > 2 ? call.words[2] : nil
    try await call.edit { database in
      let item = try database.item(call.words[1], in: try database.list(call.words[0]))
      try database.update(Item.self, id: item.id) { $0.note = text }
      return "\(item.title): \(text ?? "no note")."
    }
  }
}
