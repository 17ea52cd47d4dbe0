import Holdfast

/// Finding lists, items and members by what a person types.
extension Database {
  func lists() throws -> [List] {
    try fetch(List.self, "SELECT * FROM lists ORDER BY title COLLATE NOCASE, id")
  }

  func items(of list: List) throws -> [Item] {
    try fetch(Readable<Item>.self, Item.ofList, [.text(list.id)]).readable()
  }

  func members(of list: List) throws -> [Member] {
    try fetch(Member.self, "SELECT * FROM members WHERE zone = ? ORDER BY name, id", [.text(list.id)])
  }

  func list(_ words: String) throws -> List {
    try one(of: try lists(), "list", named: words, title: \.title, id: \.id)
  }

  func item(_ words: String, in list: List) throws -> Item {
    try one(of: try items(of: list), "item", named: words, title: \.title, id: \.id)
  }

  func member(_ name: String, of list: List) throws -> Member? {
    try members(of: list).first { $0.label == name }
  }

  /// The one whose id or title is what was typed, else the only one whose title begins so.
  private func one<R>(
    of all: [R], _ noun: String, named words: String, title: KeyPath<R, String>, id: KeyPath<R, String>
  ) throws -> R {
    if let match = all.first(where: { $0[keyPath: id] == words }) { return match }
    let typed = words.lowercased()
    let same = all.filter { $0[keyPath: title].lowercased() == typed }
    // An empty text, as of a variable that a script has not set, is the beginning of every title.
    let isBeginning = same.isEmpty && !typed.isEmpty
    let matches = isBeginning ? all.filter { $0[keyPath: title].lowercased().hasPrefix(typed) } : same
    if matches.count == 1 { return matches[0] }
    guard !matches.isEmpty else {
      throw Failure(.data, "There is no \(noun) \"\(words)\" on this device.")
    }
    let choices = matches.prefix(8).map { "\n  \($0[keyPath: id])  \($0[keyPath: title].shown)" }.joined()
    throw Failure(
      .data, "\(matches.count) \(noun)s are called \"\(words)…\"; say more of the title, or an id:\(choices)")
  }
}
