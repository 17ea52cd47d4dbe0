import Holdfast

extension Command {
  static let move = Command(
    "move", taking: "LIST ITEM...", words: 2...1000, "move items within their list, or to another",
    details: "Items that are moved together stand next to each other, in the order in which they are named.",
    options: [.first, .last, .before, .after, .to, .sync]
  ) { call in
    try await call.edit { database in
      let list = try database.list(call.words[0])
      let items = try call.words.dropFirst().map { try database.item($0, in: list) }
      let target = try call.arguments[.to].map { try database.list($0) } ?? list
      guard let place = try call.place(in: target, database) ?? (target.id == list.id ? nil : .last) else {
        throw Failure(.usage, Invocation.places)
      }
      try database.move(Item.self, ids: items.map(\.id), to: place, in: target.id)
      return "Moved \(items.map(\.title).joined(separator: ", "))."
    }
  }
}

extension Invocation {
  static let places = "Say one of --first, --last, --before ITEM and --after ITEM."

  /// The place in a list that was said; nil when none was.
  func place(in list: List, _ database: Database) throws -> Place? {
    let said = [Option.first, .last, .before, .after].filter(arguments.has)
    guard said.count < 2 else { throw Failure(.usage, Self.places) }
    if let words = arguments[.before] { return .before(try database.item(words, in: list).id) }
    if let words = arguments[.after] { return .after(try database.item(words, in: list).id) }
    return said.first.map { $0 == .first ? .first : .last }
  }
}
