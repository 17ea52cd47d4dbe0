import Holdfast

/// The edits of lists and items, for the commands and for the screen.
extension Database {
  @discardableResult
  func addList(_ title: String) throws -> List {
    let list = List(id: newID(), title: title)
    try insert(list)
    return list
  }

  /// Adds items to a list, next to each other.
  @discardableResult
  func addItems(_ titles: [String], note: String? = nil, to listID: String, at place: Place) throws -> [Item]
  {
    let items = titles.map { Item(id: newID(), listID: listID, title: $0, note: note, position: "") }
    try insert(items, at: place)
    return items
  }

  func checkItems(_ ids: [String], done: Bool) throws {
    for id in ids { try update(Item.self, id: id) { $0.done = done } }
  }

  /// Adds to the amount of an item, or takes from it.
  ///
  /// - Returns: the new amount.
  func addToAmount(_ step: Int, of id: String) throws -> Int {
    try update(Item.self, id: id) { item in
      let (sum, isTooMuch) = item.amount.addingReportingOverflow(step)
      if isTooMuch { throw Failure(.data, "The sum is too large to be counted.") }
      item.amount = sum
    }.amount
  }

  /// Puts tags on an item, and takes others off.
  ///
  /// - Returns: the tags that it has then.
  func changeTags(of id: String, adding added: some Sequence<String>, removing removed: some Sequence<String>)
    throws -> [String]
  {
    try update(Item.self, id: id) { item in
      let tags = Set(item.tags ?? []).subtracting(removed).union(added)
      item.tags = tags.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }.tags ?? []
  }

  func removeItems(_ ids: [String]) throws {
    for id in ids { try delete(Item.self, id: id) }
  }
}
