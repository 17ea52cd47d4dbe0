import Holdfast

extension Command {
  static let move = Command(
    "move", taking: "LIST ITEM", words: 2...2, "move an item within its list",
    details: "Say one of --first, --last, --before ITEM and --after ITEM.",
    options: [.first, .last, .before, .after, .sync]
  ) { call in
    let places = [Option.first, .last, .before, .after].filter(call.arguments.has)
    guard places.count == 1 else {
      throw Failure(.usage, "Say one of --first, --last, --before ITEM and --after ITEM.")
    }
    try await call.edit { database in
      let list = try database.list(call.words[0])
      let item = try database.item(call.words[1], in: list)
      // The neighbours are found as if the item were not there.
      let others = try database.items(of: list).filter { $0.id != item.id }
      let index = try index(in: others, places[0], call, list, database)
      let left = index > 0 ? others[index - 1].position : nil
      let right = index < others.count ? others[index].position : nil
      let position = try database.position(after: left, before: right)
      try database.update(Item.self, id: item.id) { $0.position = position }
      return "Moved \(item.title)."
    }
  }

  /// How many of the others come before the place.
  private static func index(
    in others: [Item], _ place: Option, _ call: Invocation, _ list: List, _ database: Database
  ) throws -> Int {
    guard let words = call.arguments[place], place.value != nil else {
      return place == .first ? 0 : others.count
    }
    let neighbour = try database.item(words, in: list)
    guard let index = others.firstIndex(where: { $0.id == neighbour.id }) else {
      throw Failure(.data, "\(neighbour.title) can't stand next to itself.")
    }
    return place == .before ? index : index + 1
  }
}
