// The app of docs/GUIDE.md, section 3: a shopping list. Tests/GuideTests runs it.

// snippet.app
import Foundation
import Holdfast

struct GroceryList: Record {
  static let table = "lists"
  var id: String, title: String
}

struct Item: Record {
  static let table = "items"
  var id: String, list_id: String, title: String, done = false, note: String? = nil, position = ""
}

/// A shopping list that works without a network.
struct Groceries: Sendable {
  let store: Store
  let engine: SyncEngine

  func add(_ titles: [String]) async throws {
    try await store.write { db in
      let list = try db.first(GroceryList.all) ?? GroceryList(id: db.newID(), title: "Groceries")
      try db.upsert(list)
      try db.insert(titles.map { Item(id: db.newID(), list_id: list.id, title: $0) }, at: .last)
    }
  }

  func open() async throws -> [String] {
    try await store.read { try $0.fetch(Item.where(\.done == false).order(by: \.position)) }.map(\.title)
  }
}
// snippet.end
