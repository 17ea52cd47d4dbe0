import Holdfast
import HoldfastSQLite

/// Uses of the library's functions for ordered lists.
extension Person {
  private struct Item: Record {
    static let table = "items"
    let id: String
  }

  /// Moves some items of a list as a block, within it or to another list. Occasionally gives all of them new positions.
  mutating func order(_ list: String) throws {
    if chance.one(in: 4) { return try db.renew(Item.self, in: list) }
    let items = try db.rows("SELECT id FROM items WHERE list_id = ? ORDER BY position, id", [.text(list)])
      .rows.compactMap { $0[0].text }
    let first = chance.below(items.count)
    let block = Array(items[min(first, items.count)..<min(items.count, first + 1 + chance.below(3))])
    if chance.one(in: 4), let other = try pick("lists") {
      for item in block { try run("UPDATE items SET after_id = NULL WHERE id = ?", [.text(item)]) }
      return try db.move(Item.self, ids: block, to: .last, in: other)
    }
    let others = items.filter { !block.contains($0) }
    let place = chance.pick(others).map { chance.one(in: 2) ? Place.before($0) : .after($0) }
    try db.move(Item.self, ids: block, to: place ?? .first)
  }
}
