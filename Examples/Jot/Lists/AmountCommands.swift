import Holdfast

extension Command {
  static let amount = Command(
    "amount", taking: "LIST ITEM NUMBER", words: 3...3,
    "how many: +2 and -1 count from what is there, 3 sets it",
    details: "What several people add at the same time is added up.", options: [.sync]
  ) { call in
    guard let number = Int(call.words[2]) else {
      throw Failure(.usage, "\"\(call.words[2])\" is no number such as 3, +2 or -1.")
    }
    let isStep = call.words[2].hasPrefix("+") || call.words[2].hasPrefix("-")
    try await call.edit { database in
      let item = try database.item(call.words[1], in: try database.list(call.words[0]))
      if isStep { return "\(item.title): \(try database.addToAmount(number, of: item.id))." }
      try database.update(Item.self, id: item.id) { $0.amount = number }
      return "\(item.title): \(number)."
    }
  }

  static let tag = Command(
    "tag", taking: "LIST ITEM TAG...", words: 3...100,
    "put tags on an item: +milk adds one, -fresh takes one off",
    details: "What several people add and take off at the same time all counts.", options: [.sync]
  ) { call in
    let changes: [(String, Bool)] = try call.words.dropFirst(2).map { word in
      guard let sign = word.first, sign == "+" || sign == "-", word.count > 1 else {
        throw Failure(.usage, "\"\(word)\" is no tag with + or - before it.")
      }
      return (String(word.dropFirst()), sign == "+")
    }
    // Of a tag that is named twice, the last word counts.
    let last = Dictionary(changes, uniquingKeysWith: { $1 })
    try await call.edit { database in
      let item = try database.item(call.words[1], in: try database.list(call.words[0]))
      let tags = try database.changeTags(
        of: item.id, adding: last.filter(\.value).keys, removing: last.filter { !$0.value }.keys)
      return "\(item.title): \(tags.isEmpty ? "no tags" : tags.joined(separator: ", "))."
    }
  }
}
