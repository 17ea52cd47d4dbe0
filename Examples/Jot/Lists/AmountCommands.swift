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
      let (sum, isTooMuch) = isStep ? item.amount.addingReportingOverflow(number) : (number, false)
      if isTooMuch { throw Failure(.data, "That are more than can be counted.") }
      try database.update(Item.self, id: item.id) { $0.amount = sum }
      return "\(item.title): \(sum)."
    }
  }

  static let tag = Command(
    "tag", taking: "LIST ITEM TAG...", words: 3...100,
    "put tags on an item: +milk adds one, -fresh takes one off",
    details: "What several people add and take off at the same time all counts.", options: [.sync]
  ) { call in
    let changes = try call.words.dropFirst(2).map { word in
      guard let sign = word.first, sign == "+" || sign == "-", word.count > 1 else {
        throw Failure(.usage, "\"\(word)\" is no tag with + or - before it.")
      }
      return (isAdded: sign == "+", tag: String(word.dropFirst()))
    }
    try await call.edit { database in
      let item = try database.item(call.words[1], in: try database.list(call.words[0]))
      var tags = Set(item.tags ?? [])
      for (isAdded, tag) in changes { if isAdded { tags.insert(tag) } else { tags.remove(tag) } }
      let sorted = tags.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      try database.update(Item.self, id: item.id) { $0.tags = sorted }
      return "\(item.title): \(sorted.isEmpty ? "no tags" : sorted.joined(separator: ", "))."
    }
  }
}
